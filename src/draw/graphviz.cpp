// SPDX-License-Identifier: MIT
// Runs Graphviz with one context, one mutex, and the messages of the current call.
#include "graphviz.hpp"

#include <algorithm>

#include "gradwalk/error.hpp"

namespace gradwalk::detail {
namespace {

std::mutex graphviz_mutex;
std::string messages;

int keep_message(char* text) {
  messages += text;
  return 0;
}

[[noreturn]] void fail(std::string_view call, std::string_view needs, std::string_view advice) {
  std::string message = messages.empty() ? "no message" : messages;
  std::replace(message.begin(), message.end(), '\n', ' ');
  message.erase(message.find_last_not_of(' ') + 1);
  throw Error(call, needs, message, advice);
}

constexpr std::string_view reinstall =
    "install Graphviz's plugins (Debian: libgvc6), and run `dot -c` or `libgvc6-config-update -c` if they are there";

// The type of the length that gvRenderData() writes: unsigned, and size_t since Graphviz 12. Declared for decltype
// only.
template <class Length> Length type_of_length(int (*)(GVC_t*, Agraph_t*, const char*, char**, Length*));

// Returns the one context of the process. A new one would load the plugins again.
GVC_t* context() {
  static GVC_t* const instance = gvContext();
  return instance;
}

}  // namespace

CatchMessages::CatchMessages() : lock_(graphviz_mutex), before_(agseterrf(keep_message)) { messages.clear(); }
CatchMessages::~CatchMessages() { agseterrf(before_); }

void Layout::FreeLayout::operator()(Agraph_t* graph) const { gvFreeLayout(context(), graph); }

Layout::Layout(std::string_view call, const std::string& dot) : call_(call), graph_(agmemread(dot.c_str())) {
  if (!graph_) fail(call, "a drawing Graphviz can read", "report this: it is a fault of gradwalk");
  if (gvLayout(context(), graph_.get(), "dot") != 0) fail(call, "Graphviz's dot layout", reinstall);
  layout_.reset(graph_.get());
}

std::string Layout::rendered(const char* format) const {
  char* bytes = nullptr;
  decltype(type_of_length(gvRenderData)) length = 0;
  const int failed = gvRenderData(context(), graph_.get(), format, &bytes, &length);
  const std::unique_ptr<char, decltype(&gvFreeRenderData)> owned(bytes, gvFreeRenderData);
  if (failed != 0 || bytes == nullptr || length == 0)
    fail(call_, std::string("Graphviz's renderer for ") + format, reinstall);
  return {bytes, length};
}

}  // namespace gradwalk::detail
