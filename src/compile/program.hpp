// SPDX-License-Identifier: MIT
// What a Program holds, for it and for its Trainer.
#pragma once

#include <algorithm>
#include <atomic>
#include <utility>
#include <variant>

#include "gradwalk/compile.hpp"
#include "gradwalk/error.hpp"
#include "jacobian.hpp"
#include "machine.hpp"
#include "passes.hpp"
#include "text/numbers.hpp"

namespace gradwalk {

using compiler::Machine;

struct Program::State {
  using Either = std::variant<std::unique_ptr<Machine<double>>, std::unique_ptr<Machine<float>>>;

  std::vector<Value> parameters;
  std::vector<double*> places;     // of their data
  std::ptrdiff_t to_gradient = 0;  // from there; the same for all leaves
  std::size_t inputs = 0, outputs = 0;
  std::vector<compiler::Frozen> frozen;
  std::size_t next_frozen = 0;  // of the constants after the first few: the one to check next
  Description description;
  Either machine;
  std::vector<double> seeds;
  CompileOptions compile_options;             // without Values
  bool has_guards = false;                    // comparisons or indices of picks that every run has to check
  compiler::Terms forward_terms;              // of a program with several outputs
  std::vector<compiler::Id> checked_outputs;  // of the same: comparisons and indices, which are the last outputs
  std::unique_ptr<State> seeded;              // made when seeds are first given
  std::unique_ptr<compiler::Jacobian> jacobian, sparse_jacobian;  // made when they are first needed
  std::unique_ptr<SparsePattern> sparse_pattern;
  std::atomic<const void*> user = nullptr;  // the thread that a call is running on

  // Every call that uses the machine holds one. A call on a second thread meanwhile is an Error: both would write to
  // the same numbers. Calls inside a call, as from a Trainer's hook, are on the same thread.
  class Use {
   public:
    Use(State& state, const char* call) : user_(state.user) {
      static thread_local const char this_thread = 0;
      const void* before = nullptr;
      is_first_ = user_.compare_exchange_strong(before, &this_thread, std::memory_order_acquire);
      if (!is_first_ && before != &this_thread)
        throw Error(call, "one thread at a time", "a call while another thread's is running",
                    "compile one program per thread, or take turns");
    }
    ~Use() {
      if (is_first_) user_.store(nullptr, std::memory_order_release);
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    std::atomic<const void*>& user_;
    bool is_first_;
  };

  std::unique_ptr<State> twin() const;  // the same with a machine of its own
  class Batch;                          // batch.hpp
  State& seeded_program();              // of a program with inputs and several outputs: see batch.cpp
  static compiler::Instructions instructions_of(compiler::Terms terms);
  void make_machine(compiler::Instructions program);
  static std::unique_ptr<State> make(compiler::Recorded recorded, std::vector<bool> guards, std::size_t inputs,
                                     const CompileOptions& options);

  template <class Do> auto with_machine(Do what) {
    return std::visit([&](auto& one) { return what(*one); }, machine);
  }

  std::size_t count_rows(const char* call, std::size_t numbers) const {
    if (inputs == 0)
      throw Error(call, "no rows: the program has no inputs", std::to_string(numbers) + " numbers",
                  "call it without rows");
    if (numbers % inputs != 0)
      throw Error(call, "rows of " + std::to_string(inputs) + " numbers", std::to_string(numbers) + " numbers",
                  "give a number for each input of each row");
    return numbers / inputs;
  }

  void need_no_inputs(const char* call) const {
    if (inputs != 0)
      throw Error(call, "rows of " + std::to_string(inputs) + " numbers", "none",
                  "give the rows; only a program without inputs has a value by itself");
  }

  // Calls visit(begin, end) for ranges that together are the parameters a run with these rows uses; without rows, all.
  template <class M, class Visit> static void each_used_parameter(M& one, const double* numbers, std::size_t count,
                                                                  std::size_t parameters, const Visit& visit) {
    if (numbers == nullptr || !one.has_looked_up()) return one.in_parts(parameters, visit);
    compiler::Rows rows;
    rows.count = count;
    rows.set(numbers);
    for (const compiler::Range& range : one.used_parameters(rows)) visit(range.begin, range.begin + range.count);
  }

  // These numbers in place of the parameters'.
  void load_numbers(const char* call, std::span<const double> numbers, const double* rows = nullptr,
                    std::size_t count = 0) {
    if (numbers.size() != parameters.size())
      throw Error(call, std::to_string(parameters.size()) + " parameters", std::to_string(numbers.size()) + " numbers",
                  "give one number per parameter");
    check_frozen(call);
    with_machine([&]<class T>(Machine<T>& one) {
      const auto to = one.parameters();
      each_used_parameter(one, rows, count, numbers.size(), [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) to[i] = static_cast<T>(numbers[i]);
      });
    });
  }

  double run_at(const char* call, std::span<const double> numbers, bool gradients) {
    need_no_inputs(call);
    load_numbers(call, numbers);
    return with_machine([&](auto& one) {
      compiler::Rows all;
      all.count = 1;
      return one.run(all, gradients);
    });
  }

