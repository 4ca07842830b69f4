// SPDX-License-Identifier: MIT
// Random functions with control flow of their own: nested branches, loops whose number of rounds depends on the data,
// some of them as loop(), early returns, sorting, the index of the smallest, std::max, rejection, and comparisons with
// NaN.
#pragma once

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

#include "gradwalk/function.hpp"
#include "gradwalk/gradwalk.hpp"

namespace gradwalk::tests {

class BranchingFunction {
 public:
  BranchingFunction(std::mt19937_64& random, std::size_t outputs)
      : outputs_(outputs), body_(block(random, 2, 3 + random() % 5)) {}

  std::vector<Value> operator()(const std::vector<Value>& inputs, const std::vector<Value>& parameters) const {
    std::vector<Value> variables = inputs;
    variables.insert(variables.end(), parameters.begin(), parameters.end());
    run(body_, variables);
    std::vector<Value> result;
    for (std::size_t i = 0; i < outputs_; ++i) result.push_back(variables[i % variables.size()]);
    return result;
  }

 private:
  enum class Kind : std::uint8_t { assign, branch, loop, leave, sort, smallest, largest, reject, nan_branch };
  struct Statement {
    Kind kind;
    std::size_t a, b, c, op;
    double number;
    std::vector<Statement> first, second;
  };
  using Block = std::vector<Statement>;

  static Block block(std::mt19937_64& random, int depth, std::size_t length) {
    Block made;
    for (std::size_t i = 0; i < length; ++i) {
      const std::uint64_t roll = random() % 16;
      Statement statement{Kind::assign,
                          random() % 8,
                          random() % 8,
                          random() % 8,
                          random() % 10,
                          static_cast<double>(random() % 400) / 100 - 2,
                          {},
                          {}};
      if (roll >= 7 && depth > 0) {
        constexpr Kind kinds[] = {Kind::branch,   Kind::branch,  Kind::loop,   Kind::leave,     Kind::sort,
                                  Kind::smallest, Kind::largest, Kind::reject, Kind::nan_branch};
        statement.kind = kinds[roll - 7];
        statement.first = block(random, depth - 1, 1 + random() % 3);
        statement.second = block(random, depth - 1, 1 + random() % 2);
      }
      made.push_back(std::move(statement));
    }
    return made;
  }

  static Value compute(std::size_t op, const Value& a, const Value& b, double number) {
    switch (op) {
      case 0: return tanh(a * b + number);
      case 1: return sin(a) + 0.5 * b;
      case 2: return a - b * number;
      case 3: return a / (1 + b * b);
      case 4: return exp(-a * a);
      case 5: return abs(a) - number;
      case 6: return 0.3 * a + 0.7 * b;
      case 7: return tanh(a) * number;
      case 8: return sqrt(1 + a * a) - b;
      default: return sigmoid(a + b);
    }
  }

  // Returns true if the function is left.
  bool run(const Block& block, std::vector<Value>& v) const {
    for (const Statement& s : block) {
      Value& a = v[s.a % v.size()];
      const Value b = v[s.b % v.size()], c = v[s.c % v.size()];
      switch (s.kind) {
        case Kind::assign: a = compute(s.op, b, c, s.number); break;
        case Kind::branch:
          if (b < c + s.number ? run(s.first, v) : run(s.second, v)) return true;
          break;
        case Kind::loop:
          if (s.op % 3 == 0) {
            run_loop(s, v);
            break;
          }
          for (int round = 0; round < 12 && abs(v[s.a % v.size()]) > 0.2; ++round) {
            v[s.a % v.size()] *= 0.6;
            if (run(s.first, v)) return true;
          }
          break;
        case Kind::leave:
          if (b > c + 0.8) return true;
          break;
        case Kind::sort:
          std::sort(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(std::min(v.size(), 3 + s.op % 2)));
          break;
        case Kind::smallest: a = *std::min_element(v.begin(), v.end()) + s.number; break;
        case Kind::largest: a = std::max(b, c) * 0.5 + std::min(b, Value(s.number)); break;
        case Kind::reject: {
          Value x = tanh(b);
          for (int round = 0; round < 6 && x * x + 0.2 * c * c > 0.3; ++round) x = 0.8 * x - 0.05 * c;
          a = x;
          break;
        }
        case Kind::nan_branch:
          if (log(b) < s.number) a = a + 0.25;  // false if b is negative
          break;
      }
    }
    return false;
  }

  // The same with loop(). A body cannot leave the function.
  void run_loop(const Statement& s, std::vector<Value>& v) const {
    std::vector<Value> state = v;
    state.emplace_back(0.0);  // counts rounds
    const std::size_t a = s.a % v.size(), count = v.size();
    state = loop(
        state, [&](const std::vector<Value>& at) { return at[count] < 11.5 && abs(at[a]) > 0.2; },
        [&](const std::vector<Value>& at) {
          std::vector<Value> next(at.begin(), at.end() - 1);
          next[a] *= 0.6;
          run(s.first, next);
          next.push_back(at[count] + 1);
          return next;
        });
    v.assign(state.begin(), state.end() - 1);
  }

  std::size_t outputs_;
  Block body_;
};

}  // namespace gradwalk::tests
