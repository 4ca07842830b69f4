// SPDX-License-Identifier: MIT
// Models to files, and elsewhere if need be.
#include "saving.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "gradwalk/error.hpp"

namespace gradwalk::cli {
namespace {

constexpr const char* recovery_name = "gradwalk-recovery.safetensors";

// A name in a new folder, where nobody else's file or link can be.
std::string rescue_place() {
  std::string folder = (std::filesystem::temp_directory_path() / "gradwalk-XXXXXX").string();
  return ::mkdtemp(folder.data()) == nullptr ? recovery_name : folder + "/" + recovery_name;
}

}  // namespace

void check_place(const std::string& path) {
  std::error_code error;
  const std::filesystem::path folder =
      std::filesystem::weakly_canonical(std::filesystem::absolute(path), error).parent_path();
  if (std::filesystem::is_directory(path, error))
    throw Error("train", "the name of a file", "the folder '" + path + "'", "give the name of a file in it");
  if (!std::filesystem::is_directory(folder, error))
    throw Error("train", "a folder that is there", "'" + folder.string() + "'", "make it first, or save elsewhere");
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    throw Error("train", "a folder that may be written", "'" + folder.string() + "'",
                "check its permissions, or save elsewhere");
}

std::string recovery_place() {
  std::string name = recovery_name;
  for (int i = 2; std::filesystem::exists(name) && i < 1000; ++i)
    name = fmt::format("gradwalk-recovery-{}.safetensors", i);
  return name;
}

void save(const Job& job, const TrainingRun& run, const std::string& path) {
  const DataSource source{job.source.to_json(job.seed), fingerprint(job.data.train)};
  try {
    save_model(path, run, job.steps, source);
  } catch (const Error& error) {
    const std::string rescue = rescue_place();
    try {
      save_model(rescue, run, job.steps, source);
    } catch (const Error&) {
      std::filesystem::remove(std::filesystem::path(rescue).parent_path());  // if we made it: it is empty
      throw error;  // the place that was asked for is the one to mend
    }
    throw Error("train", "a place to save the model", std::string("none (") + error.what() + ")",
                "it is in '" + rescue + "': move it where you want it");
  }
}

}  // namespace gradwalk::cli
