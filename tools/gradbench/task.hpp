// SPDX-License-Identifier: MIT
// What an eval of GradBench's is here: functions by name, each a task that is made of the input once and run as often
// as the input asks. tools/gradbench/README.md tells what is timed.
#pragma once

#include <cstddef>
#include <functional>
#include <gradwalk/json.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gradbench {

// How derivatives are made: one of the files mode_*.cpp is linked in and says.
enum class Mode { eager, compiled, by_hand, codipack };
extern const Mode mode;

using Numbers = std::vector<double>;
using Rows = std::vector<Numbers>;

// The input, by the names of its fields; a missing one, or one of another type, is an error that names it.
class Input {
 public:
  virtual ~Input() = default;
  virtual double number() const = 0;  // of an input that is nothing else
  virtual double number(const std::string& field) const = 0;
  virtual std::size_t count(const std::string& field) const = 0;
  virtual bool truth(const std::string& field) const = 0;
  virtual Numbers numbers(const std::string& field) const = 0;
  virtual std::vector<int> integers(const std::string& field) const = 0;
  virtual Rows rows(const std::string& field) const = 0;
  virtual std::vector<Rows> matrices(const std::string& field) const = 0;
  virtual std::unique_ptr<Input> part(const std::string& field) const = 0;
};

class Task {
 public:
  Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  virtual ~Task() = default;
  virtual void run() = 0;
  virtual void write(gradwalk::JsonWriter& json) const = 0;  // what the last run gave
};

using MakeTask = std::function<std::unique_ptr<Task>(const Input&)>;

// Each eval's file gives these.
extern const std::map<std::string, MakeTask> functions;

template <class T> MakeTask task() {
  return [](const Input& input) { return std::make_unique<T>(input); };
}

inline void write(gradwalk::JsonWriter& json, const Numbers& numbers) {
  json.array(numbers, [&](double number) { json.value(number); });
}

// A row after the other, as they were given.
inline Numbers flat(const Rows& rows) {
  Numbers all;
  for (const Numbers& row : rows) all.insert(all.end(), row.begin(), row.end());
  return all;
}
inline void write_rows(gradwalk::JsonWriter& json, const double* numbers, std::size_t rows, std::size_t columns) {
  std::vector<std::size_t> begins(rows);
  for (std::size_t i = 0; i < rows; ++i) begins[i] = i * columns;
  json.array(begins, [&](std::size_t begin) { write(json, Numbers(numbers + begin, numbers + begin + columns)); });
}

}  // namespace gradbench
