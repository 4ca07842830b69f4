// SPDX-License-Identifier: MIT
#include "plan.hpp"

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

// One call does for all numbers of the instruction and all rows.
bool is_one_call(const Instruction& one) {
  if (one.count == 1) return true;
  for (const Operand& operand : one.in) {
    if (!operand.exists()) continue;
    if (operand.table != none || operand.stride != (operand.domain == Domain::varying ? 1 : 0)) return false;
  }
  return true;
}

template <class T> class Planner {
 public:
  Planner(const Instructions& program, const detail::Kernels<T>& kernels)
      : program_(program),
        kernels_(kernels),
        made_{std::vector<Plan<T>>(program.varying.size()), {}, {}, {}, false, FirstWriters(program.uniform_places)} {}

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
      plan.one_call = is_one_call(one);
      if (one.form == Instruction::Form::function) plan.value = kernels_.value(one.op);
      for (std::uint32_t i = 0; i < one.count; ++i) plan.is_needed = plan.is_needed || writers.is_written(one.out + i);
      if (plan.is_needed) plan_back(one, plan, writers);
    }
    made_.to_zero = writers.to_zero();
  }

  void plan_back(const Instruction& one, Plan<T>& plan, FirstWriters& writers) {
    const auto store = [&](const Operand& operand, std::uint32_t i, std::uint32_t count) {
      const std::size_t first = program_.place(operand, i);
      plan.stores.push_back(writers.store(count, [&](std::size_t k) { return first + k; }));
    };
    if (one.form == Instruction::Form::function) {
      for (std::size_t k = 0; k < 3; ++k) plan.local[k] = one.in[k].exists() ? kernels_.local(one.op, k) : nullptr;
      for (std::uint32_t i = 0; i < (plan.one_call ? 1 : one.count); ++i)
        for (std::size_t k = 0; k < 3; ++k) {
          if (plan.local[k] == nullptr || one.in[k].domain != Domain::varying)
            plan.stores.push_back(false);
          else
            store(one.in[k], i, plan.one_call ? one.count : 1);
        }
    } else if (one.form == Instruction::Form::sums) {
      for (std::uint32_t i = 0; i < one.count; ++i)
        for (std::uint32_t t = one.begin; t < one.begin + one.terms; ++t)
          for (const Operand* operand : {&program_.factors[t].a, &program_.factors[t].b}) {
            if (!operand->exists() || operand->domain != Domain::varying)
              plan.stores.push_back(false);
            else
              store(*operand, i, 1);
          }
    } else if (one.in[1].table == none) {
      store(one.in[1], 0, one.depth);
    } else {
      for (std::uint32_t t = 0; t < one.depth; ++t) writers.add(program_.place(one.in[1], t));
    }
  }

  void plan_layers() {
    for (std::size_t n = program_.varying.size(); n-- > 0;) {
      const Instruction& one = program_.varying[n];
      Plan<T>& plan = made_.plans[n];
      if (!plan.is_needed) continue;
      if (has_weights(one))
        plan.stores_weights = made_.uniform.store(weights_of(one), [&](std::size_t i) { return weight_at(one, i); });
      if (has_bias(one))
        plan.stores_bias = made_.uniform.store(
            one.count, [&](std::size_t i) { return program_.place(one.in[2], static_cast<std::uint32_t>(i)); });
    }
    for (const std::uint32_t place : made_.reduced) made_.uniform.add(place);
    // Of every output, for any may be walked back from.
    for (const auto& output : program_.outputs)
      if (output.domain == Domain::uniform) made_.uniform.add(output.place);
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
                                other.in[2].stride != one.in[2].stride;
      };
      if (has_weights(one))
        for (std::size_t i = 0; i < weights_of(one); ++i) meet(weight_at(one, i));
      if (has_bias(one))
        for (std::uint32_t i = 0; i < one.count; ++i) meet(program_.place(one.in[2], i));
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
