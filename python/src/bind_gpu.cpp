// SPDX-License-Identifier: MIT
// Bindings of gradwalk::gpu. gradwalk/gpu.py has what users call. Arrays of other libraries that are on a device
// already come and go by DLPack (device_array.cpp) or by the interface that Numba defined (__cuda_array_interface__).
#include <memory>
#include <string>

#include "device_array.hpp"
#include "gradwalk/gpu.hpp"
#include "options.hpp"

namespace gradwalk::python {
namespace {

gpu::RunOptions run_options(bool mean, std::uint64_t seed) { return {.mean = mean, .seed = seed}; }

// Rows of NumPy, or of anything that it converts. Floats are not widened on the way.
gpu::DeviceRows rows_of_host(const py::object& rows, std::uint64_t inputs, Precision precision, int device) {
  const Place place{"gpu.DeviceRows", "rows"};
  const auto copied = [&](const auto& array) {
    const std::size_t columns = columns_of(place.call, {array.shape(), array.shape() + array.ndim()}, inputs);
    const std::span numbers(array.data(), static_cast<std::size_t>(array.size()));
    const py::gil_scoped_release free;
    return gpu::DeviceRows(numbers, columns, precision, device);
  };
  using Floats = py::array_t<float, py::array::c_style>;
  if (py::isinstance<Floats>(rows)) return copied(py::cast<Floats>(rows));
  return copied(to_array(rows, place));
}

std::unique_ptr<gpu::DeviceRows> make_rows(const py::object& rows, std::uint64_t inputs, const std::string& name,
                                           int device) {
  const Precision precision = to_precision(name, "gpu.DeviceRows");
  if (std::optional<gpu::DeviceArray> array = device_array_of("gpu.DeviceRows", rows, inputs, device)) {
    if (array->device != device)
      throw Error("gpu.DeviceRows", "an array on device " + std::to_string(device),
                  "one on device " + std::to_string(array->device), "copy it, or choose its device");
    const py::gil_scoped_release free;
    return std::make_unique<gpu::DeviceRows>(*array, precision);
  }
  return std::make_unique<gpu::DeviceRows>(rows_of_host(rows, inputs, precision, device));
}

// A program, and the options that Python reads again.
struct GpuProgram {
  gpu::Program program;
  std::vector<Value> parameters;
  bool has_input_gradients;
};

std::unique_ptr<GpuProgram> make_program(const Nodes& outputs, const Nodes& inputs, const Nodes& parameters,
                                         const Nodes& normals, const Nodes& uniforms, const std::string& precision,
                                         const std::string& derivatives, const py::dict& given) {
  constexpr const char* call = "gpu.compile";
  static const auto table = OptionTable<gpu::Options>()
                                .add("exact", &gpu::Options::exact)
                                .add("input_gradients", &gpu::Options::input_gradients)
                                .add("ignore_comparisons", &gpu::Options::ignore_comparisons)
                                .add("device", &gpu::Options::device)
                                .add("cache", &gpu::Options::cache);
  gpu::Options options{.inputs = inputs,
                       .parameters = parameters,
                       .precision = to_precision(precision, call),
                       .derivatives = to_derivatives(derivatives, call),
                       .normals = normals,
                       .uniforms = uniforms};
  table.set(options, given, call);
  const WithoutLock free;
  return std::make_unique<GpuProgram>(gpu::compile(outputs.values, options), parameters.values,
                                      options.input_gradients);
}

py::tuple gradients(GpuProgram& self, const gpu::DeviceRows& rows, bool mean, const std::optional<Numbers>& parameters,
                    bool input_gradients, std::uint64_t seed) {
  py::array_t<double> result(static_cast<py::ssize_t>(self.parameters.size()));
  const std::size_t inputs = self.program.source().inputs;
  py::array_t<double> of_inputs({input_gradients ? rows.size() : 0, inputs});
  gpu::RunOptions options = run_options(mean, seed);
  if (input_gradients && !self.has_input_gradients)
    throw Error("gpu.Program.gradients", "a program with input gradients", "one without",
                "compile it with input_gradients=True");
  if (input_gradients) options.input_gradients = {of_inputs.mutable_data(), rows.size() * inputs};
  const std::span<double> to(result.mutable_data(), self.parameters.size());
  double value = 0;
  {
    const WithoutLock free;
    value = parameters ? self.program.gradients_at(*parameters, rows, to, options)
                       : self.program.gradients(rows, to, options);
  }
  if (input_gradients) return py::make_tuple(value, std::move(result), std::move(of_inputs));
  return py::make_tuple(value, std::move(result));
}

py::array_t<double> evaluate(GpuProgram& self, const gpu::DeviceRows& rows, std::uint64_t seed) {
  const std::size_t outputs = self.program.source().outputs;
  py::array_t<double> result({rows.size(), outputs});
  const std::span<double> to(result.mutable_data(), rows.size() * outputs);
  const WithoutLock free;
  self.program.evaluate(rows, to, seed);
  return result;
}

// Programs and Trainers hold Values, so their destructors need the tape.
struct EndOnTape {
  template <class T> void operator()(T* object) const {
    enter();
    delete object;
  }
};
using GpuTrainerPointer = std::unique_ptr<gpu::Trainer, EndOnTape>;

void bind_gpu_trainer(py::module_& module) {
  py::class_<gpu::Trainer, GpuTrainerPointer> bound(module, "_GpuTrainer", "Steps of an optimizer on a device.");
  define_init(bound, "_GpuTrainer(program, config, schedule)",
              [](const GpuProgram& given, const py::object& config, const py::object& schedule) {
                constexpr const char* call = "gpu.Trainer";
                const OptimizerConfig rule = to_config(config, {call, "config"});
                const Schedule rates = to_schedule(schedule, {call, "schedule"});
                enter();
                const WithoutLock free;
                return GpuTrainerPointer(new gpu::Trainer(given.program, rule, rates));
              });
  define(bound, "_GpuTrainer.step(self, rows, mean, first_row, batch, seed)", "gpu::Trainer::step().",
         [](gpu::Trainer& self, const gpu::DeviceRows& rows, bool mean, std::uint64_t first_row, std::uint64_t batch,
            std::uint64_t seed) {
           enter();
           const WithoutLock free;
           return self.step(rows, {.mean = mean, .first_row = first_row, .batch = batch, .seed = seed});
         });
  define(bound, "_GpuTrainer.make_steps(self, rows, count, mean, first_row, batch, seed)",
         "gpu::Trainer::make_steps().",
         [](gpu::Trainer& self, const gpu::DeviceRows& rows, std::uint64_t count, bool mean, std::uint64_t first_row,
            std::uint64_t batch, std::uint64_t seed) {
           enter();
           const WithoutLock free;
           return self.make_steps(rows, count, {.mean = mean, .first_row = first_row, .batch = batch, .seed = seed});
         });
  define(bound, "_GpuTrainer.clip_norm(self, most)", "gpu::Trainer::clip_norm().",
         [](gpu::Trainer& self, double most) { self.clip_norm(most); });
  define(bound, "_GpuTrainer.write_back(self)", "gpu::Trainer::write_back().", [](gpu::Trainer& self) {
    enter();
    self.write_back();
  });
  define(bound, "_GpuTrainer.read_again(self)", "gpu::Trainer::read_again().", [](gpu::Trainer& self) {
    enter();
    self.read_again();
  });
  define(bound, "_GpuTrainer.state_dict(self)", "gpu::Trainer::optimizer_state(), as a dict.",
         [](const gpu::Trainer& self) { return dict_of(self.optimizer_state()); });
  define(bound, "_GpuTrainer.load_state_dict(self, state)", "gpu::Trainer::set_optimizer_state().",
         [](gpu::Trainer& self, const OptimizerState& state) { self.set_optimizer_state(state); });
  property(bound, "steps", "The number of steps made so far.", [](const gpu::Trainer& self) { return self.steps(); });
}

void bind_rows(py::module_& module) {
  py::class_<gpu::DeviceArray> array(module, "_DeviceArray", "Numbers in the memory of a device.");
  property(array, "shape", "Rows and columns.", [](const gpu::DeviceArray& self) { return shape_of(self); });
  property(array, "precision", "'float32' or 'float64'.",
           [](const gpu::DeviceArray& self) { return std::string(name_of(self.precision)); });
  property(array, "device", "The number of its device.", [](const gpu::DeviceArray& self) { return self.device; });
  property(array, "interface", "The dict of __cuda_array_interface__.",
           [](const gpu::DeviceArray& self) { return cuda_array_interface(self); });
  define(array, "_DeviceArray.dlpack(self)", "A capsule of DLPack.",
         [](const gpu::DeviceArray& self) { return dlpack_capsule(self); });
  define(array, "_DeviceArray.numpy(self)", "A copy on the host.", [](const gpu::DeviceArray& self) {
    py::array_t<double> result({self.rows, self.columns});
    const std::span<double> to(result.mutable_data(), self.rows * self.columns);
    const py::gil_scoped_release free;
    gpu::read(self, to);
    return result;
  });
  py::class_<gpu::DeviceRows> rows(module, "_DeviceRows", "Rows in the memory of a device.");
  define_init(rows, "_DeviceRows(rows, inputs, precision, device)",
              [](const py::object& given, std::uint64_t inputs, const std::string& precision, int device) {
                return make_rows(given, inputs, precision, device);
              });
  define(module, "_gpu_rows_without_numbers(count, precision, device)", "gpu::DeviceRows::without_numbers().",
         [](std::uint64_t count, const std::string& precision, int device) {
           return std::make_unique<gpu::DeviceRows>(
               gpu::DeviceRows::without_numbers(count, to_precision(precision, "gpu.DeviceRows"), device));
         });
  property(rows, "size", "The number of rows.", [](const gpu::DeviceRows& self) { return self.size(); });
  property(rows, "inputs", "Numbers per row.", [](const gpu::DeviceRows& self) { return self.inputs(); });
  property(rows, "is_copy", "Whether they were copied.", [](const gpu::DeviceRows& self) { return self.is_copy(); });
}

}  // namespace

void bind_gpu(py::module_& module) {
  define(module, "_gpu_devices()", "gpu::devices(), as tuples.", [] {
    py::list made;
    for (const gpu::Device& one : gpu::devices())
      made.append(py::make_tuple(one.index, one.name, one.architecture, one.bytes));
    return made;
  });
  define(module, "_gpu_cache_folder()", "gpu::cache_folder().", [] { return gpu::cache_folder(); });
  define(module, "_random_numbers(distribution, precision, seed, row, count)", "random_numbers(), as an array.",
         [](const std::string& distribution, const std::string& precision, std::uint64_t seed, std::uint64_t row,
            std::uint64_t count) {
           constexpr const char* call = "gpu.random_numbers";
           if (distribution != "normal" && distribution != "uniform")
             throw Error(call, "distribution 'normal' or 'uniform'", "'" + distribution + "'", "choose one of them");
           py::array_t<double> made(static_cast<py::ssize_t>(count));
           random_numbers(distribution == "normal" ? Distribution::normal : Distribution::uniform,
                          to_precision(precision, call), seed, row, {made.mutable_data(), count});
           return made;
         });
  bind_rows(module);
  py::class_<GpuProgram, std::unique_ptr<GpuProgram, EndOnTape>> bound(module, "_GpuProgram",
                                                                       "A program for one device.");
  define_init(
      bound, "_GpuProgram(outputs, inputs, parameters, normals, uniforms, precision, derivatives, options)",
      [](const Nodes& outputs, const Nodes& inputs, const Nodes& parameters, const Nodes& normals,
         const Nodes& uniforms, const std::string& precision, const std::string& derivatives,
         const py::object& options) {
        return std::unique_ptr<GpuProgram, EndOnTape>(
            make_program(outputs, inputs, parameters, normals, uniforms, precision, derivatives, options).release());
      });
  define(bound, "_GpuProgram.run(self, rows, mean, seed)", "gpu::Program::run().",
         [](GpuProgram& self, const gpu::DeviceRows& rows, bool mean, std::uint64_t seed) {
           const WithoutLock free;
           return self.program.run(rows, run_options(mean, seed));
         });
  define(bound, "_GpuProgram.gradients(self, rows, mean, parameters, input_gradients, seed)",
         "gpu::Program::gradients().",
         [](GpuProgram& self, const gpu::DeviceRows& rows, bool mean, const std::optional<Numbers>& parameters,
            bool input_gradients,
            std::uint64_t seed) { return gradients(self, rows, mean, parameters, input_gradients, seed); });
  define(bound, "_GpuProgram.evaluate(self, rows, seed)", "gpu::Program::evaluate().",
         [](GpuProgram& self, const gpu::DeviceRows& rows, std::uint64_t seed) { return evaluate(self, rows, seed); });
  define(bound, "_GpuProgram.evaluate_on_device(self, rows, seed)", "gpu::Program::evaluate_on_device().",
         [](GpuProgram& self, const gpu::DeviceRows& rows, std::uint64_t seed) {
           const WithoutLock free;
           return self.program.evaluate_on_device(rows, seed);
         });
  property(bound, "source", "The kernels, as a dict.",
           [](const GpuProgram& self) { return dict_of(self.program.source()); });
  property(bound, "device_seconds", "Seconds of the last run.",
           [](const GpuProgram& self) { return self.program.device_seconds(); });
  bind_gpu_trainer(module);
}

}  // namespace gradwalk::python
