// SPDX-License-Identifier: MIT
// A block of rows, one column per row: a varying number is a vector of as many numbers as the block has columns.
//
// Threads share the columns for everything that goes row by row, and then the outputs of each layer for the gradients
// of its weights. Other sums over rows are computed for a cell of columns at a time and added up in order. So every
// number is computed in the same way on any number of threads.
#pragma once

#include <span>
#include <vector>

#include "buffer.hpp"
#include "plan.hpp"
#include "pool.hpp"
#include "rows.hpp"

namespace gradwalk::compiler {

template <class T> class Block {
 public:
  Block(const Instructions& program, const detail::Kernels<T>& kernels, UniformPart<T>& uniform,
        const RowNumbers<T>& numbers, const RowsPlan<T>& plan)
      : program_(program), kernels_(kernels), uniform_(uniform), numbers_(numbers), plan_(plan) {}

  // Chooses how many columns a block has for this number of rows, with room for gradients of inputs if they are wanted.
  // Returns how many threads can share it.
  std::size_t fit(std::size_t rows, std::size_t threads, bool for_inputs);
  std::size_t columns() const { return columns_; }
  // Runs the rows from `begin` on, as many as there are columns: the forward pass, and the backward pass if gradients
  // are wanted, which are added to those of the uniform part. Returns the sums of the first output over parts of the
  // rows, which are 0 if it is uniform. With skip_zeros, a product is 0 if its gradient is 0.
  std::span<const double> run(const Rows& rows, std::size_t begin, const Wanted& wanted, bool skip_zeros, Pool* pool);
  std::size_t bytes() const;

 private:
  struct Worker {
    Columns columns;
    std::vector<detail::TermInSteps<T>> terms;
    std::vector<detail::Term<T>> row_terms;
    std::vector<std::uint32_t> indices;  // of a pick, for each column
  };
  struct Pass {  // how a list of instructions is run
    bool for_inputs = false, skip_zeros = false;
  };

  void load(const Rows& rows, std::size_t begin, Columns columns);
  void run_instructions(Worker& worker, const std::vector<Instruction>& list, const std::vector<Plan<T>>& plans,
                        Pass pass);
  void run_function(Worker& worker, const Instruction& one, const Plan<T>& plan);
  void run_sums(Worker& worker, const Instruction& one, const Plan<T>& plan, bool skip_zeros);
  void run_layer(Worker& worker, const Instruction& one, const Plan<T>& plan, bool skip_zeros);
  void run_row_sums(Worker& worker, const Instruction& one, bool skip_zeros);
  void run_pick(Worker& worker, const Instruction& one);
  void run_scatter(const Instruction& one);
  void read_indices(const Instruction& one, std::uint32_t i, Columns columns, std::vector<std::uint32_t>& to) const;
  void run_outers(std::size_t worker, bool is_first);
  void add_to_weights(const Instruction& one, const Plan<T>& plan, std::size_t begin, std::size_t end, bool is_first);
  void add_to_bias(const Instruction& one, const Plan<T>& plan, std::size_t begin, std::size_t end, bool is_first);
  void add_results(Columns columns);
  void add_row_sums();
  template <class Work> void share(Pool* pool, Work work);        // work(w) for each worker, on a thread each
  template <class Add> void each_cell(Columns columns, Add add);  // add(first column, columns, the cell's sums)
  detail::In<T> in(const Operand& operand, std::uint32_t i, Columns columns) const;
  detail::InSteps<T> in(const RunOperand& operand, Columns columns) const;
  const T* uniform_at(Rate rate, std::size_t place) const {
    return (rate == Rate::constant ? uniform_.constants() : std::as_const(uniform_).values()) + place;
  }
  T* values_at(std::size_t place, Columns columns) { return row_values_.data() + place * columns_ + columns.begin; }

  const Instructions& program_;
  const detail::Kernels<T>& kernels_;
  UniformPart<T>& uniform_;
  const RowNumbers<T>& numbers_;
  const RowsPlan<T>& plan_;

  std::size_t columns_ = 0, rows_ = 0;  // rows may be fewer in the last block
  std::size_t cell_ = 0;                // columns
  Buffer<T> row_values_, seeds_;
  Buffer<T> partial_;                 // for each cell: the sums over its rows, one for each lane of a vector
  std::vector<double> cell_results_;  // for each cell: the sum of the first output
  std::vector<Worker> workers_;
  std::vector<std::uint32_t> scatter_indices_;
  bool skip_zeros_ = false;
};

}  // namespace gradwalk::compiler
