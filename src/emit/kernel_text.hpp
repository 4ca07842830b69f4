// SPDX-License-Identifier: MIT
// The text of a kernel in the making, line by line.
#pragma once

#include <string>
#include <vector>

#include "dialect.hpp"
#include "function_text.hpp"
#include "gradwalk/emit_cuda.hpp"
#include "lower.hpp"
#include "straight_text.hpp"

namespace gradwalk::emit {

class KernelText {
 protected:
  KernelText(const CudaOptions& options, std::string name)
      : options_(options), dialect_(options.precision == Precision::float32, options.exact), name_(std::move(name)) {}

  void begin_text() { text_.clear(), depth_ = 1, fresh_ = 0; }
  void line(const std::string& more) { text_ += std::string(2 * depth_, ' ') + more + "\n"; }
  void open(const std::string& more) { line(more + " {"), ++depth_; }
  void close() { --depth_, line("}"); }
  std::string fresh(const char* prefix) { return prefix + std::to_string(fresh_++); }
  // Returns the lines as a kernel with this number of threads per block. If `blocks` is not 0, a kernel uses few enough
  // registers that as many blocks can run on a multiprocessor.
  std::string kernel(const std::string& what, std::size_t block, const std::string& arguments,
                     std::size_t blocks = 0) const {
    const std::string least = blocks == 0 ? "" : ", " + std::to_string(blocks);
    return "extern \"C\" __global__ void __launch_bounds__(" + std::to_string(block) + least + ") " + name_ + "_" +
           what + "(" + arguments + ") {\n" + text_ + "}\n\n";
  }
  // Prints a line for a value, and returns its name.
  std::string assign(const std::string& value) {
    const std::string name = fresh("t");
    line("const real " + name + " = " + value + ";");
    return name;
  }
  // Prints code without loops, as straight_text() does.
  template <class TextOf, class Assign>
  std::vector<std::string> print_code(const Code& code, std::size_t stores, TextOf text_of, Assign assign_value) {
    calls_digamma_ |= code.calls_digamma;
    calls_trigamma_ |= code.calls_trigamma;
    calls_times_ |= code.calls_times;
    return straight_text(code, stores, dialect_, text_of, assign_value);
  }
  // Returns the functions that the code printed so far calls.
  std::string functions() const {
    std::string made = calls_times_ ? times_text(dialect_) : "";
    if (calls_digamma_) made += digamma_text(dialect_.prefix());
    if (calls_trigamma_) made += trigamma_text(dialect_.prefix());
    for (std::size_t at = made.find("static "); at != std::string::npos; at = made.find("static ", at + 18))
      made.insert(at, "__device__ ");
    return made;
  }

  const CudaOptions& options_;
  Cuda dialect_;
  std::string name_;
  std::string text_;  // of the kernel at hand
  std::size_t depth_ = 1, fresh_ = 0;

 private:
  bool calls_digamma_ = false, calls_trigamma_ = false, calls_times_ = false;
};

}  // namespace gradwalk::emit
