// SPDX-License-Identifier: MIT
// The Graphviz library, tamed. It has one state a process and prints what it thinks to stderr: here one mutex guards
// it, and its messages become Errors.
#pragma once

#include <graphviz/gvc.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace gradwalk::detail {

// Graphviz's words for one call.
class Listening {
 public:
  Listening();
  ~Listening();
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  std::lock_guard<std::mutex> lock_;
  agusererrf before_;
};

// A drawing laid out by `dot`. While it lives, other threads that want one wait.
class LaidOut {
 public:
  LaidOut(std::string_view call, const std::string& dot);

  Agraph_t* graph() const { return graph_.get(); }
  std::string rendered(const char* format) const;

 private:
  struct CloseGraph {
    void operator()(Agraph_t* graph) const { agclose(graph); }
  };
  struct FreeLayout {
    void operator()(Agraph_t* graph) const;
  };

  std::string_view call_;
  Listening listening_;
  std::unique_ptr<Agraph_t, CloseGraph> graph_;
  std::unique_ptr<Agraph_t, FreeLayout> layout_;
};

}  // namespace gradwalk::detail
