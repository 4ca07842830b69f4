// SPDX-License-Identifier: MIT
// kind-heston and kind-libor: long simulations over many rows, compiled once. Their bars are ratios to the same
// function of plain doubles. An op is one row.
#include <gradwalk/compile.hpp>
#include <gradwalk/gradwalk.hpp>
#include <random>

#include "../row_tasks.hpp"
#include "kinds.hpp"

namespace bench {
namespace {

void draw_normal(std::mt19937_64& random, double* row, std::size_t count) {
  std::normal_distribution<double> normal;
  std::generate_n(row, count, [&] { return normal(random); });
}

template <std::size_t steps> struct Heston {
  static constexpr std::size_t inputs = 2 * steps;
  static constexpr double start[] = {100, 0.04, 1.5, 0.04, 0.3, -0.7};
  template <class T> static T of(const std::vector<T>& p, const std::vector<T>& x) { return heston(p, x); }
  static void draw(std::mt19937_64& random, double* row) { draw_normal(random, row, inputs); }
};

template <std::size_t steps> struct Libor {
  static constexpr std::size_t inputs = steps, rates = 2 * steps;
  static inline const std::vector<double> start = [] {
    std::vector<double> numbers(rates, 0.05);
    numbers.resize(2 * rates, 0.2);
    return numbers;
  }();
  template <class T> static T of(const std::vector<T>& p, const std::vector<T>& x) { return libor(p, x); }
  static void draw(std::mt19937_64& random, double* row) { draw_normal(random, row, inputs); }
};

template <class Model> gradwalk::Program compiled(const std::vector<gradwalk::Value>& parameters, std::size_t threads) {
  const std::vector<gradwalk::Value> inputs(Model::inputs);
  return gradwalk::compile(Model::of(parameters, inputs),
                           {.inputs = inputs, .parameters = parameters, .threads = threads});
}

template <class Model> class CompiledRows final : public OfValues<Model> {
 public:
  CompiledRows(std::size_t rows, std::size_t threads)
      : OfValues<Model>(rows), program_(compiled<Model>(this->parameters_, threads)) {}
  void run() override {
    std::vector<double> gradient(this->parameters_.size());
    this->set_results(program_.gradients(this->numbers_, gradient), gradient);
  }

 private:
  gradwalk::Program program_;
};

// Times compile(), with the recording of a row. Its limit is a ratio to the engine's pass over one row.
template <class Model> class CompilingRow final : public OfValues<Model> {
 public:
  explicit CompilingRow(std::size_t) : OfValues<Model>(1) {}
  void run() override { compiled<Model>(this->parameters_, 1); }
  std::vector<double> results() const override { return {}; }
};

// The time of two threads is that of two quiet cores.
template <class Model> Case rows_case(std::string name, std::size_t rows, double bar) {
  const double ops = static_cast<double>(rows);
  return {
      .name = std::move(name),
      .variants = {{"primal", ops, starting<Doubles<Model>>(rows)},
                   {"engine", ops, starting<EagerRows<Model>>(rows)},
                   {"compiled", ops, starting<CompiledRows<Model>>(rows, std::size_t{1}), over_primal(bar, bar)},
                   {"threads-2",
                    ops,
                    starting<CompiledRows<Model>>(rows, std::size_t{2}),
                    {.ratio = 0.6, .goal = 0.52, .to = "compiled"}},
                   {"compiling", 1, starting<CompilingRow<Model>>(rows), {.ratio = 25, .goal = 12, .to = "engine"}}},
      .measure_memory = false};
}

}  // namespace

Case kind_heston(const Sizes& sizes) {
  return sizes.tiny ? rows_case<Heston<4>>("kind-heston", 20, 1.3) : rows_case<Heston<252>>("kind-heston", 2'000, 1.3);
}
Case kind_libor(const Sizes& sizes) {
  return sizes.tiny ? rows_case<Libor<8>>("kind-libor", 20, 2) : rows_case<Libor<40>>("kind-libor", 400, 2);
}

}  // namespace bench
