// SPDX-License-Identifier: MIT
// 07_gpt [FILE] [--steps N] [--batch N] [--seed N] [--eager]
//
// Goal: a GPT of plain Values that learns to invent names. gpt.hpp has the model. The loss of a name is compiled into
// one program per name length, and a program takes all names of that length in a batch at once (08_compile explains
// compile). With --eager, the same steps build a graph for each name and run its backward pass.
// FILE has one name per line, plain or gzipped; the default is Debian's list of proper names. The program prints the
// size of the model, the loss as it falls from about ln(27) = 3.3 (guessing) to below 2.3, and 20 new names. It prints
// the time per name on stderr.
#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <functional>
#include <gradwalk/compile.hpp>
#include <gradwalk/gradwalk.hpp>
#include <map>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "gpt.hpp"

using namespace gradwalk;

// The tokens 0 to 25 are the letters a to z. One more token marks the beginning and the end of a name.
using Tokens = std::vector<std::size_t>;
constexpr std::size_t boundary = 26, vocabulary = 27;

// Upper-case letters become lower-case. Other characters, such as the hyphen of Jean-Luc, are left out.
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
  if (gzFile file = gzopen(path.c_str(), "rb")) {  // reads plain files, too
    while ((count = gzread(file, text.data() + size, static_cast<unsigned>(text.size() - size))) > 0)
      if ((size += static_cast<std::size_t>(count)) == text.size()) text.resize(2 * size);
    gzclose(file);
  }
  if (count < 0)
    throw Error("07_gpt", "a file with one name per line", path + ", which cannot be read",
                "apt-get install miscfiles brings Debian's names; or give a file of yours: 07_gpt FILE");
  text.resize(size);
  return text;
}

std::vector<Tokens> read_names(const std::string& path) {
  std::vector<Tokens> names;
  std::istringstream lines(read_file(path));
  for (std::string line; std::getline(lines, line);)
    if (Tokens tokens = tokens_of(line); tokens.size() > 2) names.push_back(std::move(tokens));
  if (names.empty())
    throw Error("07_gpt", "at least one name", "none in " + path, "write one name per line, in a to z");
  return names;
}

constexpr Adam adam{.lr = 0.01, .beta1 = 0.85, .beta2 = 0.99};

// Makes one training step on a batch of names and returns their mean loss.
using Step = std::function<double(std::span<const Tokens> names)>;

// Builds one graph per name. The seed of its backward pass is the name's share of the mean.
Step steps_by_graphs(const gpt::Model& model, const Schedule& rate) {
  auto optimizer = std::make_shared<Optimizer>(model.parameters(), adam);
  return [=, &model](std::span<const Tokens> names) {
    const double share = 1 / static_cast<double>(names.size());
    double mean = 0;
    optimizer->zero_grad();
    for (const Tokens& name : names) {
      const Value loss = model.loss(name);
      loss.backward(share);
      mean += share * loss.data();
    }
    optimizer->step(rate(optimizer->state().steps));
    return mean;
  };
}

// Compiles one program per name length. The names of that length are its rows.
Step steps_by_programs(const gpt::Model& model, const Schedule& rate, const std::vector<Tokens>& names) {
  std::map<std::size_t, std::size_t> program_of;  // by number of tokens
  std::vector<Program> programs;
  for (const Tokens& name : names) {
    if (!program_of.emplace(name.size(), programs.size()).second) continue;
    const gpt::OneHot any(name.size(), vocabulary);
    programs.push_back(compile(model.loss(any.tokens), {.inputs = any.inputs(), .parameters = model.parameters()}));
  }
  auto trainer = std::make_shared<Trainer>(programs, adam, rate);
  return [=, rows = std::vector<std::vector<double>>(programs.size())](std::span<const Tokens> batch) mutable {
    for (std::vector<double>& of_length : rows) of_length.clear();
    for (const Tokens& name : batch) gpt::append_one_hot(rows[program_of.at(name.size())], name, vocabulary);
    return trainer->step(rows, {.result = RunOptions::Result::mean});
  };
}

void train(const std::vector<Tokens>& names, std::size_t steps, std::size_t size, const Step& step) {
  std::vector<Tokens> batch(size);
  std::size_t next = 0;
  double sum = 0;
  for (std::size_t i = 1; i <= steps; ++i) {
    for (Tokens& name : batch) name = names[next++ % names.size()];
    sum += step(batch);
    if (i == 1) std::printf("step %5d  loss %.4f\n", 1, sum);
    if (i % 100 == 0) {
      std::printf("step %5zu  loss %.4f, the mean of the last 100\n", i, sum / 100);
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

// Draws letter after letter, each from the probabilities that the model gives after the letters before it.
std::string invent(const gpt::Model& model, Random& random) {
  const double temperature = 0.5;  // below 1, likely letters become likelier
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
  std::size_t steps = 500, batch = 32, seed = 42;
  bool eager = false;
};

std::size_t number(const std::string& option, const std::string& word, std::size_t least, const char* usual) {
  std::size_t result = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), result);
  if (error != std::errc{} || end != word.data() + word.size() || result < least)
    throw Error("07_gpt", option + " N, a whole number" + (least > 0 ? " above 0" : ""), word,
                "try " + option + " " + usual);
  return result;
}

Options read_options(const std::vector<std::string>& words) {
  Options options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--steps" && i + 1 < words.size()) {
      options.steps = number("--steps", words[++i], 0, "1000");
    } else if (words[i] == "--batch" && i + 1 < words.size()) {
      options.batch = number("--batch", words[++i], 1, "32");
    } else if (words[i] == "--seed" && i + 1 < words.size()) {
      options.seed = number("--seed", words[++i], 0, "7");
    } else if (words[i] == "--eager") {
      options.eager = true;
    } else if (words[i].starts_with("-")) {
      throw Error("07_gpt", "[FILE] [--steps N] [--batch N] [--seed N] [--eager]", words[i],
                  "leave it out, or add the number after it");
    } else {
      options.file = words[i];
    }
  }
  return options;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int main(int count, char** words) try {
  const Options options = read_options({words + 1, words + count});
  Random random(options.seed);
  std::vector<Tokens> names = read_names(options.file);
  random.shuffle(names);

  const gpt::Model model({.vocabulary = vocabulary}, random);
  std::printf("%zu names, %zu tokens, %zu parameters\n", names.size(), vocabulary, model.parameters().size());
  for (Tokens& name : names) name.resize(std::min(name.size(), model.shape().context + 1));
  {
    const Schedule rate = linear_decay(adam.lr, 0, options.steps);
    const auto start = std::chrono::steady_clock::now();
    const Step step = options.eager ? steps_by_graphs(model, rate) : steps_by_programs(model, rate, names);
    const double before = seconds_since(start);
    train(names, options.steps, options.batch, step);
    const double all = seconds_since(start);  // printed on stderr, so that stdout is the same each time
    std::fprintf(stderr, "prepared in %.2f s, trained in %.2f s, %.1f us per name\n", before, all - before,
                 1e6 * (all - before) / static_cast<double>(std::max<std::size_t>(options.steps * options.batch, 1)));
  }  // the Trainer ends here and writes the parameters back to the model's Values

  std::printf("\ninvented names:\n");
  for (int i = 0; i < 20; ++i) std::printf("%s\n", invent(model, random).c_str());
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
