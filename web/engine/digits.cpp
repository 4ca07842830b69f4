// SPDX-License-Identifier: MIT
// Trains the network of digits. The loss of one digit is recorded as scalar Values once and compiled for batches of
// floats; a Trainer makes the steps.
#include "digits.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "exchange.hpp"
#include "gradwalk/compile.hpp"
#include "gradwalk/loss.hpp"

using namespace gradwalk;
using namespace gradwalk::web;

namespace {

constexpr std::size_t batch = 64, rows_at_once = 100, most_steps = 100'000;
constexpr double learning_rate = 0.003;

Program compile_loss(const MLP& network) {
  const std::vector<Value> inputs(pixels + 1);
  const std::span<const Value> all = inputs;
  const std::vector<Value> scores = network(all.first(pixels));
  return compile(softmax_cross_entropy(scores, inputs.back()),
                 {.inputs = inputs, .parameters = network.parameters(), .precision = Precision::float32});
}

Program compile_scores(const MLP& network) {
  const std::vector<Value> inputs(pixels);
  return compile(network(inputs),
                 {.inputs = inputs, .parameters = network.parameters(), .precision = Precision::float32});
}

struct Run {
  Run(Digits train_digits, Digits held_digits, std::uint64_t seed)
      : train(std::move(train_digits)),
        held(std::move(held_digits)),
        network(make_network(seed)),
        scores(compile_scores(network)),
        trainer(compile_loss(network), Adam{.lr = learning_rate}),
        random(seed),
        order(train.size()) {
    std::iota(order.begin(), order.end(), 0);
  }

  // The first weights are small, because a pixel that is never ink keeps them: they would be seen as noise.
  static MLP make_network(std::uint64_t seed) {
    MLP made(pixels, {hidden, classes}, {.activation = Activation::tanh, .init = Init::xavier, .seed = seed});
    for (Value weight : made.layers()[0].parameters()) weight.data() = 0.1 * weight.data();
    return made;
  }

  Digits train, held;
  MLP network;
  Program scores;
  Trainer trainer;
  Random random;
  std::vector<std::size_t> order;  // of the training digits; drawn anew when all of them have been used
  std::size_t next = 0;
  double loss = 0;  // of the last batch
};

std::optional<Run> run;

Run& present() {
  if (!run) throw Error("digits", "digits", "none", "call digits_begin first");
  return *run;
}

std::size_t count16(const std::uint8_t* at) { return at[0] + 256u * at[1]; }

Digits unpack(const std::uint8_t*& at, std::size_t size) {
  Digits digits;
  digits.labels.assign(at, at + size);
  at += size;
  digits.packed.assign(at, at + size * (pixels / 2));
  at += size * (pixels / 2);
  return digits;
}

// Writes a picture moved by up to one pixel in both directions, so that the network does not rely on exact positions.
void write_moved(std::span<const float> picture, Random& random, float* to) {
  const std::ptrdiff_t width = side;
  const auto draw = [&] { return static_cast<std::ptrdiff_t>(random.below(3)) - 1; };
  const std::ptrdiff_t down = draw(), right = draw();
  for (std::ptrdiff_t row = 0; row < width; ++row)
    for (std::ptrdiff_t column = 0; column < width; ++column) {
      const std::ptrdiff_t from_row = row - down, from_column = column - right;
      const bool is_inside = from_row >= 0 && from_row < width && from_column >= 0 && from_column < width;
      *to++ = is_inside ? picture[static_cast<std::size_t>(from_row * width + from_column)] : 0;
    }
}

void step(Run& now) {
  std::vector<float> rows(batch * (pixels + 1)), picture(pixels);
  for (std::size_t i = 0; i < batch; ++i) {
    if (now.next == 0) now.random.shuffle(now.order);
    const std::size_t digit = now.order[now.next];
    now.next = (now.next + 1) % now.order.size();
    float* row = rows.data() + i * (pixels + 1);
    now.train.pixels_of(digit, picture.data());
    write_moved(picture, now.random, row);
    row[pixels] = now.train.labels[digit];
  }
  now.loss = now.trainer.step(rows, {.result = RunOptions::Result::mean});
}

void give_report(const Run& now) {
  JsonWriter json;
  json.object([&] {
    json("step").value(static_cast<std::size_t>(now.trainer.steps()));
    json("loss").value(now.loss);
    json("digits").value(now.train.size());
    json("held").value(now.held.size());
  });
  give(json.take());
}

}  // namespace

const Digits& gradwalk::web::held_out() { return present().held; }
const MLP& gradwalk::web::network_of_digits() { return present().network; }
std::size_t gradwalk::web::largest(std::span<const double> scores) {
  return static_cast<std::size_t>(std::ranges::max_element(scores) - scores.begin());
}

// The file: how many digits to train on and how many to hold out, two bytes each, the lower first. Then, for both, the
// labels and the packed pictures.
GRADWALK_CALL(digits_begin)(const std::uint8_t* file, std::size_t size, double seed) {
  if (size < 4) throw Error("digits", "a file of digits", std::to_string(size) + " bytes", "load it again");
  const std::size_t train = count16(file), held = count16(file + 2);
  const std::size_t wanted = 4 + (train + held) * (1 + pixels / 2);
  if (train == 0 || held == 0 || size != wanted)
    throw Error("digits", std::to_string(wanted) + " bytes for " + std::to_string(train + held) + " digits",
                std::to_string(size), "load the file again");
  const std::uint8_t* at = file + 4;
  Digits to_learn = unpack(at, train);
  Digits to_check = unpack(at, held);
  run.reset();
  run.emplace(std::move(to_learn), std::move(to_check), count(seed, "seed", 0xffffffff));
  give_report(*run);
}

GRADWALK_CALL(digits_step)(double steps) {
  Run& now = present();
  for (std::size_t left = count(steps, "steps", most_steps); left > 0; --left) step(now);
  now.trainer.write_back();
  give_report(now);
}

// Which digit the network sees in each held-out picture, in order; then which digit it is.
GRADWALK_CALL(digits_check)() {
  Run& now = present();
  std::vector<double> rows, scores, seen;
  for (std::size_t first = 0; first < now.held.size(); first += rows_at_once) {
    const std::size_t some = std::min(rows_at_once, now.held.size() - first);
    rows.resize(some * pixels);
    scores.resize(some * classes);
    for (std::size_t i = 0; i < some; ++i) now.held.pixels_of(first + i, rows.data() + i * pixels);
    now.scores.evaluate(rows, scores);
    for (std::size_t i = 0; i < some; ++i)
      seen.push_back(static_cast<double>(largest(std::span(scores).subspan(i * classes, classes))));
  }
  for (const std::uint8_t label : now.held.labels) seen.push_back(label);
  give(seen);
}

// All parameters: neuron by neuron, its weights and then its bias.
GRADWALK_CALL(digits_weights)() {
  std::vector<double> numbers;
  for (const Value& parameter : present().network.parameters()) numbers.push_back(parameter.data());
  give(numbers);
}
