// SPDX-License-Identifier: MIT
// Connects the processes that mpirun has started.
#include "together.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <optional>
#include <thread>

#include "gradwalk/error.hpp"
#include "mpi_library.hpp"

namespace gradwalk::cli {
namespace {

// Reads a number from an environment variable: Open MPI's name for it, or the name that MPICH and related
// implementations use. Returns `fallback` if neither is set.
std::size_t from_environment(const char* open_mpi, const char* other, std::size_t fallback) {
  for (const char* name : {open_mpi, other})
    if (const char* text = std::getenv(name)) return std::strtoul(text, nullptr, 10);
  return fallback;
}

std::size_t processes() { return from_environment("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", 1); }

const MpiCalls* loaded() {
  std::string reason;
  const MpiCalls* const calls = load_mpi(reason);
  const bool is_first_here = from_environment("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", 0) == 0;
  if (calls == nullptr && !is_first_here) throw CLI::RuntimeError(silent_status);
  if (calls == nullptr)
    throw Error("train", fmt::format("gradwalk::mpi, for the {} processes of mpirun", processes()),
                fmt::format("none ({})", reason),
                "install libopenmpi-dev (tools/setup mpi) and build gradwalk with -DGRADWALK_MPI=ON");
  return calls;
}

}  // namespace

bool is_first_process() { return from_environment("OMPI_COMM_WORLD_RANK", "PMI_RANK", 0) == 0; }

Together::Together() {
  if (processes() < 2) return;
  calls_ = loaded();
  team_ = calls_->join();
}

Together::~Together() {
  if (calls_ != nullptr) calls_->leave();
}

std::size_t Together::threads_each() const {
  if (is_alone()) return 0;
  const std::size_t here = from_environment("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", team_.size);
  return std::max<std::size_t>(1, std::thread::hardware_concurrency() / std::max<std::size_t>(1, here));
}

Team Together::team(const std::function<bool()>& is_to_stop) {
  if (is_alone()) return {};
  return {team_.size, team_.member, [this, is_to_stop](std::span<double> sums) {
            message_.assign(sums.begin(), sums.end());
            message_.push_back(is_to_stop() ? 1 : 0);
            team_.add_up(message_);
            has_stopped_ = message_.back() > 0;
            std::copy_n(message_.begin(), sums.size(), sums.begin());
          }};
}

// The speaker prints its message, and then all processes exit with its status. No process may exit before the message
// is printed, because mpirun kills the others as soon as one exits with an error.
void Together::fail(const std::exception_ptr& failure, std::size_t speaker) const {
  int status = 1;
  if (team_.member == speaker) {
    try {
      std::rethrow_exception(failure);
    } catch (const CLI::ParseError& error) {
      fmt::print(stderr, "{}\n", error.what());
      status = 2;
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}\n", error.what());
    }
  }
  std::vector<double> message{team_.member == speaker ? static_cast<double>(status) : 0.0};
  team_.add_up(message);
  throw CLI::RuntimeError(static_cast<int>(message[0]));
}

void Together::agree(const std::function<void()>& work) const {
  if (is_alone()) return work();
  std::exception_ptr failure;
  try {
    work();
  } catch (const std::exception&) {
    failure = std::current_exception();
  }
  std::vector<double> failed(team_.size);
  failed[team_.member] = failure ? 1 : 0;
  team_.add_up(failed);
  const auto first = std::find_if(failed.begin(), failed.end(), [](double flag) { return flag > 0; });
  if (first != failed.end()) fail(failure, static_cast<std::size_t>(first - failed.begin()));
}

void Together::run_steps(const std::function<void()>& steps) const {
  if (is_alone()) return steps();
  try {
    steps();
  } catch (const Error&) {
    fail(std::current_exception(), 0);
  } catch (const std::exception& error) {
    fmt::print(stderr, "process {}: {}\n", team_.member, error.what());
    calls_->abort(1);
  }
}

// Adds up the two 32-bit halves of the number, because their sums are exact in double.
void Together::need_same(std::uint64_t number) const {
  if (is_alone()) return;
  const double high = static_cast<double>(number >> 32), low = static_cast<double>(number & 0xffffffff);
  std::vector<double> sums{high, low};
  team_.add_up(sums);
  const auto size = static_cast<double>(team_.size);
  agree([&] {
    if (sums[0] != size * high || sums[1] != size * low)
      throw Error("train", "the same data in every process", "different data", "give every process the same file");
  });
}

}  // namespace gradwalk::cli