  void jacobian_at(std::span<const double> numbers, std::span<double> to) {
    const char* const call = "Program::jacobian_at";
    if (to.size() != outputs * parameters.size())
      throw Error(call, "room for " + std::to_string(outputs * parameters.size()) + " derivatives",
                  "room for " + std::to_string(to.size()), "give one number per output and parameter");
    need_no_inputs(call);
    load_numbers(call, numbers);
    if (is_vectorized()) {
      if (jacobian == nullptr) jacobian = std::make_unique<compiler::Jacobian>(forward_terms, nullptr, compile_options);
      if (jacobian->compute(numbers, to)) return;
    }
    // One output after another; a gradient of 0 passes nothing on there, even where a derivative is infinite.
    with_machine([&](auto& one) { one.jacobian(to.data()); });
  }

  // Several outputs and parameters are worth a program of their own, unless a comparison has to be checked.
  bool is_vectorized() const {
    return outputs > 1 && parameters.size() > 1 && !has_guards && !forward_terms.outputs.empty();
  }

  const SparsePattern& pattern(const char* call) {
    need_no_inputs(call);
    if (sparse_pattern == nullptr) {
      sparse_pattern = std::make_unique<SparsePattern>();
      if (!forward_terms.outputs.empty()) {
        *sparse_pattern = compiler::pattern_of(forward_terms);
      } else {  // one output: all parameters
        sparse_pattern->rows = outputs;
        sparse_pattern->columns = parameters.size();
        sparse_pattern->row_starts.push_back(0);
        for (std::size_t row = 0; row < outputs; ++row) {
          for (std::uint32_t i = 0; i < parameters.size(); ++i) sparse_pattern->column_indices.push_back(i);
          sparse_pattern->row_starts.push_back(sparse_pattern->column_indices.size());
        }
      }
    }
    return *sparse_pattern;
  }

  void sparse_jacobian_at(std::span<const double> numbers, std::span<double> to) {
    const char* const call = "Program::sparse_jacobian_at";
    const SparsePattern& entries = pattern(call);
    if (to.size() != entries.column_indices.size())
      throw Error(call, "space for " + std::to_string(entries.column_indices.size()) + " derivatives",
                  "space for " + std::to_string(to.size()), "give one number per entry of jacobian_pattern()");
    load_numbers(call, numbers);
    if (is_vectorized()) {
      if (sparse_jacobian == nullptr)
        sparse_jacobian = std::make_unique<compiler::Jacobian>(forward_terms, &entries, compile_options);
      if (sparse_jacobian->compute(numbers, to)) return;
    }
    std::vector<double> dense(outputs * parameters.size());
    with_machine([&](auto& one) { one.jacobian(dense.data()); });
    for (std::size_t row = 0; row < entries.rows; ++row)
      for (std::size_t k = entries.row_starts[row]; k < entries.row_starts[row + 1]; ++k)
        to[k] = dense[row * parameters.size() + entries.column_indices[k]];
  }

  // Checks the constants. If there are many, as data that are held as Values, each call checks the first ones, which
  // have labels, and some of the others: so a check takes no longer than a small program, and a change is noticed
  // later.
  void check_frozen(const char* call) {
    constexpr std::size_t few = 512;
    const std::size_t first = std::min(few, frozen.size()), others = frozen.size() - first;
    for (std::size_t i = 0; i < first; ++i) check_frozen(call, frozen[i]);
    for (std::size_t i = 0; i < std::min(few, others); ++i) {
      check_frozen(call, frozen[first + next_frozen]);
      next_frozen = next_frozen + 1 < others ? next_frozen + 1 : 0;
    }
  }
  static void check_frozen(const char* call, const compiler::Frozen& one) {
    const double now = std::as_const(one.leaf).data();
    if (now == one.data || (now != now && one.data != one.data)) return;
    throw Error(
        call, "constants as they were compiled",
        name(one.leaf) + " with " + detail::format_number(now) + " in place of " + detail::format_number(one.data),
        "make it an input or a parameter, or compile again");
  }

  static std::string name(const Value& leaf) {
    return leaf.label().empty() ? "a leaf without a label" : "\"" + leaf.label() + "\"";
  }

  // What each row counts for in the result.
  const double* make_seeds(const char* call, std::size_t rows, const RunOptions& options) {
    if (!options.weights.empty() && options.weights.size() != rows)
      throw Error(call, "one weight per row",
                  std::to_string(options.weights.size()) + " weights for " + std::to_string(rows) + " rows",
                  "give as many weights as rows, or none");
    const bool mean = options.result == RunOptions::Result::mean;
    if (options.weights.empty() && !mean) return nullptr;
    double all = static_cast<double>(rows);
    if (options.weights.empty()) {
      seeds.assign(rows, 1);
    } else {
      seeds.assign(options.weights.begin(), options.weights.end());
      all = 0;
      for (const double weight : seeds) all += weight;
    }
    if (mean && all == 0 && rows > 0)
      throw Error(call, "weights whose sum is not 0, for a mean", "weights whose sum is 0",
                  "give others, or ask for the sum");
    if (mean)
      for (double& seed : seeds) seed /= all;
    return seeds.data();
  }

