// SPDX-License-Identifier: MIT
#include "plan.hpp"

#include <algorithm>
#include <span>

#include "strips.hpp"

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

// Cuts where the stride of an operand changes; with `joined_only`, also where an operand does not go on to the next
// number.
std::vector<Run> runs_of(const Instructions& program, const Instruction& one, bool joined_only) {
  std::vector<const Operand*> operands;
  each_operand(program, one, [&](const Operand& operand, std::uint32_t) {
    if (operand.exists()) operands.push_back(&operand);
  });
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

// Cuts where the inputs of a copy are not next to those of the copy before.
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
    for (const Instruction& one : program_.varying) rows_plan_.varying.push_back(plan_of(one));
    for (const Instruction& one : program_.varying_backward) rows_plan_.backward.push_back(plan_of(one));
    list_row_sums();
    plan_outers();
    find_overlaps();
    count_work();
    return std::move(rows_plan_);
  }

 private:
  Plan<T> plan_of(const Instruction& one) const {
    Plan<T> plan;
    switch (one.form) {
      case Instruction::Form::function:
        plan.value = kernels_.value(one.op);
        plan.runs = runs_of(program_, one, true);
        break;
      case Instruction::Form::local:
        plan.local = kernels_.local(one.op, one.by);
        plan.runs = runs_of(program_, one, true);
        break;
      case Instruction::Form::sums:
        plan.runs = runs_of(program_, one, false);
        plan_sums(one, plan);
        break;
      case Instruction::Form::layer:
      case Instruction::Form::outer: plan.stretches = stretches_of(program_, one); break;
      case Instruction::Form::dot:
      case Instruction::Form::extreme:
      case Instruction::Form::shares:
      case Instruction::Form::row_sums:
      case Instruction::Form::pick:
      case Instruction::Form::scatter:
      case Instruction::Form::steps: break;
    }
    return plan;
  }

  void plan_sums(const Instruction& one, Plan<T>& plan) const {
    for (const Run& run : plan.runs) {
      plan.starts.push_back(run_operand(program_, one.start, run));
      for (std::uint32_t t = one.begin; t < one.begin + one.terms; ++t) {
        const Factors& term = program_.factors[t];
        plan.terms.push_back({run_operand(program_, term.factor, run), run_operand(program_, term.a, run),
                              run_operand(program_, term.b, run)});
      }
    }
  }

  // Each cell of columns has a sum for each of their targets.
  void list_row_sums() {
    rows_plan_.slot.assign(program_.uniform_places, none);
    for (const Instruction& one : program_.varying_backward) {
      if (one.form != Instruction::Form::row_sums) continue;
      for (std::uint32_t i = 0; i < one.count; ++i) {
        std::uint32_t& slot = rows_plan_.slot[program_.place(one.targets, i)];
        if (slot != none) continue;
        slot = static_cast<std::uint32_t>(rows_plan_.reduced.size());
        rows_plan_.reduced.push_back(program_.place(one.targets, i));
      }
    }
  }

  // The first outer product that writes a gradient need not add to it.
  void plan_outers() {
    if (program_.inputs == 0) return;
    FirstWriters writers(program_.uniform_places);
    std::vector<bool> is_gradient(program_.uniform_places);
    std::fill_n(is_gradient.begin(), program_.parameters, true);
    for (const std::uint32_t place : rows_plan_.reduced) is_gradient[place] = true;
    for (const Instructions::Pack& pack : program_.packs)
      for (std::uint32_t i = 0; i < pack.count; ++i) is_gradient[program_.place(pack.a, i)] = true;
    for (const Instruction& one : program_.scatters)
      for (std::uint32_t i = 0; i < one.count; ++i)
        for (std::uint32_t k = 0; k < one.depth; ++k) is_gradient[program_.entry(one, i, k)] = true;
    for (const Range& range : program_.looked_up)  // The machine sets those to 0 that the last run has touched.
      std::fill_n(is_gradient.begin() + static_cast<std::ptrdiff_t>(range.begin), range.count, false);
    for (const Instruction& one : program_.outers) {
      Plan<T>& plan = rows_plan_.outers.emplace_back(plan_of(one));
      const auto store = [&](std::size_t count, auto place) {
        for (std::size_t i = 0; i < count; ++i) is_gradient[place(i)] = true;
        return writers.store(count, place);
      };
      if (has_weights(one))
        plan.stores_weights = store(weights_of(one), [&](std::size_t i) { return weight_at(one, i); });
      if (has_bias(one)) plan.stores_bias = store(biases_of(one), [&](std::size_t i) { return bias_at(one, i); });
    }
    rows_plan_.row_gradients = ranges_of(is_gradient);
    for (std::size_t i = 0; i < is_gradient.size(); ++i) is_gradient[i] = is_gradient[i] && writers.is_to_zero(i);
    rows_plan_.added_to = ranges_of(is_gradient);
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
        rows_plan_.weights_overlap = rows_plan_.weights_overlap || other.in[0].place != one.in[0].place ||
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
          rows_plan_.work += 2 * weights_of(one) * one.copies;
        else
          rows_plan_.work += std::size_t{one.count} * (one.terms > 0 ? 5 * one.terms : 20);
      }
  }

  const Instructions& program_;
  const detail::Kernels<T>& kernels_;
  RowsPlan<T> rows_plan_;
};

}  // namespace

template <class T> RowsPlan<T> plan_rows(const Instructions& program, const detail::Kernels<T>& kernels) {
  return Planner<T>(program, kernels).run();
}
template RowsPlan<float> plan_rows(const Instructions& program, const detail::Kernels<float>& kernels);
template RowsPlan<double> plan_rows(const Instructions& program, const detail::Kernels<double>& kernels);

}  // namespace gradwalk::compiler
