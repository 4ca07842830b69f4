// SPDX-License-Identifier: MIT
#include "drawing.hpp"

#ifndef GRADWALK_DRAW_LINKED
#include <dlfcn.h>

#include <string>

#include "gradwalk/error.hpp"
#endif

namespace gradwalk::cli {

#ifdef GRADWALK_DRAW_LINKED
const DrawCalls& draw_calls(const char*) { return gradwalk_draw_calls; }
#else
const DrawCalls& draw_calls(const char* command) {
  static const void* const calls = [] {
    void* const library = ::dlopen("libgradwalk-draw.so." GRADWALK_SOVERSION, RTLD_NOW);
    return library == nullptr ? nullptr : ::dlsym(library, "gradwalk_draw_calls");
  }();
  if (calls == nullptr) {
    const char* const reason = ::dlerror();
    throw Error(command, "the libraries of Graphviz, cairo and WebP to draw",
                reason == nullptr ? "none" : std::string(reason),
                "install them (Debian: libgvc6 libcairo2 libwebpmux3), or ask for text: .dot files and plots in the "
                "terminal need none");
  }
  return *static_cast<const DrawCalls*>(calls);
}
#endif

}  // namespace gradwalk::cli
