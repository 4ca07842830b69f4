// SPDX-License-Identifier: MIT
#include "mpi_library.hpp"

#include <dlfcn.h>

namespace gradwalk::cli {

const MpiCalls* load_mpi(std::string& reason) {
  // Global, because MPI's own plug-ins need its symbols.
  void* const library = ::dlopen("libgradwalk-mpi.so." GRADWALK_SOVERSION, RTLD_NOW | RTLD_GLOBAL);
  const void* const calls = library == nullptr ? nullptr : ::dlsym(library, "gradwalk_mpi_calls");
  if (calls == nullptr) reason = ::dlerror();
  return static_cast<const MpiCalls*>(calls);
}

}  // namespace gradwalk::cli
