// SPDX-License-Identifier: MIT
// Fits for the Python tests: reads commands from stdin and answers on stdout. Numbers are C hex floats in both
// directions.
//
//   logistic METHOD PENALTY ROWS    is followed by one line per row: its label, 0 or 1, and its features. The answer
//   has
//                                   two lines: the weights and then the intercept; and the ending. The fit minimizes
//                                   PENALTY / 2 times the sum of the squared weights, plus the losses of the rows.
#include <cstdio>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "gradwalk/gradwalk.hpp"
#include "gradwalk/solve.hpp"

namespace {

using namespace gradwalk;

struct Row {
  bool label;
  std::vector<double> features;
};

Row read_row() {
  std::string line;
  if (!std::getline(std::cin, line)) throw std::invalid_argument("logistic: needs more rows");
  std::istringstream words(line);
  Row row{};
  words >> row.label;
  for (std::string word; words >> word;) row.features.push_back(std::stod(word));
  return row;
}

Value logistic_loss(const std::vector<Value>& parameters, const std::vector<Row>& rows, double penalty) {
  Value sum = 0.0;
  for (std::size_t i = 0; i + 1 < parameters.size(); ++i) sum += 0.5 * penalty * parameters[i] * parameters[i];
  for (const Row& row : rows) {
    Value score = parameters.back();
    for (std::size_t i = 0; i < row.features.size(); ++i) score += parameters[i] * row.features[i];
    sum += softplus(row.label ? -score : score);
  }
  return sum;
}

void solve_logistic(std::istringstream& words) {
  const std::map<std::string, Method> methods{{"gradient_descent", Method::gradient_descent},
                                              {"bfgs", Method::bfgs},
                                              {"lbfgs", Method::lbfgs},
                                              {"newton", Method::newton}};
  std::string method, penalty_text;
  std::size_t count = 0;
  words >> method >> penalty_text >> count;
  const double penalty = std::stod(penalty_text);
  std::vector<Row> rows;
  while (rows.size() < count) rows.push_back(read_row());
  const Minimum found =
      minimize([&](const std::vector<Value>& parameters) { return logistic_loss(parameters, rows, penalty); },
               Numbers(rows.at(0).features.size() + 1), {.method = methods.at(method)});
  for (const double x : found.x) std::printf("%a ", x);
  std::printf("\n%s\n", found.summary().c_str());
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    if (command != "logistic") throw std::invalid_argument("needs logistic, got " + command);
    solve_logistic(words);
  }
}
