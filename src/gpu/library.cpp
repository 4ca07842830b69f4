// SPDX-License-Identifier: MIT
#include "library.hpp"

#include <dlfcn.h>

#include "gradwalk/error.hpp"

namespace gradwalk::gpu {

Library::Library(const char* call, const std::string& what, const std::vector<std::string>& names,
                 const std::string& advice)
    : call_(call) {
  std::string tried;
  for (const std::string& name : names) {
    handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    name_ = name;
    if (handle_ != nullptr) return;
    tried += (tried.empty() ? "" : ", ") + name;
  }
  throw Error(call, what, "none: tried " + tried, advice);
}

void* Library::symbol_or_null(const char* name) const { return dlsym(handle_, name); }

void* Library::symbol(const char* name) const {
  void* const found = symbol_or_null(name);
  if (found == nullptr)
    throw Error(call_, std::string("a library with ") + name, name_ + " without it", "install a newer version");
  return found;
}

}  // namespace gradwalk::gpu
