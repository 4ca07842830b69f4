// SPDX-License-Identifier: MIT
// Saves models. If the file cannot be written at the end, the model goes to a temporary folder, so that it is not lost.
#include "saving.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "gradwalk/error.hpp"
#include "system.hpp"

namespace gradwalk::cli {
namespace {

constexpr const char* recovery_name = "gradwalk-recovery.safetensors";

// A path in a new private folder, where no other user can have placed a file or a link.
std::string rescue_path() {
  const std::string folder = new_private_folder();
  return folder.empty() ? recovery_name : folder + "/" + recovery_name;
}

// A name in the current folder that no earlier recovery file has.
std::string recovery_path() {
  std::string name = recovery_name;
  for (int i = 2; std::filesystem::exists(name) && i < 1000; ++i)
    name = fmt::format("gradwalk-recovery-{}.safetensors", i);
  return name;
}

}  // namespace

void check_writable(const std::string& path) {
  std::error_code error;
  const std::filesystem::path folder =
      std::filesystem::weakly_canonical(std::filesystem::absolute(path), error).parent_path();
  if (std::filesystem::is_directory(path, error))
    throw Error("train", "the name of a file", "the folder '" + path + "'", "give the name of a file in it");
  if (!std::filesystem::is_directory(folder, error))
    throw Error("train", "a folder that exists", "'" + folder.string() + "'", "create it first, or save elsewhere");
  if (!may_write_to(folder.string()))
    throw Error("train", "a folder it may write to", "'" + folder.string() + "'",
                "check its permissions, or save elsewhere");
}

Keeper::Keeper(const Job& job, std::uint64_t every)
    : job_(job), every_(every), recovery_(job.save.empty() ? recovery_path() : job.save) {}

void Keeper::save(const TrainingRun& run, const std::string& path) {
  if (!source_) source_ = job_.data_source();
  save_model(path, run, job_.steps, *source_);
}

void Keeper::after_step(const TrainingRun& run) {
  if (every_ == 0 || run.steps() % every_ != 0) return;
  try {
    save(run, recovery_);
    has_recovery_ = true;
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
  }
}

std::string Keeper::at_the_end(const TrainingRun& run, bool is_unfinished) {
  const std::string path = is_unfinished ? recovery_ : job_.save;
  if (!path.empty()) save_somewhere(run, path);
  if (path != recovery_ && has_recovery_) std::filesystem::remove(recovery_);
  return path;
}

void Keeper::save_somewhere(const TrainingRun& run, const std::string& path) {
  try {
    save(run, path);
  } catch (const Error& error) {
    const std::string rescue = rescue_path();
    try {
      save(run, rescue);
    } catch (const Error&) {
      std::filesystem::remove(std::filesystem::path(rescue).parent_path());  // the new, empty folder
      throw error;                                                           // report the path that the user gave
    }
    throw Error("train", "a file it can save the model to", std::string("none (") + error.what() + ")",
                "the model is in '" + rescue + "': move it where you want it");
  }
}

}  // namespace gradwalk::cli
