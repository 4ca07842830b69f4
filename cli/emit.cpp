// SPDX-License-Identifier: MIT
// gradwalk emit: writes a saved model as a C file.
#include <fmt/format.h>

#include <memory>
#include <variant>

#include "commands.hpp"
#include "emitting.hpp"
#include "gradwalk/error.hpp"
#include "gradwalk/files.hpp"
#include "gradwalk/model_file.hpp"
#ifdef GRADWALK_HAS_COMPILE
#include "gradwalk/emit_model.hpp"
#endif

namespace gradwalk::cli {
namespace {

struct EmitArguments {
  std::string model, output;
  bool is_float = false, step = false, main = false;
};

#ifdef GRADWALK_HAS_COMPILE

void emit_model(const EmitArguments& arguments) {
  check_c_name("emit", "-o", arguments.output);
  const ModelFile file = load_model(arguments.model);
  const EmitModelOptions options{.name = c_name(arguments.output),
                                 .precision = arguments.is_float ? Precision::float32 : Precision::float64,
                                 .step = arguments.step,
                                 .main = arguments.main};
  const std::string text = std::visit([&](const auto& model) { return emit_c(model, options); }, file.any_model);
  write_file(arguments.output, text);
  fmt::print("wrote {}: {} parameters\n", arguments.output, file.model().network.parameter_count());
}

#else

void emit_model(const EmitArguments&) {
  throw Error("emit", "gradwalk::compile", "a gradwalk built without it", "rebuild with -DGRADWALK_COMPILE=ON");
}

#endif

}  // namespace

void add_emit(CLI::App& app) {
  const auto arguments = std::make_shared<EmitArguments>();
  CLI::App* command = app.add_subcommand("emit", "Write a saved model as a C file");
  command->add_option("model", arguments->model, "File that train --save wrote")->required()->option_text("FILE");
  command
      ->add_option("-o,--output", arguments->output, "C file to write. Its name is the first part of every name in it")
      ->required()
      ->option_text("FILE");
  command->add_flag("--float", arguments->is_float, "Compute in float instead of double");
  command->add_flag("--train-step", arguments->step,
                    "Add a step of stochastic gradient descent, for training on a device");
  command->add_flag("--main", arguments->main, "Add a main() that reads rows and prints predictions");
  command->footer(
      "Examples:\n"
      "  gradwalk train moons --save moons.safetensors\n"
      "  gradwalk emit moons.safetensors -o moons.c --float --main\n"
      "\n"
      "docs/emit-c.md describes the functions of the file.");
  command->callback([arguments] { emit_model(*arguments); });
}

}  // namespace gradwalk::cli
