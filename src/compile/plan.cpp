// SPDX-License-Identifier: MIT
#include "plan.hpp"

#include <algorithm>
#include <optional>
#include <span>

namespace gradwalk::compiler {
namespace {

bool is_layer(const Instruction& one) { return one.form == Instruction::Form::layer; }
bool has_weights(const Instruction& one) { return is_layer(one) && one.in[0].domain == Domain::uniform; }
bool has_bias(const Instruction& one) {
  return is_layer(one) && one.in[2].exists() && one.in[2].domain == Domain::uniform;
}
std::size_t weight_at(const Instruction& layer, std::size_t i) {
  return layer.in[0].place + i / layer.depth * layer.row + i % layer.depth * layer.column;
}
std::size_t weights_of(const Instruction& layer) { return std::size_t{layer.count} * layer.depth; }

// Each output has one, or one a copy.
std::size_t biases_of(const Instruction& layer) { return layer.bias_copy == 0 ? layer.count : layer.outputs(); }
std::size_t bias_at(const Instruction& layer, std::size_t i) {
  const auto copies = layer.bias_copy == 0 ? 1 : layer.copies;
  return Instructions::bias(layer, static_cast<std::uint32_t>(i / copies), static_cast<std::uint32_t>(i % copies));
}

bool is_input(const Instructions& program, const Operand& operand, std::uint32_t i) {
  return operand.domain == Domain::varying && program.place(operand, i) < program.inputs;
}

// All that an instruction reads, number by number.
std::vector<const Operand*> operands_of(const Instructions& program, const Instruction& one) {
  std::vector<const Operand*> all;
  const auto add = [&](const Operand& operand) {
    if (operand.exists()) all.push_back(&operand);
  };
  add(one.start);
  for (const Operand& operand : one.in) add(operand);
  for (std::uint32_t t = one.begin; t < one.begin + one.terms; ++t) {
    add(program.factors[t].factor);
    add(program.factors[t].a);
    add(program.factors[t].b);
  }
  return all;
}

// Cut where an operand goes on otherwise; for `joined_only`, also where it does not go on to the next.
std::vector<Run> runs_of(const Instructions& program, const Instruction& one, bool joined_only) {
  const std::vector<const Operand*> operands = operands_of(program, one);
  std::vector<Run> runs;
  for (std::uint32_t i = 0; i < one.count; ++i) {
    const auto step = [&](const Operand& operand, std::uint32_t to) {
      return program.place(operand, to) - program.place(operand, to - 1);
    };
    const auto is_next = [&](const Operand* operand) {
      return step(*operand, i) == (operand->domain == Domain::varying ? 1 : 0);
    };
    const auto goes_on = [&](const Operand* operand) {
      if (is_input(program, *operand, i) != is_input(program, *operand, i - 1)) return false;
      if (joined_only) return is_next(operand);
      return i == runs.back().first + 1 || step(*operand, i) == step(*operand, i - 1);
    };
    if (i == 0 || !std::all_of(operands.begin(), operands.end(), goes_on)) {
      runs.push_back({i, 1, true});
      continue;
    }
    ++runs.back().count;
    runs.back().joined = runs.back().joined && std::all_of(operands.begin(), operands.end(), is_next);
  }
  // Joined, operands are gone through side by side; so none may be passed on to where another one is at another time.
  for (Run& run : runs) {
    run.joined_back = run.joined;
    if (!run.joined || run.count == 1) continue;
    std::vector<std::uint32_t> places;
    for (const Operand* operand : operands)
      if (operand->domain == Domain::varying) places.push_back(program.place(*operand, run.first));
    std::sort(places.begin(), places.end());
    for (std::size_t i = 1; i < places.size(); ++i)
      run.joined_back = run.joined_back && (places[i] == places[i - 1] || places[i] - places[i - 1] >= run.count);
  }
  return runs;
}

RunOperand run_operand(const Instructions& program, const Operand& operand, const Run& run) {
  if (!operand.exists()) return {};
  const std::uint32_t place = program.place(operand, run.first);
  const std::uint32_t step = run.count > 1 ? program.place(operand, run.first + 1) - place : 0;
  return {operand.domain, place, static_cast<std::int32_t>(step)};
}

// Cut where the inputs of a copy are not next to those of the one before.
std::vector<Stretch> stretches_of(const Instructions& program, const Instruction& layer) {
  std::vector<Stretch> stretches;
  for (std::uint32_t c = 0; c < layer.copies; ++c) {
    bool goes_on = c > 0;
    for (std::uint32_t t = 0; goes_on && t < layer.depth; ++t)
      goes_on = program.input(layer, t, c) == program.input(layer, t, c - 1) + 1;
    if (goes_on)
      ++stretches.back().count;
    else
      stretches.push_back({c, 1});
  }
  for (Stretch& one : stretches) {
    const std::uint32_t first = program.input(layer, 0, one.first);
    one.stride = program.input(layer, 1, one.first) - first;
    for (std::uint32_t t = 0; one.stride != 0 && t < layer.depth; ++t)
      if (program.input(layer, t, one.first) != first + t * one.stride) one.stride = 0;
    if (one.stride >= 0x80000000) one.stride = 0;
    one.direct = one.stride >= one.count;
    for (std::uint32_t t = 0; t < layer.depth; ++t)  // an input follows an input
      one.only_inputs = one.only_inputs && program.input(layer, t, one.first) + one.count <= program.inputs;
  }
  return stretches;
}

template <class T> class Planner {
 public:
  Planner(const Instructions& program, const detail::Kernels<T>& kernels)
      : program_(program),
        kernels_(kernels),
        made_{std::vector<Plan<T>>(program.varying.size()), {}, {}, {}, false, {}},
        uniform_(program.forward_places) {}

  RowsPlan<T> run() {
    list_reductions();
    plan_rows_back();
    plan_layers();
    find_overlaps();
    return std::move(made_);
  }

 private:
  // The uniform operands of what is no layer: each cell of columns has a sum for each.
  void list_reductions() {
    made_.slot.assign(program_.uniform_places, none);
    const auto meet = [&](const Operand& operand, std::uint32_t count) {
      if (!operand.exists() || operand.domain != Domain::uniform) return;
      for (std::uint32_t i = 0; i < count; ++i) {
        std::uint32_t& slot = made_.slot[program_.place(operand, i)];
        if (slot != none) continue;
        slot = static_cast<std::uint32_t>(made_.reduced.size());
        made_.reduced.push_back(program_.place(operand, i));
      }
    };
    for (const Instruction& one : program_.varying) {
      if (is_layer(one)) continue;
      for (const Operand& operand : one.in) meet(operand, one.count);
      for (std::uint32_t t = one.begin; t < one.begin + one.terms; ++t) {
        meet(program_.factors[t].a, one.count);
        meet(program_.factors[t].b, one.count);
      }
    }
  }

  // In the order in which the machine's backward pass asks.
  void plan_rows_back() {
    FirstWriters writers(program_.varying_places);
    const auto& output = program_.outputs.front();
    if (output.domain == Domain::varying) writers.store(1, [&](std::size_t) { return output.place; });
    for (std::size_t n = program_.varying.size(); n-- > 0;) {
      const Instruction& one = program_.varying[n];
      Plan<T>& plan = made_.plans[n];
      if (one.form == Instruction::Form::function) plan.value = kernels_.value(one.op);
      if (is_layer(one))
        plan.stretches = stretches_of(program_, one);
      else
        plan.runs = runs_of(program_, one, one.form == Instruction::Form::function);
      if (one.form == Instruction::Form::sums) plan_sums(one, plan);
      for (std::uint32_t i = 0; i < one.outputs(); ++i)
        plan.is_needed = plan.is_needed || writers.is_written(one.out + i);
      if (plan.is_needed) plan_back(one, plan, writers);
    }
    made_.to_zero = writers.to_zero();
  }

  void plan_back(const Instruction& one, Plan<T>& plan, FirstWriters& writers) {
    switch (one.form) {
      case Instruction::Form::function: return plan_function_back(one, plan, writers);
      case Instruction::Form::sums: return plan_sums_back(one, plan, writers);
      case Instruction::Form::layer: return plan_layer_back(one, plan, writers);
      default: return;  // never varying
    }
  }

  // Operand by operand, each for a whole run.
  void plan_function_back(const Instruction& one, Plan<T>& plan, FirstWriters& writers) {
    for (std::size_t k = 0; k < 3; ++k) plan.local[k] = one.in[k].exists() ? kernels_.local(one.op, k) : nullptr;
    for (const Run& run : plan.runs)
      for (std::size_t k = 0; k < 3; ++k)
        plan.stores.push_back(plan.local[k] != nullptr && one.in[k].domain == Domain::varying &&
                              writers.store(run.count, [&](std::size_t i) {
                                return program_.place(one.in[k], run.first + static_cast<std::uint32_t>(i));
                              }));
  }

  void plan_sums(const Instruction& one, Plan<T>& plan) {
    for (const Run& run : plan.runs) {
      plan.starts.push_back(run_operand(program_, one.start, run));
      for (std::uint32_t t = one.begin; t < one.begin + one.terms; ++t) {
        const Factors& term = program_.factors[t];
        plan.terms.push_back({run_operand(program_, term.factor, run), run_operand(program_, term.a, run),
                              run_operand(program_, term.b, run)});
      }
    }
  }

  // Number by number, and for each term by term.
  void plan_sums_back(const Instruction& one, Plan<T>& plan, FirstWriters& writers) {
    std::span<RunTerm> terms(plan.terms);
    for (const Run& run : plan.runs) {
      const auto place = [&](std::size_t i, std::size_t writer) -> std::optional<std::size_t> {
        const RunOperand& operand = writer % 2 == 0 ? terms[writer / 2].a : terms[writer / 2].b;
        if (operand.place == none || operand.domain != Domain::varying) return std::nullopt;
        return operand.place + static_cast<std::uint32_t>(operand.step) * static_cast<std::uint32_t>(i);
      };
      const std::vector<bool> stores = writers.store_in_turns(run.count, std::size_t{2} * one.terms, place);
      for (std::uint32_t t = 0; t < one.terms; ++t) {
        terms[t].stores_a = stores[2 * t];
        terms[t].stores_b = stores[2 * t + 1];
      }
      terms = terms.subspan(one.terms);
    }
  }

  void plan_layer_back(const Instruction& one, Plan<T>& plan, FirstWriters& writers) {
    for (Stretch& stretch : plan.stretches) {
      const auto place = [&](std::size_t i) {
        return program_.input(one, static_cast<std::uint32_t>(i) % one.depth,
                              stretch.first + static_cast<std::uint32_t>(i) / one.depth);
      };
      const std::size_t inputs = std::size_t{one.depth} * stretch.count;
      if (stretch.direct)
        stretch.stores = writers.store(inputs, place);
      else
        for (std::size_t i = 0; i < inputs; ++i) writers.add(place(i));
    }
  }

  void plan_layers() {
    for (std::size_t n = program_.varying.size(); n-- > 0;) {
      const Instruction& one = program_.varying[n];
      Plan<T>& plan = made_.plans[n];
      if (!plan.is_needed) continue;
      if (has_weights(one))
        plan.stores_weights = uniform_.store(weights_of(one), [&](std::size_t i) { return weight_at(one, i); });
      if (has_bias(one))
        plan.stores_bias = uniform_.store(biases_of(one), [&](std::size_t i) { return bias_at(one, i); });
    }
    if (program_.inputs > 0) made_.uniform_to_zero = uniform_.to_zero();
  }

  // Layers with the same weights add to the same gradients, output by output. Where weights lie on each other
  // otherwise, the outputs cannot be shared between threads.
  void find_overlaps() {
    std::vector<std::uint32_t> layer_of(program_.uniform_places, none);
    for (std::uint32_t n = 0; n < program_.varying.size(); ++n) {
      const Instruction& one = program_.varying[n];
      const auto meet = [&](std::size_t at) {
        if (layer_of[at] == none) layer_of[at] = n;
        const Instruction& other = program_.varying[layer_of[at]];
        made_.weights_overlap = made_.weights_overlap || other.in[0].place != one.in[0].place ||
                                other.count != one.count || other.row != one.row || other.column != one.column ||
                                other.depth != one.depth || other.in[2].place != one.in[2].place ||
                                other.in[2].stride != one.in[2].stride || other.bias_copy != one.bias_copy;
      };
      if (has_weights(one))
        for (std::size_t i = 0; i < weights_of(one); ++i) meet(weight_at(one, i));
      if (has_bias(one))
        for (std::size_t i = 0; i < biases_of(one); ++i) meet(bias_at(one, i));
    }
  }

  const Instructions& program_;
  const detail::Kernels<T>& kernels_;
  RowsPlan<T> made_;
  FirstWriters uniform_;  // after the rows: layers from the last to the first
};

}  // namespace

template <class T> RowsPlan<T> plan_rows(const Instructions& program, const detail::Kernels<T>& kernels) {
  return Planner<T>(program, kernels).run();
}
template RowsPlan<float> plan_rows(const Instructions& program, const detail::Kernels<float>& kernels);
template RowsPlan<double> plan_rows(const Instructions& program, const detail::Kernels<double>& kernels);

}  // namespace gradwalk::compiler
