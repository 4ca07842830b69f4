// SPDX-License-Identifier: MIT
// A GradBench eval: functions by name. Each function is a task, which is made from the input once and run as often as
// the input requests. tools/gradbench/README.md describes what is timed.
#pragma once

#include <cstddef>
#include <functional>
#include <gradwalk/json.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gradbench {

// How derivatives are computed. The linked file mode_*.cpp selects it.
enum class Mode { eager, compiled, by_hand, codipack };
extern const Mode mode;

using Numbers = std::vector<double>;
using Rows = std::vector<Numbers>;

// The input, by the names of its fields. A missing field, or a field of another type, is an error that names it.
class Input {
 public:
  virtual ~Input() = default;
  virtual double number() const = 0;  // the value of an input that is a single number
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
  virtual void write(gradwalk::JsonWriter& json) const = 0;  // the result of the last run
};

using MakeTask = std::function<std::unique_ptr<Task>(const Input&)>;

// The file of each eval defines these functions.
extern const std::map<std::string, MakeTask> functions;

template <class T> MakeTask task() {
  return [](const Input& input) { return std::make_unique<T>(input); };
}

inline void write(gradwalk::JsonWriter& json, const Numbers& numbers) {
  json.array(numbers, [&](double number) { json.value(number); });
}

// The rows, one after another.
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
