// SPDX-License-Identifier: MIT
#include "plan.hpp"

#include <algorithm>
#include <span>

namespace gradwalk::compiler {
namespace {

bool has_weights(const Instruction& outer) { return outer.in[0].rate == Rate::uniform; }
bool has_bias(const Instruction& outer) { return outer.in[2].exists() && outer.in[2].rate == Rate::uniform; }
std::size_t weight_at(const Instruction& layer, std::size_t i) {
  return layer.in[0].place + i / layer.depth * layer.row + i % layer.depth * layer.column;
}
std::size_t weights_of(const Instruction& layer) { return std::size_t{layer.count} * layer.depth; }

// Each output has one, or one per copy.
std::size_t biases_of(const Instruction& layer) {
  return std::size_t{layer.count} * (layer.bias_copy == 0 ? 1 : layer.copies);
}
std::size_t bias_at(const Instruction& layer, std::size_t i) {
  const auto copies = layer.bias_copy == 0 ? 1 : layer.copies;
  return Instructions::bias(layer, static_cast<std::uint32_t>(i / copies), static_cast<std::uint32_t>(i % copies));
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
      return step(*operand, i) == (operand->rate == Rate::varying ? 1 : 0);
    };
    const auto goes_on = [&](const Operand* operand) {
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
  return runs;
}

RunOperand run_operand(const Instructions& program, const Operand& operand, const Run& run) {
  if (!operand.exists()) return {};
  const std::uint32_t place = program.place(operand, run.first);
  const std::uint32_t step = run.count > 1 ? program.place(operand, run.first + 1) - place : 0;
  return {operand.rate, place, static_cast<std::int32_t>(step)};
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
    one.stride = layer.depth > 1 ? program.input(layer, 1, one.first) - first : 1;
    for (std::uint32_t t = 0; one.stride != 0 && t < layer.depth; ++t)
      if (program.input(layer, t, one.first) != first + t * one.stride) one.stride = 0;
    if (one.stride >= 0x80000000) one.stride = 0;
  }
  return stretches;
}

template <class T> class Planner {
 public:
  Planner(const Instructions& program, const detail::Kernels<T>& kernels) : program_(program), kernels_(kernels) {}

  RowsPlan<T> run() {
    for (const Instruction& one : program_.varying) made_.varying.push_back(plan(one));
    for (const Instruction& one : program_.varying_backward) made_.backward.push_back(plan(one));
    list_row_sums();
    plan_outers();
    find_overlaps();
    count_work();
    return std::move(made_);
  }

 private:
  Plan<T> plan(const Instruction& one) const {
    Plan<T> made;
    switch (one.form) {
      case Instruction::Form::function:
        made.value = kernels_.value(one.op);
        made.runs = runs_of(program_, one, true);
        break;
      case Instruction::Form::local:
        made.local = kernels_.local(one.op, one.by);
        made.runs = runs_of(program_, one, true);
        break;
      case Instruction::Form::sums:
        made.runs = runs_of(program_, one, false);
        plan_sums(one, made);
        break;
      case Instruction::Form::layer:
      case Instruction::Form::outer: made.stretches = stretches_of(program_, one); break;
      case Instruction::Form::dot:
      case Instruction::Form::extreme:
      case Instruction::Form::shares:
      case Instruction::Form::row_sums:
      case Instruction::Form::pick:
      case Instruction::Form::scatter:
      case Instruction::Form::steps: break;
    }
    return made;
  }

  void plan_sums(const Instruction& one, Plan<T>& made) const {
    for (const Run& run : made.runs) {
      made.starts.push_back(run_operand(program_, one.start, run));
      for (std::uint32_t t = one.begin; t < one.begin + one.terms; ++t) {
        const Factors& term = program_.factors[t];
        made.terms.push_back({run_operand(program_, term.factor, run), run_operand(program_, term.a, run),
                              run_operand(program_, term.b, run)});
      }
    }
  }

  // Each cell of columns has a sum for each of their targets.
  void list_row_sums() {
    made_.slot.assign(program_.uniform_places, none);
    for (const Instruction& one : program_.varying_backward) {
      if (one.form != Instruction::Form::row_sums) continue;
      for (std::uint32_t i = 0; i < one.count; ++i) {
        std::uint32_t& slot = made_.slot[program_.place(one.targets, i)];
        if (slot != none) continue;
        slot = static_cast<std::uint32_t>(made_.reduced.size());
        made_.reduced.push_back(program_.place(one.targets, i));
      }
    }
  }

  // The first outer product that writes a gradient need not add to it.
  void plan_outers() {
    if (program_.inputs == 0) return;
    FirstWriters writers(program_.uniform_places);
    std::vector<bool> is_gradient(program_.uniform_places);
    std::fill_n(is_gradient.begin(), program_.parameters, true);
    for (const std::uint32_t place : made_.reduced) is_gradient[place] = true;
    for (const Instructions::Pack& pack : program_.packs)
      for (std::uint32_t i = 0; i < pack.count; ++i) is_gradient[program_.place(pack.a, i)] = true;
    for (const Instruction& one : program_.scatters)
      for (std::uint32_t i = 0; i < one.count; ++i)
        for (std::uint32_t k = 0; k < one.depth; ++k) is_gradient[program_.entry(one, i, k)] = true;
    for (const Range& range : program_.looked_up)  // The machine sets those to 0 that the last run has touched.
      std::fill_n(is_gradient.begin() + static_cast<std::ptrdiff_t>(range.begin), range.count, false);
    for (const Instruction& one : program_.outers) {
      Plan<T>& made = made_.outers.emplace_back(plan(one));
      const auto store = [&](std::size_t count, auto place) {
        for (std::size_t i = 0; i < count; ++i) is_gradient[place(i)] = true;
        return writers.store(count, place);
      };
      if (has_weights(one))
        made.stores_weights = store(weights_of(one), [&](std::size_t i) { return weight_at(one, i); });
      if (has_bias(one)) made.stores_bias = store(biases_of(one), [&](std::size_t i) { return bias_at(one, i); });
    }
    made_.row_gradients = ranges_of(is_gradient);
    for (std::size_t i = 0; i < is_gradient.size(); ++i) is_gradient[i] = is_gradient[i] && writers.is_to_zero(i);
    made_.added_to = ranges_of(is_gradient);
  }

  // Layers with the same weights add to the same gradients, output by output. Where weights lie on each other
  // otherwise, the outputs cannot be shared between threads.
  void find_overlaps() {
    std::vector<std::uint32_t> layer_of(program_.uniform_places, none);
    for (std::uint32_t n = 0; n < program_.outers.size(); ++n) {
      const Instruction& one = program_.outers[n];
      const auto meet = [&](std::size_t at) {
        if (layer_of[at] == none) layer_of[at] = n;
        const Instruction& other = program_.outers[layer_of[at]];
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

  void count_work() {
    for (const auto* list : {&program_.varying, &program_.varying_backward, &program_.outers})
      for (const Instruction& one : *list) {
        if (one.form == Instruction::Form::layer || one.form == Instruction::Form::outer)
          made_.work += 2 * weights_of(one) * one.copies;
        else
          made_.work += std::size_t{one.count} * (one.terms > 0 ? 5 * one.terms : 20);
      }
  }

  const Instructions& program_;
  const detail::Kernels<T>& kernels_;
  RowsPlan<T> made_;
};

}  // namespace

template <class T> RowsPlan<T> plan_rows(const Instructions& program, const detail::Kernels<T>& kernels) {
  return Planner<T>(program, kernels).run();
}
template RowsPlan<float> plan_rows(const Instructions& program, const detail::Kernels<float>& kernels);
template RowsPlan<double> plan_rows(const Instructions& program, const detail::Kernels<double>& kernels);

}  // namespace gradwalk::compiler
