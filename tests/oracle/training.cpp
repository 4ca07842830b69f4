// SPDX-License-Identifier: MIT
// Training for the Python tests: reads commands from stdin, one per line, and answers on stdout in C hex floats.
// Each of the following results is one line.
//
//   random SEED       300 words; 300 uniforms; below(1), ..., below(300), below(2^63 + 1) ten times; 3000 normals;
//                     300 shuffled numbers; the state
//   train LOSS RULE   the rows; the labels; the first parameters; the loss of 100 steps; the last parameters
//   gpt NAME...       for the GPT of the examples: its first parameters; the loss of a step on each name; its last
//                     parameters
//   moons N NOISE SEED, circles N NOISE FACTOR SEED, spiral N CLASSES NOISE SEED    the rows; the labels
#include <cstdio>
#include <iostream>
#include <map>
#include <numeric>
#include <sstream>
#include <stdexcept>

#include "../../examples/gpt.hpp"
#include "gradwalk/gradwalk.hpp"

namespace {

using namespace gradwalk;
using Words = std::vector<std::string>;

void print(std::span<const double> numbers) {
  for (const double number : numbers) std::printf("%a ", number);
  std::printf("\n");
}

template <class Integers> void print_integers(const Integers& numbers) {
  for (const auto number : numbers) std::printf("%llu ", static_cast<unsigned long long>(number));
  std::printf("\n");
}

void print(const Dataset& data) {
  print(data.x);
  print_integers(data.labels);
}

void print_random(std::uint64_t seed) {
  Random random(seed);
  std::vector<std::uint64_t> words(300);
  for (std::uint64_t& word : words) word = random.next();
  print_integers(words);

  std::vector<double> uniforms(300), normals(3000);
  for (double& number : uniforms) number = random.uniform();
  print(uniforms);

  words.clear();
  for (std::uint64_t n = 1; n <= 300; ++n) words.push_back(random.below(n));
  for (int i = 0; i < 10; ++i) words.push_back(random.below((std::uint64_t{1} << 63) + 1));
  print_integers(words);

  for (double& number : normals) number = random.normal();
  print(normals);

  std::vector<std::size_t> order(300);
  std::iota(order.begin(), order.end(), std::size_t{0});
  random.shuffle(order);
  print_integers(order);
  print_integers(random.state());
}

std::vector<double> data_of(const std::vector<Value>& parameters) {
  std::vector<double> numbers;
  for (const Value& p : parameters) numbers.push_back(p.data());
  return numbers;
}

struct Task {
  Activation activation;
  std::size_t classes, outputs;
};

void train(const std::string& loss_name, const std::string& rule_name) {
  static const std::map<std::string, Task> tasks{{"mse", {Activation::relu, 2, 1}},
                                                 {"hinge", {Activation::relu, 2, 1}},
                                                 {"bce", {Activation::tanh, 2, 1}},
                                                 {"softmax", {Activation::sigmoid, 3, 3}}};
  static const std::map<std::string, OptimizerConfig> rules{
      {"sgd", SGD{.lr = 0.1}},
      {"momentum", SGD{.lr = 0.05, .momentum = 0.9, .weight_decay = 0.01}},
      {"adam", Adam{.lr = 0.02}},
      {"adamw", AdamW{.lr = 0.02, .beta1 = 0.8, .beta2 = 0.99, .epsilon = 1e-6, .weight_decay = 0.05}}};
  const Task task = tasks.at(loss_name);
  const Dataset data = make_spiral(30, task.classes, 0.05, 7);
  const MLP model(2, {8, 8, task.outputs}, {.activation = task.activation, .init = Init::xavier, .seed = 3});
  Optimizer optimizer(model.parameters(), rules.at(rule_name));
  print(data);
  print(data_of(model.parameters()));

  const std::vector<double> plus_minus = task.classes == 2 ? signs(data.labels) : std::vector<double>();
  const std::vector<double> zero_one(data.labels.begin(), data.labels.end());
  std::vector<double> losses;
  for (int step = 0; step < 100; ++step) {
    std::vector<std::vector<Value>> outputs;
    std::vector<Value> scores;
    for (std::size_t i = 0; i < data.rows(); ++i) {
      outputs.push_back(model(data.row(i)));
      scores.push_back(outputs.back()[0]);
    }
    const Value loss = loss_name == "mse"     ? mean_squared_error(scores, plus_minus)
                       : loss_name == "hinge" ? hinge(scores, plus_minus)
                       : loss_name == "bce"   ? binary_cross_entropy(scores, zero_one)
                                              : softmax_cross_entropy(outputs, data.labels);
    losses.push_back(loss.data());
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }
  print(losses);
  print(data_of(model.parameters()));
}

void train_gpt(std::span<const std::string> names) {
  Random random(5);
  const gpt::Model model({.layers = 2}, random);
  Optimizer adam(model.parameters(), Adam{.lr = 0.01, .beta1 = 0.85, .beta2 = 0.99});
  print(data_of(model.parameters()));
  std::vector<double> losses;
  for (const std::string& name : names) {
    std::vector<std::size_t> tokens{26};
    for (const char c : name) tokens.push_back(static_cast<std::size_t>(c - 'a'));
    tokens.push_back(26);
    const Value loss = model.loss(tokens);
    losses.push_back(loss.data());
    adam.zero_grad();
    loss.backward();
    adam.step();
  }
  print(losses);
  print(data_of(model.parameters()));
}

void answer(const Words& words) {
  const auto whole = [&](std::size_t i) { return std::stoull(words.at(i)); };
  const auto real = [&](std::size_t i) { return std::stod(words.at(i)); };
  if (words[0] == "random")
    print_random(whole(1));
  else if (words[0] == "train")
    train(words.at(1), words.at(2));
  else if (words[0] == "gpt")
    train_gpt(std::span(words).subspan(1));
  else if (words[0] == "moons")
    print(make_moons(whole(1), real(2), whole(3)));
  else if (words[0] == "circles")
    print(make_circles(whole(1), real(2), real(3), whole(4)));
  else if (words[0] == "spiral")
    print(make_spiral(whole(1), whole(2), real(3), whole(4)));
  else
    throw std::invalid_argument("cannot follow: " + words[0]);
}

}  // namespace

int main() try {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in(line);
    Words words;
    for (std::string word; in >> word;) words.push_back(word);
    if (!words.empty()) answer(words);
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "training: %s\n", error.what());
  return 2;
}