  static void check_room(const char* call, std::size_t all_inputs, std::size_t all_outputs, const RunOptions& options) {
    const auto check = [&](const char* what, std::size_t room, std::size_t wanted) {
      if (room != 0 && room != wanted)
        throw Error(call, "room for " + std::to_string(wanted) + what, "room for " + std::to_string(room),
                    "give one number per row for each of them");
    };
    check(" gradients of inputs", options.input_gradients.size(), all_inputs);
    check(" outputs", options.outputs.size(), all_outputs);
  }

  static double* to(std::span<double> room) { return room.empty() ? nullptr : room.data(); }

  // With the parameters the machine has; the gradients are in the machine then.
  template <class N> double run(const char* call, const N* numbers, std::size_t rows, const RunOptions& options) {
    check_room(call, rows * inputs, rows * outputs, options);
    return run(call, numbers, rows, make_seeds(call, rows, options), to(options.input_gradients), to(options.outputs));
  }
  template <class N> double run(const char* call, const N* numbers, std::size_t rows, const double* row_seeds,
                                double* input_gradients, double* outputs_to) {
    check_frozen(call);
    return with_machine([&](auto& one) {
      compiler::Rows all;
      all.count = rows;
      all.set(numbers);
      all.seeds = row_seeds;
      return one.run(all, true, input_gradients, outputs_to);
    });
  }

  void evaluate(const double* numbers, std::size_t rows, std::span<double> to) {
    if (to.size() != rows * outputs)
      throw Error("Program::evaluate", "room for " + std::to_string(rows * outputs) + " outputs",
                  "room for " + std::to_string(to.size()), "give one number per row and output");
    check_frozen("Program::evaluate");
    load_parameters(numbers, rows);
    with_machine([&](auto& one) {
      compiler::Rows all;
      all.count = rows;
      all.set(numbers);
      one.evaluate(all, to.data());
    });
  }

  // Where the parameters' numbers and gradients lie: the handles here keep them in place.
  void set_parameters(const std::vector<Value>& values) {
    parameters = values;
    places.clear();
    for (Value& p : parameters) places.push_back(&p.data());
    if (!parameters.empty()) to_gradient = &parameters.front().grad() - places.front();
  }

  void check_thread() const {  // an Error where the parameters cannot be reached
    if (!parameters.empty()) std::as_const(parameters.front()).data();
  }

  void load_parameters(const double* rows = nullptr, std::size_t count = 0) {
    check_thread();
    with_machine([&]<class T>(Machine<T>& one) {
      const auto to = one.parameters();
      each_used_parameter(one, rows, count, places.size(), [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) to[i] = static_cast<T>(*places[i]);
      });
    });
  }

  void store_parameters() {
    check_thread();
    with_machine([&](auto& one) {
      const auto from = one.parameters();
      one.in_parts(places.size(), [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) *places[i] = static_cast<double>(from[i]);
      });
    });
  }

  void add_gradients() {
    with_machine([&](auto& one) {
      const auto from = one.gradients();
      const auto add = [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) places[i][to_gradient] += static_cast<double>(from[i]);
      };
      if (!one.has_looked_up()) return one.in_parts(places.size(), add);
      for (const compiler::Range& range : one.used_parameters()) add(range.begin, range.begin + range.count);
    });
  }

  void copy_gradients(std::span<double> to) {
    with_machine([&](auto& one) {
      const auto from = one.gradients();
      one.in_parts(to.size(), [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) to[i] = static_cast<double>(from[i]);
      });
    });
  }

  // What the program keeps on the heap.
  std::size_t bytes() {
    std::size_t all = sizeof(State) + with_machine([](auto& one) { return sizeof(one) + one.bytes(); });
    all +=
        parameters.capacity() * sizeof(Value) + places.capacity() * sizeof(double*) + seeds.capacity() * sizeof(double);
    all += frozen.capacity() * sizeof(compiler::Frozen) + forward_terms.bytes();
    if (seeded != nullptr) all += seeded->bytes();
    if (jacobian != nullptr) all += jacobian->bytes();
    if (sparse_jacobian != nullptr) all += sparse_jacobian->bytes();
    if (sparse_pattern != nullptr)
      all += sparse_pattern->row_starts.capacity() * sizeof(std::size_t) +
             sparse_pattern->column_indices.capacity() * sizeof(std::uint32_t);
    return all;
  }

  void check_buffer(const char* call, std::size_t size) const {
    if (size != parameters.size())
      throw Error(call, "room for " + std::to_string(parameters.size()) + " gradients",
                  "room for " + std::to_string(size), "give one number per parameter");
  }
};

}  // namespace gradwalk
