// SPDX-License-Identifier: MIT
// gradwalk::mpi, loaded at run time. Only mpi_library.cpp loads it; no_mpi.cpp is for systems where it cannot be built.
#pragma once

#include <cstddef>
#include <string>

#include "gradwalk/mpi.hpp"

namespace gradwalk::cli {

// Returns the functions of the component, or nullptr with the reason.
const MpiCalls* load_mpi(std::string& reason);

}  // namespace gradwalk::cli
