// SPDX-License-Identifier: MIT
// Bindings for training: losses, optimizers, synthetic data, and parameters in files.
#include <algorithm>
#include <string>
#include <variant>

#include "given.hpp"
#include "gradwalk/data.hpp"
#include "gradwalk/loss.hpp"
#include "gradwalk/optim.hpp"
#include "gradwalk/safetensors.hpp"

namespace gradwalk::python {
namespace {

using Values = std::vector<Value>;
using Doubles = std::vector<double>;

// Binds a loss in two forms: of one row, and of a batch, which returns the mean. Sequences are batches.
template <class OfRow, class OfBatch>
void bind_loss(py::module_& module, const char* name, OfRow of_row, OfBatch of_batch, const char* description) {
  module.def(name, of_batch, py::arg("outputs"), py::arg("targets"), py::call_guard<Entered>(), description);
  module.def(name, of_row, py::arg("output"), py::arg("target"), py::call_guard<Entered>());
}

void bind_losses(py::module_& module) {
  bind_loss(
      module, "mean_squared_error", [](const Value& y, const Value& t) { return mean_squared_error(y, t); },
      [](const Values& y, const Doubles& t) { return mean_squared_error(y, t); },
      "Returns (output - target) ** 2, or its mean over a batch.\n\n>>> mean_squared_error(Value(3.0), 1)\n"
      "Value(data=4, grad=0)");
  bind_loss(
      module, "mean_absolute_error", [](const Value& y, const Value& t) { return mean_absolute_error(y, t); },
      [](const Values& y, const Doubles& t) { return mean_absolute_error(y, t); },
      "Returns |output - target|, or its mean over a batch.");
  bind_loss(
      module, "huber", [](const Value& y, const Value& t) { return huber(y, t); },
      [](const Values& y, const Doubles& t) { return huber(y, t); },
      "Returns the Huber loss, or its mean over a batch. With e = |output - target|, it is e ** 2 / 2 up to e = 1, and "
      "e - 1/2 above.");
  bind_loss(
      module, "hinge", [](const Value& y, const Value& t) { return hinge(y, t); },
      [](const Values& y, const Doubles& t) { return hinge(y, t); },
      "Returns the max-margin loss relu(1 - target * output), or its mean over a batch. Targets are 1 or -1.");
  bind_loss(
      module, "binary_cross_entropy", [](const Value& y, const Value& t) { return binary_cross_entropy(y, t); },
      [](const Values& y, const Doubles& t) { return binary_cross_entropy(y, t); },
      "Returns -log of the probability that sigmoid(output) gives to the target, or its mean over a batch. Targets are "
      "0 or 1.");
  module.def(
      "softmax_cross_entropy",
      [](const std::vector<Values>& scores, const std::vector<std::size_t>& labels) {
        return softmax_cross_entropy(scores, labels);
      },
      py::arg("scores"), py::arg("labels"), py::call_guard<Entered>(),
      "Returns -log of the probability that softmax(scores) gives to the class of the label, or its mean over a "
      "batch.");
  module.def(
      "softmax_cross_entropy",
      [](const Values& scores, std::size_t label) { return softmax_cross_entropy(scores, label); }, py::arg("scores"),
      py::arg("label"), py::call_guard<Entered>());
  module.def(
      "softmax_cross_entropy",
      [](const Values& scores, const Value& label) { return softmax_cross_entropy(scores, label); }, py::arg("scores"),
      py::arg("label"), py::call_guard<Entered>());
  module.def(
      "l1_penalty",
      [](const py::object& parameters) { return l1_penalty(values_given(parameters, "l1_penalty", "Values")); },
      py::arg("parameters"), py::call_guard<Entered>(), "Returns the sum of the absolute values.");
  module.def(
      "l2_penalty",
      [](const py::object& parameters) { return l2_penalty(values_given(parameters, "l2_penalty", "Values")); },
      py::arg("parameters"), py::call_guard<Entered>(), "Returns the sum of the squares.");
}

void bind_optimizers(py::module_& module) {
  py::class_<SGD>(module, "SGD",
                  "Stochastic gradient descent: g = grad + weight_decay * p; v = momentum * v + g; p -= lr * v")
      .def(py::init([](double lr, double momentum, double weight_decay) { return SGD{lr, momentum, weight_decay}; }),
           py::arg("lr") = SGD{}.lr, py::arg("momentum") = SGD{}.momentum, py::arg("weight_decay") = SGD{}.weight_decay)
      .def_readwrite("lr", &SGD::lr, "The learning rate.")
      .def("__reduce__",
           [](const py::object& self) {
             const auto& c = self.cast<const SGD&>();
             return py::make_tuple(py::type::of(self), py::make_tuple(c.lr, c.momentum, c.weight_decay));
           })
      .def_readwrite("momentum", &SGD::momentum, "The momentum.")
      .def_readwrite("weight_decay", &SGD::weight_decay, "The weight decay.");
  py::class_<Adam>(module, "Adam", "Adam, with the formulas of PyTorch.")
      .def(py::init(
               [](double lr, double beta1, double beta2, double epsilon) { return Adam{lr, beta1, beta2, epsilon}; }),
           py::arg("lr") = Adam{}.lr, py::arg("beta1") = Adam{}.beta1, py::arg("beta2") = Adam{}.beta2,
           py::arg("epsilon") = Adam{}.epsilon)
      .def_readwrite("lr", &Adam::lr, "The learning rate.")
      .def_readwrite("beta1", &Adam::beta1, "The decay of the mean of gradients.")
      .def_readwrite("beta2", &Adam::beta2, "The decay of the mean of squares.")
      .def_readwrite("epsilon", &Adam::epsilon, "Added to the root of the mean of squares.")
      .def("__reduce__", [](const py::object& self) {
        const auto& c = self.cast<const Adam&>();
        return py::make_tuple(py::type::of(self), py::make_tuple(c.lr, c.beta1, c.beta2, c.epsilon));
      });
  py::class_<AdamW>(module, "AdamW", "AdamW: p *= 1 - lr * weight_decay, then a step of Adam.")
      .def(py::init([](double lr, double beta1, double beta2, double epsilon, double weight_decay) {
             return AdamW{lr, beta1, beta2, epsilon, weight_decay};
           }),
           py::arg("lr") = AdamW{}.lr, py::arg("beta1") = AdamW{}.beta1, py::arg("beta2") = AdamW{}.beta2,
           py::arg("epsilon") = AdamW{}.epsilon, py::arg("weight_decay") = AdamW{}.weight_decay)
      .def_readwrite("lr", &AdamW::lr, "The learning rate.")
      .def_readwrite("beta1", &AdamW::beta1, "The decay of the mean of gradients.")
      .def_readwrite("beta2", &AdamW::beta2, "The decay of the mean of squares.")
      .def_readwrite("epsilon", &AdamW::epsilon, "Added to the root of the mean of squares.")
      .def_readwrite("weight_decay", &AdamW::weight_decay, "The weight decay.")
      .def("__reduce__", [](const py::object& self) {
        const auto& c = self.cast<const AdamW&>();
        return py::make_tuple(py::type::of(self), py::make_tuple(c.lr, c.beta1, c.beta2, c.epsilon, c.weight_decay));
      });

  py::class_<RMSprop>(module, "RMSprop",
                      "RMSprop: v = alpha * v + (1 - alpha) * grad ** 2; p -= lr * grad / (sqrt(v) + epsilon)")
      .def(py::init([](double lr, double alpha, double epsilon) { return RMSprop{lr, alpha, epsilon}; }),
           py::arg("lr") = RMSprop{}.lr, py::arg("alpha") = RMSprop{}.alpha, py::arg("epsilon") = RMSprop{}.epsilon)
      .def_readwrite("lr", &RMSprop::lr, "The learning rate.")
      .def_readwrite("alpha", &RMSprop::alpha, "The decay of the mean of squares.")
      .def_readwrite("epsilon", &RMSprop::epsilon, "Added to the root of the mean of squares.")
      .def("__reduce__", [](const py::object& self) {
        const auto& c = self.cast<const RMSprop&>();
        return py::make_tuple(py::type::of(self), py::make_tuple(c.lr, c.alpha, c.epsilon));
      });
  py::class_<Adagrad>(module, "Adagrad", "Adagrad: v += grad ** 2; p -= lr * grad / (sqrt(v) + epsilon)")
      .def(py::init([](double lr, double epsilon) { return Adagrad{lr, epsilon}; }), py::arg("lr") = Adagrad{}.lr,
           py::arg("epsilon") = Adagrad{}.epsilon)
      .def_readwrite("lr", &Adagrad::lr, "The learning rate.")
      .def_readwrite("epsilon", &Adagrad::epsilon, "Added to the root of the mean of squares.")
      .def("__reduce__", [](const py::object& self) {
        const auto& c = self.cast<const Adagrad&>();
        return py::make_tuple(py::type::of(self), py::make_tuple(c.lr, c.epsilon));
      });

  py::class_<Optimizer>(module, "Optimizer",
                        "Updates parameters by their gradients. config is SGD(), Adam() or another rule.\n\n>>> p = "
                        "Value(1.0)\n>>> optimizer = Optimizer([p], "
                        "SGD(lr=0.1))\n>>> (p * p).backward()\n>>> optimizer.step()\n>>> p.data\n0.8")
      .def(py::init([](const py::object& parameters, const OptimizerConfig& config) {
             return Optimizer(values_given(parameters, "Optimizer", "parameters that are Values"), config);
           }),
           py::arg("parameters"), py::arg("config"), py::call_guard<Entered>())
      .def(
          "step", [](Optimizer& optimizer, std::optional<double> lr) { lr ? optimizer.step(*lr) : optimizer.step(); },
          py::arg("lr") = py::none(), py::call_guard<Entered>(),
          "Updates each parameter by its gradient, with this learning rate or that of the config.")
      .def("zero_grad", &Optimizer::zero_grad, py::call_guard<Entered>(), "Sets each gradient to 0.")
      .def(
          "state_dict",
          [](const Optimizer& optimizer) {
            using namespace py::literals;
            const OptimizerState& state = optimizer.state();
            return py::dict("steps"_a = state.steps, "first"_a = state.first, "second"_a = state.second);
          },
          "Returns the numbers that the optimizer keeps from step to step as a dict: steps, first and second moments.")
      .def(
          "load_state_dict",
          [](Optimizer& optimizer, const py::dict& state) {
            optimizer.set_state(optimizer_state(state, "Optimizer.load_state_dict"));
          },
          py::arg("state"), py::call_guard<Entered>(), "Continues from a dict of state_dict().")
      .def(
          "__reduce__",
          [](const py::object& self) {
            const auto& optimizer = self.cast<const Optimizer&>();
            return py::make_tuple(
                py::module_::import("gradwalk.nn").attr("_optimizer_with_state"),
                py::make_tuple(optimizer.parameters(), optimizer.config(), self.attr("state_dict")()));
          },
          py::call_guard<Entered>())
      .def_property_readonly("config", &Optimizer::config, "The rule and its settings.")
      .def_property_readonly("parameters", &Optimizer::parameters, py::call_guard<Entered>(), "The parameters.");
  module.def(
      "clip_gradient_norm",
      [](const py::object& parameters, double most) {
        return clip_gradient_norm(values_given(parameters, "clip_gradient_norm", "parameters that are Values"), most);
      },
      py::arg("parameters"), py::arg("most"), py::call_guard<Entered>(),
      "Scales the gradients down so that their norm is at most `most`. Returns the norm before scaling.");
}

py::tuple as_arrays(const Dataset& data) {
  const auto rows = static_cast<py::ssize_t>(data.rows()), columns = static_cast<py::ssize_t>(data.columns);
  py::array_t<double> x({rows, columns}, data.x.data());
  py::array_t<std::int64_t> y(rows);
  std::copy(data.labels.begin(), data.labels.end(), y.mutable_data());
  return py::make_tuple(std::move(x), std::move(y));
}

void bind_data(py::module_& module) {
  module.def(
      "make_moons",
      [](std::size_t n, double noise, std::uint64_t seed) { return as_arrays(make_moons(n, noise, seed)); },
      py::arg("n") = 100, py::arg("noise") = 0.1, py::arg("seed") = 1337,
      "Returns (X, y): points on two interleaving half circles, and their labels 0 and 1.");
  module.def(
      "make_circles",
      [](std::size_t n, double noise, double factor, std::uint64_t seed) {
        return as_arrays(make_circles(n, noise, factor, seed));
      },
      py::arg("n") = 100, py::arg("noise") = 0.1, py::arg("factor") = 0.5, py::arg("seed") = 1337,
      "Returns (X, y): points on a circle and on a smaller circle inside it, and their labels 0 and 1.");
  module.def(
      "make_spiral",
      [](std::size_t n, std::size_t classes, double noise, std::uint64_t seed) {
        return as_arrays(make_spiral(n, classes, noise, seed));
      },
      py::arg("n") = 100, py::arg("classes") = 3, py::arg("noise") = 0.1, py::arg("seed") = 1337,
      "Returns (X, y): points on spiral arms, one arm per class, and their labels.");
}

constexpr const char* tensor_name = "parameters";

void bind_files(py::module_& module) {
  module.def(
      "_save",
      [](const std::string& path, const py::object& given) {
        const Values parameters = values_given(given, "save", "parameters that are Values");
        Tensor tensor{tensor_name, {parameters.size()}, {}};
        for (const Value& parameter : parameters) tensor.data.push_back(parameter.data());
        SafetensorsFile{{std::move(tensor)}, {}}.write(path);
      },
      py::call_guard<Entered>());
  module.def(
      "_load",
      [](const std::string& path, const py::object& given) {
        Values parameters = values_given(given, "load", "parameters that are Values");
        const SafetensorsFile file = SafetensorsFile::read(path);
        const Tensor* const tensor = file.find(tensor_name);
        if (tensor == nullptr || tensor->data.size() != parameters.size())
          throw Error("load", "a file with " + std::to_string(parameters.size()) + " parameters",
                      tensor == nullptr ? "a file without parameters" : std::to_string(tensor->data.size()),
                      "load it into a model of the same sizes");
        for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].data() = tensor->data[i];
      },
      py::call_guard<Entered>());
}

}  // namespace

void bind_learning(py::module_& module) {
  bind_losses(module);
  bind_optimizers(module);
  bind_data(module);
  bind_files(module);
}

}  // namespace gradwalk::python
