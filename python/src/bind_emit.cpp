// SPDX-License-Identifier: MIT
// Bindings of emit_c() and emit_cuda(). gradwalk/_emit.py has what users call.
#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "gradwalk/emit.hpp"
#include "gradwalk/emit_cuda.hpp"
#include "gradwalk/emit_model.hpp"
#include "gradwalk/model_file.hpp"
#include "options.hpp"

namespace gradwalk::python {
namespace {

const OptionTable<EmitOptions>& emit_table() {
  static const auto table = OptionTable<EmitOptions>()
                                .add("name", &EmitOptions::name)
                                .add("gradient", &EmitOptions::gradient)
                                .add("input_gradients", &EmitOptions::input_gradients)
                                .add("rows", &EmitOptions::rows)
                                .add("step", &EmitOptions::step)
                                .add("jacobian", &EmitOptions::jacobian)
                                .add("hessian", &EmitOptions::hessian)
                                .add("sparse", &EmitOptions::sparse)
                                .add("guard_zeros", &EmitOptions::guard_zeros)
                                .add("parameter_values", &EmitOptions::parameter_values)
                                .add("main", &EmitOptions::main)
                                .add("straight", &EmitOptions::straight)
                                .add("max_bytes", &EmitOptions::max_bytes)
                                .add("about", &EmitOptions::about)
                                .add("ignore_comparisons", &EmitOptions::ignore_comparisons);
  return table;
}

const OptionTable<EmitModelOptions>& model_table() {
  static const auto table = OptionTable<EmitModelOptions>()
                                .add("name", &EmitModelOptions::name)
                                .add("step", &EmitModelOptions::step)
                                .add("main", &EmitModelOptions::main);
  return table;
}

const OptionTable<CudaOptions>& cuda_table() {
  static const auto table = OptionTable<CudaOptions>()
                                .add("name", &CudaOptions::name)
                                .add("exact", &CudaOptions::exact)
                                .add("input_gradients", &CudaOptions::input_gradients)
                                .add("guard_zeros", &CudaOptions::guard_zeros)
                                .add("loops", &CudaOptions::loops)
                                .add("ignore_comparisons", &CudaOptions::ignore_comparisons);
  return table;
}

py::tuple tuple_of(const CFiles& files) { return py::make_tuple(files.name, files.source, files.header); }

EmitModelOptions model_options(const std::string& precision, const py::dict& given) {
  EmitModelOptions options;
  model_table().set(options, given, "emit_c");
  options.precision = to_precision(precision, "emit_c");
  return options;
}

// A network of scikit-learn's form: its sizes, from inputs to outputs, and its parameters neuron by neuron.
MLP network_of(const std::vector<std::uint64_t>& sizes, const std::string& activation, const Numbers& parameters) {
  const auto* const found = std::ranges::find(all_activations, activation, [](Activation one) { return name(one); });
  if (found == all_activations.end())
    throw Error("emit_c", "an activation that models can have", "'" + activation + "'", "give the graph itself");
  const MLP network(sizes[0], std::vector<std::size_t>(sizes.begin() + 1, sizes.end()), {.activation = *found});
  std::vector<Value> values = network.parameters();
  if (values.size() != parameters.size())
    throw Error("emit_c", std::to_string(values.size()) + " parameters", std::to_string(parameters.size()),
                "give one number per weight and bias");
  for (std::size_t i = 0; i < values.size(); ++i) values[i].data() = parameters[i];
  return network;
}

}  // namespace

CudaOptions::Derivatives to_derivatives(const std::string& name, const char* call) {
  using enum CudaOptions::Derivatives;
  for (const auto& [text, kind] : {std::pair{"automatic", automatic}, {"tangents", tangents}, {"reverse", reverse}})
    if (name == text) return kind;
  throw Error(call, "derivatives 'automatic', 'tangents' or 'reverse'", "'" + name + "'", "choose one of them");
}

py::dict dict_of(const CudaSource& source) {
  using namespace py::literals;
  return py::dict("name"_a = source.name, "text"_a = source.text,
                  "precision"_a = source.precision == Precision::float32 ? "float32" : "float64",
                  "inputs"_a = source.inputs, "parameters"_a = source.parameters, "outputs"_a = source.outputs,
                  "fronts"_a = source.fronts, "has_uniform"_a = source.has_uniform,
                  "has_input_gradients"_a = source.has_input_gradients, "sums"_a = source.sums,
                  "most_blocks"_a = source.most_blocks, "about"_a = source.about, "normals"_a = source.normals,
                  "uniforms"_a = source.uniforms);
}

void bind_emit(py::module_& module) {
  define(module, "_emit_c(outputs, inputs, parameters, precision, options)",
         "emit_c_files() of a graph: name, source and header.",
         [](const Nodes& outputs, const Nodes& inputs, const Nodes& parameters, const std::string& precision,
            const py::object& given) {
           EmitOptions options{
               .inputs = inputs, .parameters = parameters, .precision = to_precision(precision, "emit_c")};
           emit_table().set(options, given, "emit_c");
           return tuple_of(emit_c_files(outputs.values, options));
         });
  define(
      module, "_emit_classifier(sizes, activation, parameters, features, classes, precision, options)",
      "emit_c_files() of a classifier.",
      [](const py::object& sizes, const std::string& activation, const Numbers& parameters, const py::object& features,
         const py::object& classes, const std::string& precision, const py::object& given) {
        const auto counts = sizes.cast<std::vector<std::uint64_t>>();
        Classifier model{{.network = network_of(counts, activation, parameters),
                          .loss = counts.back() == 1 ? LossKind::bce : LossKind::softmax,
                          .feature_names = features.cast<std::vector<std::string>>(),
                          .standardisation = {}},
                         classes.cast<std::vector<std::string>>()};
        return tuple_of(emit_c_files(model, model_options(precision, given)));
      });
  define(module, "_emit_regressor(sizes, activation, parameters, features, precision, options)",
         "emit_c_files() of a regressor.",
         [](const py::object& sizes, const std::string& activation, const Numbers& parameters,
            const py::object& features, const std::string& precision, const py::object& given) {
           Regressor model{{.network = network_of(sizes.cast<std::vector<std::uint64_t>>(), activation, parameters),
                            .loss = LossKind::mse,
                            .feature_names = features.cast<std::vector<std::string>>(),
                            .standardisation = {}},
                           "y"};
           return tuple_of(emit_c_files(model, model_options(precision, given)));
         });
  define(module, "_emit_file(path, precision, options)", "emit_c_files() of the model in a file.",
         [](const std::string& path, const std::string& precision, const py::object& given) {
           const EmitModelOptions options = model_options(precision, given);
           const ModelFile file = load_model(path);
           return tuple_of(std::visit([&](const auto& model) { return emit_c_files(model, options); }, file.any_model));
         });
  define(
      module, "_emit_cuda(outputs, inputs, parameters, normals, uniforms, precision, derivatives, options)",
      "emit_cuda() of a graph, as a dict.",
      [](const Nodes& outputs, const Nodes& inputs, const Nodes& parameters, const Nodes& normals,
         const Nodes& uniforms, const std::string& precision, const std::string& derivatives, const py::object& given) {
        CudaOptions options{.inputs = inputs,
                            .parameters = parameters,
                            .precision = to_precision(precision, "emit_cuda"),
                            .derivatives = to_derivatives(derivatives, "emit_cuda"),
                            .normals = normals,
                            .uniforms = uniforms};
        cuda_table().set(options, given, "emit_cuda");
        return dict_of(emit_cuda(outputs.values, options));
      });
}

}  // namespace gradwalk::python
