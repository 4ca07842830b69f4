// SPDX-License-Identifier: MIT
// run: carries out a program's instructions on plain numbers. The backward pass is instructions, too.
//
// Uniform numbers are computed once per run (uniform.hpp). Rows are taken in blocks (block.hpp) or in tiles
// (tiles.hpp). A few rows of a small program are taken by steps, one after another, and so are one or two rows of a
// large program that is not mostly layers.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "block.hpp"
#include "buffer.hpp"
#include "ir.hpp"
#include "kernels.hpp"
#include "lookups.hpp"
#include "plan.hpp"
#include "pool.hpp"
#include "rows.hpp"
#include "tiles.hpp"
#include "uniform.hpp"

namespace gradwalk::compiler {

// Which batches are taken by steps.
enum class RowsBySteps : std::uint8_t { no_row, two_rows, few_rows };

template <class T> class Machine {
 public:
  // may_write_code: whether to write machine code after some runs (machine_code.hpp).
  Machine(Instructions program, const detail::Kernels<T>& kernels, std::size_t threads, bool may_write_code);

  std::span<T> parameters() { return {uniform_.values(), program_.parameters}; }
  std::span<T> gradients() { return {uniform_.gradients(), program_.parameters}; }  // of the last run with gradients

  // Returns the sum of the first output over the rows, each times its seed. Computes its gradients, if wanted, and
  // those with respect to the inputs. Writes all outputs, row by row. Results that are nullptr are not wanted.
  double run(const Rows& rows, bool gradients, double* input_gradients = nullptr, double* outputs = nullptr);
  // Returns the parameters that a run with these rows reads, and that get gradients: all but those that only picks read
  // and no row looks up. The next run must be one with these rows.
  const std::vector<Range>& used_parameters(const Rows& rows);
  const std::vector<Range>& used_parameters() const { return lookups_.used(); }  // of the last run
  // Notes that the caller wrote to gradients(): the next run sets all of them to 0.
  void gradients_were_written() { are_all_touched_ = true; }
  bool has_looked_up() const { return !program_.looked_up.empty(); }

  // For a program without inputs: returns the sum of all outputs, each times its seed, and computes its gradients.
  // Writes all outputs, unless that is nullptr.
  double run_with_seeds(const double* seeds, double* outputs);
  // Writes all outputs, row by row.
  void evaluate(const Rows& rows, double* outputs);
  // For a program without inputs: writes the derivatives of all outputs by all parameters, output by output.
  void jacobian(double* to);

  // Calls work(begin, end) for parts of 0 ... size, on several threads if there are any and the work is worth it.
  template <class Work> void in_parts(std::size_t size, const Work& work) {
    constexpr std::size_t worth_it = 16384;
    if (pool_ == nullptr || pool_->size() == 1 || size < worth_it) return work(std::size_t{0}, size);
    const std::size_t parts = pool_->size();
    pool_->run([&](std::size_t w) { work(size * w / parts, size * (w + 1) / parts); });
  }

  const Instructions& program() const { return program_; }
  const detail::Kernels<T>& kernels() const { return kernels_; }
  std::size_t threads() const { return threads_; }
  std::size_t bytes() const;
  std::size_t code_bytes() const;  // of machine code

 private:
  void make_pool(std::size_t threads);
  double run_once(const Rows& rows, const Wanted& wanted);
  double run_by_steps(const Rows& rows, const Wanted& wanted);
  bool goes_by_steps(const Rows& rows) const { return rows.count <= rows_by_steps_; }
  double run_by_tiles(const Rows& rows, const Wanted& wanted);
  bool goes_by_tiles(const Rows& rows, const Wanted& wanted);
  double run_tile(const Rows& rows, std::size_t begin, const Wanted& wanted, T* tile);
  void zero_gradients(bool all);  // all, or those that no outer product writes first

  Instructions program_;
  const detail::Kernels<T>& kernels_;
  struct RowCode : RowSteps {
    RowCode() = default;
    explicit RowCode(RowSteps steps) : RowSteps(std::move(steps)) {}
    std::size_t rows = 0;  // that were run
    Executable forward_code, backward_code;
  };
  void write_code(RowCode& steps) const;
  RowsBySteps by_steps_ = RowsBySteps::no_row;
  // Without and with gradients of inputs. Steps are written when they are first needed. Those of a small program are
  // written at once, because they are counted.
  RowCode row_steps_, row_steps_for_inputs_;
  UniformPart<T> uniform_;
  bool may_write_code_;
  RowsPlan<T> plan_;

  std::size_t rows_by_steps_ = 0;  // up to this many rows are faster by steps than as a block
  RowNumbers<T> numbers_;
  Block<T> block_;
  Lookups<T> lookups_;
  std::unique_ptr<Tiles<T>> tiles_;  // nullptr if rows are not faster by tiles
  Buffer<T> tile_values_, tile_sums_;
  std::vector<double> part_results_;
  std::size_t threads_;
  bool is_uniform_shared_;      // threads run long vectors of uniform numbers
  std::vector<Range> touched_;  // looked-up parameters whose gradients the last run has written
  bool are_all_touched_ = false;
  bool is_prepared_ = false;  // lookups_ lists the parameters of the next run
  std::unique_ptr<Pool> pool_;
  bool skip_zeros_ = false;
};

}  // namespace gradwalk::compiler
