// SPDX-License-Identifier: MIT
// An eval of GradBench: functions by name. Each makes a task of the input, which runs as often as the input asks.
// tools/gradbench/README.md describes what is timed.
#pragma once

#include <cstddef>
#include <functional>
#include <gradwalk/json.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gradbench {

// How derivatives are computed. The file mode_*.cpp that is linked in defines it.
enum class Mode { eager, compiled, by_hand, codipack };
extern const Mode mode;

using Numbers = std::vector<double>;
using Rows = std::vector<Numbers>;

// The input. A field that is missing or has another type is an error with its name.
class Input {
 public:
  virtual ~Input() = default;
  virtual double number() const = 0;  // for an input that is one number
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
  virtual void write(gradwalk::JsonWriter& json) const = 0;  // writes the result of the last run
};

using MakeTask = std::function<std::unique_ptr<Task>(const Input&)>;

// The functions of an eval, which its file defines.
extern const std::map<std::string, MakeTask> functions;

template <class T> MakeTask task() {
  return [](const Input& input) { return std::make_unique<T>(input); };
}

inline void write(gradwalk::JsonWriter& json, const Numbers& numbers) {
  json.array(numbers, [&](double number) { json.value(number); });
}

// Returns the rows one after another.
inline Numbers flat(const Rows& rows) {
  Numbers numbers;
  for (const Numbers& row : rows) numbers.insert(numbers.end(), row.begin(), row.end());
  return numbers;
}
inline void write_rows(gradwalk::JsonWriter& json, const double* numbers, std::size_t rows, std::size_t columns) {
  std::vector<std::size_t> begins(rows);
  for (std::size_t i = 0; i < rows; ++i) begins[i] = i * columns;
  json.array(begins, [&](std::size_t begin) { write(json, Numbers(numbers + begin, numbers + begin + columns)); });
}

}  // namespace gradbench
