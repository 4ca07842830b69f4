// SPDX-License-Identifier: MIT
// Layouts by the Graphviz library. Graphviz has one global state and prints its messages to stderr. Here a mutex guards
// the state, and the messages become Errors.
#pragma once

#include <graphviz/gvc.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace gradwalk::detail {

// Locks Graphviz and collects its messages while it lives.
class CatchMessages {
 public:
  CatchMessages();
  ~CatchMessages();
  CatchMessages(const CatchMessages&) = delete;
  CatchMessages& operator=(const CatchMessages&) = delete;

 private:
  std::lock_guard<std::mutex> lock_;
  agusererrf before_;
};

// A drawing that Graphviz's dot has laid out. Other threads that make a Layout wait while it lives.
class Layout {
 public:
  // Lays out a drawing in the DOT language. Throws an Error in the name of `call`.
  Layout(std::string_view call, const std::string& dot);

  Agraph_t* graph() const { return graph_.get(); }
  // Returns the drawing in a format of Graphviz, such as "svg".
  std::string rendered(const char* format) const;

 private:
  struct CloseGraph {
    void operator()(Agraph_t* graph) const { agclose(graph); }
  };
  struct FreeLayout {
    void operator()(Agraph_t* graph) const;
  };

  std::string_view call_;
  CatchMessages catch_messages_;
  std::unique_ptr<Agraph_t, CloseGraph> graph_;
  std::unique_ptr<Agraph_t, FreeLayout> layout_;
};

}  // namespace gradwalk::detail
