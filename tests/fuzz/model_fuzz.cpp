// SPDX-License-Identifier: MIT
// The fuzzer of model files. Any bytes give an Error that names the file, or a classifier that returns scores and whose
// training, if it has one, continues or throws an Error, in bounded memory. A wrong length of the header is corrected.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "allocations.hpp"
#include "gradwalk/error.hpp"
#include "gradwalk/model_file.hpp"

namespace {

using namespace gradwalk;

void expect(bool holds) {
  if (!holds) std::abort();
}

void fit_length(std::string& bytes) {
  if (bytes.size() < 10 || bytes[8] != '{') return;
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  const std::size_t end = bytes.rfind("}}");
  if (length <= bytes.size() - 8 || end == std::string::npos) return;
  length = end + 2 - 8;
  std::memcpy(bytes.data(), &length, 8);
}

ModelFile read(const std::string& bytes) {
  const fuzz::Allocations allocations;
  const std::size_t most = 64 * bytes.size() + 65536;
  try {
    ModelFile file = parse_model(bytes, "m");
    allocations.check(most);
    return file;
  } catch (const Error& error) {
    allocations.check(most);
    expect(std::string_view(error.what()).starts_with("m: needs "));
    throw;
  }
}

void use(ModelFile& file) {
  const std::vector<double> row(file.model().network.inputs(), 0.5), scores = file.model().scores(row);
  expect(scores.size() == file.model().network.outputs() && file.model().feature_names.size() == row.size());
  const bool is_number = is_regressor(file.any_model);
  if (is_number) {
    expect(scores.size() == 1);
    file.regressor().predict(row);
  } else {
    const std::size_t classes = file.classifier().label_names.size();
    expect((scores.size() == 1 ? 2 : scores.size()) == classes && Classifier::label_of(scores) < classes);
  }
  if (!file.run) return;
  static const Dataset moons = make_moons(6, 0.1, 1), line{1, {1, 2, 3}, {}, {"x"}, {}, {1, 4, 9}, "y"};
  const Dataset& data = is_number ? line : moons;
  file.run->source.fingerprint = fingerprint(data);
  TrainingRun run = resume(file, data);
  run.step();
  expect(run.steps() == file.run->state.steps + 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  fit_length(bytes);
  try {
    ModelFile file = read(bytes);
    use(file);
  } catch (const Error&) {
    return 0;
  }
  return 0;
}
