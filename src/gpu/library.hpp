// SPDX-License-Identifier: MIT
// A library that is opened at run time.
#pragma once

#include <string>
#include <vector>

namespace gradwalk::gpu {

class Library {
 public:
  // Opens the first of these that exists. Throws an Error that lists all of them.
  Library(const char* call, const std::string& what, const std::vector<std::string>& names, const std::string& advice);
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  // Sets a pointer to a function of the library. Throws an Error if it has none of this name.
  template <class F> void find(F*& function, const char* name) const { function = reinterpret_cast<F*>(symbol(name)); }
  // The same, but sets the pointer to null if the library has none.
  template <class F> void look_for(F*& function, const char* name) const {
    function = reinterpret_cast<F*>(symbol_or_null(name));
  }

 private:
  void* symbol_or_null(const char* name) const;
  void* symbol(const char* name) const;
  const char* call_;
  std::string name_;
  void* handle_ = nullptr;  // stays open: the driver has threads of its own
};

}  // namespace gradwalk::gpu
