// SPDX-License-Identifier: MIT
// usage: PROGRAM FILE FUNCTION
// Reads the input of an eval from a file, runs one of its functions, and prints the output as a line of JSON. Then it
// prints one line of JSON per time: making the task ("prepare"), and each run ("evaluate"). An input can request
// several runs with min_runs and min_seconds.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "task.hpp"

namespace gradbench {
namespace {

using Json = nlohmann::json;

class JsonInput final : public Input {
 public:
  explicit JsonInput(Json json) : json_(std::move(json)) {}

  double number() const override { return json_.get<double>(); }
  double number(const std::string& field) const override { return get<double>(field); }
  std::size_t count(const std::string& field) const override { return get<std::size_t>(field); }
  bool truth(const std::string& field) const override { return get<bool>(field); }
  Numbers numbers(const std::string& field) const override { return get<Numbers>(field); }
  std::vector<int> integers(const std::string& field) const override { return get<std::vector<int>>(field); }
  Rows rows(const std::string& field) const override { return get<Rows>(field); }
  std::vector<Rows> matrices(const std::string& field) const override { return get<std::vector<Rows>>(field); }
  std::unique_ptr<Input> part(const std::string& field) const override {
    return std::make_unique<JsonInput>(get<Json>(field));
  }
  double number_or(const std::string& field, double otherwise) const {
    return json_.is_object() && json_.contains(field) ? number(field) : otherwise;
  }

 private:
  template <class T> T get(const std::string& field) const {
    try {
      return json_.at(field).get<T>();
    } catch (const Json::exception& error) {
      throw std::invalid_argument("the input's field " + field + ": " + error.what());
    }
  }
  Json json_;
};

Json read(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::invalid_argument("needs a file of JSON, got " + path + ", which cannot be read");
  return Json::parse(file);
}

template <class Do> std::size_t nanoseconds(Do what) {
  const auto begin = std::chrono::steady_clock::now();
  what();
  const auto taken = std::chrono::steady_clock::now() - begin;
  return static_cast<std::size_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(taken).count());
}

void print(gradwalk::JsonWriter json) { std::printf("%s\n", json.take().c_str()); }

void print_time(const std::string& name, std::size_t taken) {
  gradwalk::JsonWriter json;
  print(json.object([&] { json("name").value(name)("nanoseconds").value(taken); }));
}

const MakeTask& function_named(const std::string& name) {
  std::string known;
  for (const auto& [one, make] : functions) known += (known.empty() ? "" : ", ") + one;
  if (!functions.contains(name)) throw std::invalid_argument("needs a function of " + known + ", got " + name);
  return functions.at(name);
}

void run(const std::string& path, const std::string& name) {
  const MakeTask& make = function_named(name);
  const JsonInput input(read(path));
  const double least_runs = input.number_or("min_runs", 1), least_seconds = input.number_or("min_seconds", 0);

  std::unique_ptr<Task> task;
  const std::size_t prepared = nanoseconds([&] { task = make(input); });
  std::vector<std::size_t> runs;
  double seconds = 0;
  do {
    runs.push_back(nanoseconds([&] { task->run(); }));
    seconds += static_cast<double>(runs.back()) * 1e-9;
  } while (static_cast<double>(runs.size()) < least_runs || seconds < least_seconds);

  gradwalk::JsonWriter output;
  task->write(output);
  print(std::move(output));
  print_time("prepare", prepared);
  for (const std::size_t one : runs) print_time("evaluate", one);
}

}  // namespace
}  // namespace gradbench

int main(int count, char** arguments) {
  try {
    if (count != 3) throw std::invalid_argument("needs FILE FUNCTION");
    gradbench::run(arguments[1], arguments[2]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", arguments[0], error.what());
    return 1;
  }
}
