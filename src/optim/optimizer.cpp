// SPDX-License-Identifier: MIT
// An Optimizer gathers the numbers of its Values, updates them, and writes them back.
#include <cmath>
#include <unordered_set>

#include "gradwalk/optim.hpp"
#include "text/numbers.hpp"

namespace gradwalk {

Optimizer::Optimizer(std::vector<Value> parameters, const OptimizerConfig& config)
    : parameters_(std::move(parameters)),
      config_(config),
      state_(initial_state(config, parameters_.size())),
      data_(parameters_.size()),
      grad_(parameters_.size()) {
  check_config(config);
  std::unordered_set<std::uint64_t> seen;
  for (const Value& p : parameters_) {
    if (p.op() != Op::leaf)
      throw Error("Optimizer", "parameters that are leaves", "the result of " + std::string(name(p.op())),
                  "give the leaves that it was computed from");
    if (!seen.insert(p.id()).second)
      throw Error("Optimizer", "each parameter once", "one node twice",
                  "copies of a Value are the same node: make each parameter from a number of its own");
  }
}

void Optimizer::step(double lr) {
  const bool fits = lr >= 0 && std::isfinite(lr);
  if (!fits)
    throw Error("step", "a learning rate >= 0", detail::format_number(lr), "give a finite number that is not negative");
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Value& p = parameters_[i];
    data_[i] = p.data();
    grad_[i] = p.grad();
  }
  update(config_, lr, data_, grad_, state_);
  for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i].data() = data_[i];
}

void Optimizer::zero_grad() {
  for (Value& p : parameters_) p.grad() = 0;
}

void Optimizer::set_state(OptimizerState state) {
  check_state(config_, parameters_.size(), state);
  state_ = std::move(state);
}

}  // namespace gradwalk
