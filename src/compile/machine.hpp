// SPDX-License-Identifier: MIT
// run: carries out a program's instructions on plain numbers. The backward pass is instructions, too.
//
// What is uniform is computed once per run. Rows are taken in blocks, one column per row: a varying number is a vector
// of as many as the block has columns. Threads share the columns for everything that goes row by row, and then the
// outputs of each layer for the gradients of its weights. Other sums over rows are made for a cell of columns at a time
// and added up in order. So every number is computed in the same way however many threads there are. A few rows of a
// small program are taken by steps, one after another, and so are one or two of a large one that is not mostly layers.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "buffer.hpp"
#include "ir.hpp"
#include "kernels.hpp"
#include "plan.hpp"
#include "pool.hpp"
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

  struct Rows {
    std::size_t count = 0;
    const double* numbers = nullptr;  // the inputs of all, row by row,
    const float* floats = nullptr;    // in one of two precisions
    const double* seeds = nullptr;    // a row's share of the result; none: 1

    void set(const double* from) { numbers = from; }
    void set(const float* from) { floats = from; }
  };
  // The sum of the first output over the rows, each times its seed; and its gradients, if wanted, also by the inputs.
  // All outputs are written, row by row, where there is room for them.
  double run(const Rows& rows, bool gradients, double* input_gradients = nullptr, double* outputs = nullptr);
  // The parameters that a run with these rows reads, and that get gradients: all but those that only picks read and
  // that no row looks up. The next run must be one with these rows.
  const std::vector<Range>& used_parameters(const Rows& rows);
  const std::vector<Range>& used_parameters() const { return used_; }  // of the last run
  // Notes that the caller wrote to gradients(): the next run sets all of them to 0.
  void gradients_were_written() { are_all_touched_ = true; }
  bool has_looked_up() const { return !program_.looked_up.empty(); }

  // Of a program without inputs: the sum of all outputs, each times its seed, and its gradients. All outputs are
  // written where there is room for them.
  double run_with_seeds(const double* seeds, double* outputs);
  // All outputs, row by row.
  void evaluate(const Rows& rows, double* outputs);
  // Of a program without inputs: the derivatives of all outputs by all parameters, output by output.
  void jacobian(double* to);

  // Calls work(begin, end) for parts of 0 ... size, at once where there are threads and the work is worth it.
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
  struct Columns {
    std::size_t begin, end;
  };
  struct Worker {
    Columns columns;
    std::vector<detail::TermInSteps<T>> terms;
    std::vector<detail::Term<T>> row_terms;
    std::vector<std::uint32_t> indices;  // of a pick, for each column
  };

  void set_block(std::size_t rows);
  void make_pool(std::size_t threads);
  std::size_t work_a_row() const;
  struct Wanted {
    bool gradients = false;
    double *input_gradients = nullptr, *outputs = nullptr;
  };
  double run_once(const Rows& rows, const Wanted& wanted);
  double run_by_steps(const Rows& rows, const Wanted& wanted);
  bool goes_by_steps(const Rows& rows) const { return rows.count <= rows_by_steps_; }
  double run_by_tiles(const Rows& rows, const Wanted& wanted);
  bool goes_by_tiles(const Rows& rows, const Wanted& wanted);
  double run_tile(const Rows& rows, std::size_t begin, const Wanted& wanted, T* tile);
  void run_block(const Rows& rows, std::size_t begin, const Wanted& wanted);
  struct Varying {  // the varying numbers of rows: each place has `width` numbers, of which these rows have the first
    const T* numbers = nullptr;
    std::size_t width = 0, rows = 0;
  };
  void write_outputs(std::size_t begin, const Varying& varying, Columns columns, double* outputs) const;
  void write_input_gradients(std::size_t begin, const Varying& varying, Columns columns, double* to) const;
  void load(const Rows& rows, std::size_t begin, Columns columns);
  template <class N> void load_inputs(const N* rows, std::size_t begin, std::size_t count, Columns columns, T* to,
                                      std::size_t to_width) const;
  void add_results(Columns columns);
  void check_guards(std::size_t begin, const Varying& varying, Columns columns) const;
  void check_indices(std::size_t begin, const Varying& varying, std::size_t row) const;
  T number_of(const Instructions::Output& output, const Varying& varying, std::size_t row) const;
  struct Pass {  // how a list of instructions is run
    bool for_inputs = false, skip_zeros = false;
  };
  void run_instructions(Worker& worker, const std::vector<Instruction>& list, const std::vector<Plan<T>>& plans,
                        Pass pass);
  void run_function(Worker& worker, const Instruction& one, const Plan<T>& plan);
  void run_sums(Worker& worker, const Instruction& one, const Plan<T>& plan, bool skip_zeros);
  void run_layer(Worker& worker, const Instruction& one, const Plan<T>& plan, bool skip_zeros);
  void run_row_sums(Worker& worker, const Instruction& one, bool skip_zeros);
  void run_pick(Worker& worker, const Instruction& one);
  void run_scatter(const Instruction& one);
  void read_indices(const Instruction& one, std::uint32_t i, Columns columns, std::vector<std::uint32_t>& to) const;
  void zero_gradients(bool all);  // or those that outer products do not write first
  void list_lookups();
  void run_outers(std::size_t worker, bool is_first);
  void add_to_weights(const Instruction& one, const Plan<T>& plan, std::size_t begin, std::size_t end, bool is_first);
  void add_to_bias(const Instruction& one, const Plan<T>& plan, std::size_t begin, std::size_t end, bool is_first);
  void add_row_sums();
  template <class Work> void share(Work work);                    // work(w) for each worker, on a thread each
  template <class Add> void each_cell(Columns columns, Add add);  // add(first column, columns, the cell's sums)
  detail::In<T> in(const Operand& operand, std::uint32_t i, Columns columns) const;
  detail::InSteps<T> in(const RunOperand& operand, Columns columns) const;
  T* values_at(std::size_t place, Columns columns) { return row_values_.data() + place * columns_ + columns.begin; }

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
  // Without and with gradients of inputs. They are written when they are first needed, but those of a small program are
  // counted before.
  RowCode row_steps_, row_steps_for_inputs_;
  UniformPart<T> uniform_;
  bool may_write_code_;
  RowsPlan<T> plan_;

  std::size_t rows_by_steps_ = 0;       // so many rows are done sooner by steps than as a block
  std::size_t columns_ = 0, rows_ = 0;  // of the block; rows are those that are not there to fill it
  std::size_t cell_ = 0;                // columns
  Buffer<T> row_values_, seeds_, partial_;
  std::vector<double> cell_results_;
  std::unique_ptr<Tiles<T>> tiles_;  // if rows are done sooner so
  Buffer<T> tile_values_, tile_sums_;
  std::vector<double> part_results_;
  std::size_t threads_;
  bool is_uniform_shared_;  // threads run long vectors of uniform numbers
  std::vector<Worker> workers_;
  // Entries of tables that rows look up by an input, side by side for each index.
  struct Lookup {
    std::uint32_t input = 0, depth = 0;
    std::size_t first = 0, row = none, count = 0;  // row: as in the Instruction
    std::size_t stamps = 0;                        // which of stamps_ it has
  };
  std::vector<Lookup> lookups_;
  static constexpr std::uint32_t always_used = 0xffffffff;
  std::vector<std::vector<std::uint32_t>> stamps_;  // the run that has listed the entries of each index last
  std::vector<std::uint32_t> parameter_stamps_;     // the run that has listed each parameter last, or always_used
  std::uint32_t stamp_ = 0;
  std::vector<Range> others_, used_, touched_;  // parameters: not looked up; of this run; touched by the last gradients
  bool are_all_touched_ = false;
  bool are_apart_ = true;     // the entries of lookups_ are different parameters that only these read
  bool is_prepared_ = false;  // used_ is that of the next run
  std::vector<std::uint32_t> scatter_indices_;
  std::unique_ptr<Pool> pool_;
  bool skip_zeros_ = false;
};

}  // namespace gradwalk::compiler
