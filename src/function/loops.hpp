// SPDX-License-Identifier: MIT
// The loops of a Function: rows that are still in a loop run its body together, round by round.
//
// A function with loops is taken apart into functions without loops, each of which is compiled path by path:
//   start(x, results of earlier loops)        -> the first state, and whether the loop goes on
//   body(state, x, results of earlier loops)  -> the next state, and whether the loop goes on
//   main(x, results of all loops)             -> the outputs
// Each calls the user's function. start and body leave it at their loop, by an exception.
//
// The backward pass goes through the stored states. The first output of start and body is the sum of their states, each
// times an input of its own, its seed: so its gradient is what the gradients of the states pass on.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "loop.hpp"
#include "merged.hpp"
#include "state.hpp"

namespace gradwalk {
namespace paths {

// The number of a loop, in the order in which the function reaches them, and the size of its state.
struct UnknownLoop {
  std::size_t index, size;
};

// A loop whose body throws on a state after which the loop has ended, so that no further round can be recorded.
struct CannotUnroll {
  std::size_t index;
};

}  // namespace paths

class Function::State::Loops {
 public:
  // sizes: the number of Values in the state of each loop, in the order in which the function reaches them.
  Loops(RowOutputs function, const FunctionOptions& options, std::vector<std::size_t> sizes,
        std::shared_ptr<Budget> budget);
  ~Loops();

  // Runs rows. Throws an UnknownLoop if the function reached a loop that is not in `sizes`, or one with a state of
  // another size, and a CannotUnroll.
  void run(Call& call);
  // Compiles a body as one round again, and from now on.
  void keep_rolled(std::size_t index);

  // Whether more rounds are recorded than compiled. Loops then run as plain loops.
  bool is_slow() const;
  const State& main() const { return *main_; }
  std::vector<Function::Loop> describe() const;

 private:
  // Rows that are in the same round of a loop. `numbers` are the inputs of the body.
  struct Wave {
    std::vector<std::uint32_t> rows;
    std::vector<double> numbers;
    std::vector<std::int32_t> paths;
  };
  struct Site {
    std::size_t size = 0;         // the number of Values in the state
    std::size_t environment = 0;  // the number of inputs and results of earlier loops
    std::unique_ptr<State> start, body;
    std::size_t rounds = 0;                            // of all rows
    std::size_t forward_rounds = 0, forward_rows = 0;  // the same without rounds that were run again; the rows
    std::size_t unrolled = 1;                          // the rounds in one run of the body
    bool may_unroll = true;
    std::size_t rows_to_merge = 0;                // rows of the body from which on merging it is tried again
    std::shared_ptr<const paths::Merged> merged;  // the body without branches

    std::size_t width() const { return size + environment + size; }
  };
  // The numbers of a loop that its backward pass needs, for the rows of a chunk.
  struct Passed {
    std::vector<double> start_numbers;
    std::vector<std::uint32_t> rounds;  // of each row
    std::vector<Wave> kept;             // one of every `every` rounds
    std::size_t every = 1, total = 0;
  };
  // The paths that the rows of a chunk took, for the next call.
  struct Remembered {
    std::vector<std::int32_t> main;
    std::vector<std::vector<std::int32_t>> start;
    std::vector<std::vector<std::vector<std::int32_t>>> body;  // by loop and round
  };

  struct Whole;
  std::unique_ptr<State> part(int which, std::size_t site, std::size_t before, std::size_t environment,
                              std::size_t seeds, std::size_t unrolled) const;
  std::unique_ptr<State> merged_body(const Site& site, std::size_t unrolled) const;
  void merge(std::size_t index);
  void unroll(std::size_t index);
  void set_body(std::size_t index, std::size_t unrolled);
  void run_chunk(Call& call, std::size_t first, std::size_t rows, Remembered& remembered);
  void forward(Site& site, std::size_t index, Passed& passed, Remembered& remembered, bool keeps_states);
  void backward(Call& call, Site& site, Passed& passed, Remembered& remembered, std::size_t index);
  void backward_of(Call& call, Site& site, Wave& wave);
  Wave first_wave(Site& site, const std::vector<double>& made, Passed& passed);
  // Runs the body of a wave. goes_on(i) says which of its rows stay in the loop; the state of the others is a result.
  template <class GoesOn> Wave next_wave(Site& site, Wave& wave, GoesOn goes_on);
  void add_environment_gradients(const Site& site, std::size_t row, const double* from);

  FunctionOptions options_;
  std::shared_ptr<Budget> budget_;
  std::shared_ptr<const Whole> whole_;
  std::vector<Site> sites_;
  std::unique_ptr<State> main_;
  std::size_t width_ = 0;  // the number of inputs and results
  std::vector<Remembered> remembered_;
  std::size_t remembered_rows_ = 0;

  // Buffers of the chunk that is running: x and the results of each row, their gradients, and the gradients of a state.
  std::vector<double> environment_, environment_gradients_, state_gradients_, made_, back_;
};

}  // namespace gradwalk
