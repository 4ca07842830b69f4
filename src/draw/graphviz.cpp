// SPDX-License-Identifier: MIT
// One context, one mutex, and Graphviz's words for one call.
#include "graphviz.hpp"

#include <algorithm>

#include "gradwalk/error.hpp"

namespace gradwalk::detail {
namespace {

std::mutex one_at_a_time;
std::string messages;

int keep_message(char* text) {
  messages += text;
  return 0;
}

[[noreturn]] void fail(std::string_view call, std::string_view needs, std::string_view advice) {
  std::string said = messages.empty() ? "no word of why" : messages;
  std::replace(said.begin(), said.end(), '\n', ' ');
  said.erase(said.find_last_not_of(' ') + 1);
  throw Error(call, needs, said, advice);
}

constexpr std::string_view reinstall =
    "install Graphviz's plugins (Debian: libgvc6), and run `dot -c` or `libgvc6-config-update -c` if they are there";

// One context for the life of the process: a new one would read and load the plugins again.
GVC_t* context() {
  static GVC_t* const made = gvContext();
  return made;
}

}  // namespace

Listening::Listening() : lock_(one_at_a_time), before_(agseterrf(keep_message)) { messages.clear(); }
Listening::~Listening() { agseterrf(before_); }

void LaidOut::FreeLayout::operator()(Agraph_t* graph) const { gvFreeLayout(context(), graph); }

LaidOut::LaidOut(std::string_view call, const std::string& dot) : call_(call), graph_(agmemread(dot.c_str())) {
  if (!graph_) fail(call, "a drawing Graphviz can read", "report this: it is a fault of gradwalk");
  if (gvLayout(context(), graph_.get(), "dot") != 0) fail(call, "Graphviz's dot layout", reinstall);
  layout_.reset(graph_.get());
}

std::string LaidOut::rendered(const char* format) const {
  char* bytes = nullptr;
  unsigned length = 0;
  const int failed = gvRenderData(context(), graph_.get(), format, &bytes, &length);
  const std::unique_ptr<char, decltype(&gvFreeRenderData)> owned(bytes, gvFreeRenderData);
  if (failed != 0 || bytes == nullptr || length == 0)
    fail(call_, std::string("Graphviz's renderer for ") + format, reinstall);
  return {bytes, length};
}

}  // namespace gradwalk::detail
