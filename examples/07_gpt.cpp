// SPDX-License-Identifier: MIT
// 07_gpt [FILE] [--steps N] [--seed N]
//
// Goal: a GPT that learns to invent names, with nothing but Values; gpt.hpp has the model.
// FILE has one name a line, plain or gzipped; without one, Debian's list of proper names is taken. You will see how
// large the model is, its loss fall from about ln(27) = 3.3, what guessing gives, to below 2.55, and 20 new names.
#include <zlib.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <gradwalk/gradwalk.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "gpt.hpp"

using namespace gradwalk;

// a to z are 0 to 25; one more token stands before and after each name.
using Tokens = std::vector<std::size_t>;
constexpr std::size_t boundary = 26, vocabulary = 27;

// Letters are made small; whatever is none, as the hyphen of Jean-Luc, is left out.
Tokens tokens_of(const std::string& name) {
  Tokens tokens{boundary};
  for (const char c : name) {
    if (c >= 'a' && c <= 'z') tokens.push_back(static_cast<std::size_t>(c - 'a'));
    if (c >= 'A' && c <= 'Z') tokens.push_back(static_cast<std::size_t>(c - 'A'));
  }
  tokens.push_back(boundary);
  return tokens;
}

std::string read_file(const std::string& path) {
  std::string text(1 << 16, '\0');
  std::size_t size = 0;
  int count = -1;
  if (gzFile file = gzopen(path.c_str(), "rb")) {  // reads plain files too
    while ((count = gzread(file, text.data() + size, static_cast<unsigned>(text.size() - size))) > 0)
      if ((size += static_cast<std::size_t>(count)) == text.size()) text.resize(2 * size);
    gzclose(file);
  }
  if (count < 0)
    throw Error("07_gpt", "a file with one name a line", path + ", which cannot be read",
                "apt-get install miscfiles brings Debian's names; or give a file of yours: 07_gpt FILE");
  text.resize(size);
  return text;
}

std::vector<Tokens> read_names(const std::string& path) {
  std::vector<Tokens> names;
  std::istringstream lines(read_file(path));
  for (std::string line; std::getline(lines, line);)
    if (Tokens tokens = tokens_of(line); tokens.size() > 2) names.push_back(std::move(tokens));
  if (names.empty()) throw Error("07_gpt", "at least one name", "none in " + path, "write one name a line, in a to z");
  return names;
}

// One name a step, and a rate that goes down to zero.
void train(const gpt::Model& model, const std::vector<Tokens>& names, std::size_t steps) {
  const double first_rate = 0.01;
  Optimizer adam(model.parameters(), Adam{.lr = first_rate, .beta1 = 0.85, .beta2 = 0.99});
  const Schedule rate = linear_decay(first_rate, 0, steps);
  double sum = 0;
  for (std::size_t step = 0; step < steps; ++step) {
    const Value loss = model.loss(names[step % names.size()]);
    adam.zero_grad();
    loss.backward();
    adam.step(rate(step));

    sum += loss.data();
    if (step == 0) std::printf("step %5d  loss %.4f\n", 1, sum);
    if ((step + 1) % 100 == 0) {
      std::printf("step %5zu  loss %.4f, the mean of the last 100\n", step + 1, sum / 100);
      sum = 0;
    }
  }
}

std::size_t choose(const gpt::Vector& probabilities, Random& random) {
  double left = random.uniform();
  for (std::size_t i = 0; i + 1 < probabilities.size(); ++i) {
    left -= probabilities[i].data();
    if (left < 0) return i;
  }
  return probabilities.size() - 1;
}

// Letter by letter, each drawn from what the model thinks likely after those before it.
std::string invent(const gpt::Model& model, Random& random) {
  const double temperature = 0.5;  // below 1: keeps to what it is surer of
  const NoGrad guard;
  gpt::Memory memory(model.shape());
  std::string name;
  std::size_t token = boundary;
  while (memory.position() < model.shape().context) {
    gpt::Vector scores = model(token, memory);
    for (Value& score : scores) score /= temperature;
    token = choose(gpt::softmax(scores), random);
    if (token == boundary) break;
    name += static_cast<char>('a' + token);
  }
  return name;
}

struct Options {
  std::string file = "/usr/share/dict/propernames.gz";
  std::size_t steps = 1000, seed = 42;
};

std::size_t number(const std::string& option, const std::string& word) {
  std::size_t result = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), result);
  if (error != std::errc{} || end != word.data() + word.size())
    throw Error("07_gpt", option + " N, a whole number", word, "try " + option + " 1000");
  return result;
}

Options read_options(const std::vector<std::string>& words) {
  Options options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--steps" && i + 1 < words.size()) {
      options.steps = number("--steps", words[++i]);
    } else if (words[i] == "--seed" && i + 1 < words.size()) {
      options.seed = number("--seed", words[++i]);
    } else if (words[i].starts_with("-")) {
      throw Error("07_gpt", "[FILE] [--steps N] [--seed N]", words[i], "leave it out, or give what it lacks");
    } else {
      options.file = words[i];
    }
  }
  return options;
}

int main(int count, char** words) try {
  const Options options = read_options({words + 1, words + count});
  Random random(options.seed);
  std::vector<Tokens> names = read_names(options.file);
  random.shuffle(names);

  const gpt::Model model({.vocabulary = vocabulary}, random);
  std::printf("%zu names, %zu tokens, %zu parameters\n", names.size(), vocabulary, model.parameters().size());
  const auto start = std::chrono::steady_clock::now();
  train(model, names, options.steps);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;

  std::printf("\nnames it invents:\n");
  for (int i = 0; i < 20; ++i) std::printf("%s\n", invent(model, random).c_str());
  std::fprintf(stderr, "trained in %.2f s\n", took.count());  // apart, so that stdout is the same each time
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
