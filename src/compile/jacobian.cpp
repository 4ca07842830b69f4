// SPDX-License-Identifier: MIT
#include "jacobian.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "passes.hpp"

namespace gradwalk::compiler {

Jacobian::Jacobian(const Terms& terms, const SparsePattern* pattern, const CompileOptions& options)
    : rows_(terms.outputs.size()), columns_(terms.parameters), pattern_(pattern) {
  sweep_ = columns_ <= rows_ ? Sweep::forward : Sweep::reverse;
  directions_ = std::min(rows_, columns_);
  if (pattern != nullptr) {
    std::uint32_t forward = 0, reverse = 0;
    std::vector<std::uint32_t> columns = colors_of(*pattern, Sweep::forward, forward);
    std::vector<std::uint32_t> rows = colors_of(*pattern, Sweep::reverse, reverse);
    sweep_ = forward <= reverse ? Sweep::forward : Sweep::reverse;
    colors_ = std::move(forward <= reverse ? columns : rows);
    directions_ = std::min(forward, reverse);
  } else {
    colors_.resize(directions_);
    std::iota(colors_.begin(), colors_.end(), 0);
  }
  Linearized linear = linearize(terms, sweep_);
  results_ = std::move(linear.results);
  has_dropped_zeros_ = linear.has_dropped_zeros;
  slot_of_.assign(sweep_ == Sweep::forward ? rows_ : columns_, none);
  for (std::uint32_t i = 0; i < results_.size(); ++i) slot_of_[results_[i]] = i;
  seeds_.assign(directions_ * colors_.size(), 0);
  for (std::size_t i = 0; i < colors_.size(); ++i) seeds_[colors_[i] * colors_.size() + i] = 1;
  derivatives_.resize(directions_ * results_.size());
  if (results_.empty()) return;
  Groups groups = lift(linear.terms);
  lift_backward(linear.terms, groups);
  groups.forward = groups.groups.size();  // derivatives along the directions are computed as any other numbers
  if (verifies) verify(linear.terms, groups);
  Instructions program = schedule(linear.terms, groups);
  if (verifies) verify(program);
  const std::size_t threads = options.threads == 0 ? hardware_threads() : options.threads;
  if (options.precision == Precision::float64)
    machine_ = std::make_unique<Machine<double>>(std::move(program), detail::kernels<double>(options.instruction_set),
                                                 threads, options.machine_code);
  else
    machine_ = std::make_unique<Machine<float>>(std::move(program), detail::kernels<float>(options.instruction_set),
                                                threads, options.machine_code);
}

std::size_t Jacobian::bytes() const {
  const std::size_t numbers = (colors_.capacity() + results_.capacity() + slot_of_.capacity()) * sizeof(std::uint32_t) +
                              (seeds_.capacity() + derivatives_.capacity()) * sizeof(double);
  return sizeof(*this) + numbers +
         std::visit(
             []<class M>(const M& machine) -> std::size_t {
               if constexpr (std::is_same_v<M, std::monostate>)
                 return 0;
               else
                 return sizeof(*machine) + machine->bytes();
             },
             machine_);
}

bool Jacobian::compute(std::span<const double> parameters, std::span<double> to) {
  std::visit(
      [&]<class M>(M& machine) {
        if constexpr (!std::is_same_v<M, std::monostate>) {
          using T = std::remove_cvref_t<decltype(machine->parameters()[0])>;
          std::transform(parameters.begin(), parameters.end(), machine->parameters().begin(),
                         [](double number) { return static_cast<T>(number); });
          Rows rows;
          rows.count = directions_;
          rows.set(seeds_.data());
          machine->evaluate(rows, derivatives_.data());
        }
      },
      machine_);
  pattern_ == nullptr ? write_dense(to) : write_sparse(to);
  return std::none_of(to.begin(), to.end(), [&](double derivative) {
    return std::isnan(derivative) || (has_dropped_zeros_ && std::isinf(derivative));
  });
}

void Jacobian::write_dense(std::span<double> to) const {
  std::fill(to.begin(), to.end(), 0.0);
  for (std::size_t direction = 0; direction < directions_; ++direction)
    for (std::size_t i = 0; i < results_.size(); ++i) {
      const double derivative = derivatives_[direction * results_.size() + i];
      if (sweep_ == Sweep::forward)
        to[results_[i] * columns_ + direction] = derivative;
      else
        to[direction * columns_ + results_[i]] = derivative;
    }
}

void Jacobian::write_sparse(std::span<double> to) const {
  for (std::size_t row = 0; row < pattern_->rows; ++row)
    for (std::size_t k = pattern_->row_starts[row]; k < pattern_->row_starts[row + 1]; ++k) {
      const std::uint32_t column = pattern_->column_indices[k];
      const std::size_t seed = sweep_ == Sweep::forward ? column : row,
                        result = sweep_ == Sweep::forward ? row : column;
      to[k] = slot_of_[result] == none ? 0 : derivatives_[colors_[seed] * results_.size() + slot_of_[result]];
    }
}

}  // namespace gradwalk::compiler
