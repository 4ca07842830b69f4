// SPDX-License-Identifier: MIT
#include "mpi_library.hpp"

namespace gradwalk::cli {

const MpiCalls* load_mpi(std::string& reason) {
  reason = "this build of the command line is without it";
  return nullptr;
}

}  // namespace gradwalk::cli
