// SPDX-License-Identifier: MIT
// Bindings for training: losses, optimizers, synthetic data, and parameters in files.
#include <algorithm>
#include <string>

#include "convert.hpp"
#include "gradwalk/data.hpp"
#include "gradwalk/loss.hpp"
#include "gradwalk/optim.hpp"
#include "gradwalk/safetensors.hpp"

namespace gradwalk::python {
namespace {

using Values = std::vector<Value>;

// Whether an argument of a loss is a batch: a list, an array or anything else with items.
bool is_batch(const py::object& object) {
  return !is_value(object.ptr()) && PySequence_Check(object.ptr()) != 0 && PyUnicode_Check(object.ptr()) == 0;
}

// Binds a loss in two forms: of one row, and of a batch, which returns the mean.
template <class OfRow, class OfBatch>
void bind_loss(py::module_& module, const std::string& name, OfRow of_row, OfBatch of_batch, const char* description) {
  define(module, name + "(output, target)", description,
         [=](const py::object& output, const py::object& target) -> Value {
           if (is_batch(output)) {
             const Values outputs = to_values(output, {name, "output"});
             const Numbers targets = to_numbers(target, {name, "target"});
             enter();
             return of_batch(outputs, targets);
           }
           const Value y = to_value(output, {name, "output"}), t = to_value(target, {name, "target"});
           enter();
           return of_row(y, t);
         });
}

Value cross_entropy(const py::object& scores, const py::object& label) {
  constexpr const char* call = "softmax_cross_entropy";
  if (is_batch(label)) {
    std::vector<Values> rows;
    std::vector<std::size_t> labels;
    for (const py::object& row : to_items(scores, {call, "scores"}, "a list of rows"))
      rows.push_back(to_values(row, {call, "scores"}));
    for (const py::object& item : to_items(label, {call, "label"}, "a list of labels"))
      labels.push_back(to_count(item, {call, "label"}));
    enter();
    return softmax_cross_entropy(rows, labels);
  }
  const Values row = to_values(scores, {call, "scores"});
  if (is_value(label.ptr())) {
    const Value node = to_node(label, {call, "label"});
    enter();
    return softmax_cross_entropy(row, node);
  }
  const std::uint64_t number = to_count(label, {call, "label"});
  enter();
  return softmax_cross_entropy(row, static_cast<std::size_t>(number));
}

void bind_losses(py::module_& module) {
  bind_loss(
      module, "mean_squared_error", [](const Value& y, const Value& t) { return mean_squared_error(y, t); },
      [](const Values& y, const Numbers& t) { return mean_squared_error(y, t); },
      "Returns (output - target) ** 2, or its mean over a batch: a list of outputs and one of targets.\n\n>>> "
      "mean_squared_error(Value(3.0), 1)\nValue(data=4, grad=0)\n>>> mean_squared_error([Value(3.0), Value(1.0)], [1, "
      "1])\nValue(data=2, grad=0)");
  bind_loss(
      module, "mean_absolute_error", [](const Value& y, const Value& t) { return mean_absolute_error(y, t); },
      [](const Values& y, const Numbers& t) { return mean_absolute_error(y, t); },
      "Returns |output - target|, or its mean over a batch.\n\n>>> mean_absolute_error(Value(3.0), 1)\nValue(data=2, "
      "grad=0)");
  bind_loss(
      module, "huber", [](const Value& y, const Value& t) { return huber(y, t); },
      [](const Values& y, const Numbers& t) { return huber(y, t); },
      "Returns the Huber loss, or its mean over a batch. With e = |output - target|, it is e ** 2 / 2 up to e = 1, and "
      "e - 1/2 above.\n\n>>> huber(Value(3.0), 1)\nValue(data=1.5, grad=0)");
  bind_loss(
      module, "hinge", [](const Value& y, const Value& t) { return hinge(y, t); },
      [](const Values& y, const Numbers& t) { return hinge(y, t); },
      "Returns the max-margin loss relu(1 - target * output), or its mean over a batch. Targets are 1 or -1.\n\n>>> "
      "hinge(Value(0.25), 1)\nValue(data=0.75, grad=0)");
  bind_loss(
      module, "binary_cross_entropy", [](const Value& y, const Value& t) { return binary_cross_entropy(y, t); },
      [](const Values& y, const Numbers& t) { return binary_cross_entropy(y, t); },
      "Returns -log of the probability that sigmoid(output) gives to the target, or its mean over a batch. Targets are "
      "0 or 1.\n\n>>> binary_cross_entropy(Value(0.0), 1)\nValue(data=0.6931471805599453, grad=0)");
  define(
      module, "softmax_cross_entropy(scores, label)",
      "Returns -log of the probability that softmax(scores) gives to the class of the label, or its mean over a "
      "batch: a list of rows of scores, and a list of labels.\n\n>>> softmax_cross_entropy([Value(0.0), Value(0.0)], "
      "1)\nValue(data=0.6931471805599453, grad=0)",
      [](const py::object& scores, const py::object& label) { return cross_entropy(scores, label); });
  define(module, "l1_penalty(parameters)",
         "Returns the sum of the absolute values.\n\n>>> l1_penalty([Value(1.0), Value(-2.0)])\nValue(data=3, grad=0)",
         [](const Nodes& parameters) { return l1_penalty(parameters.values); });
  define(module, "l2_penalty(parameters)",
         "Returns the sum of the squares.\n\n>>> l2_penalty([Value(1.0), Value(-2.0)])\nValue(data=5, grad=0)",
         [](const Nodes& parameters) { return l2_penalty(parameters.values); });
}

// Binds a rule with its settings, which are the arguments of its constructor, in order.
template <class Rule> struct Setting {
  const char* name;
  double Rule::* member;
  const char* text;
};
template <class Rule> void bind_rule(py::module_& module, const std::string& name, const char* text,
                                     const std::vector<Setting<Rule>>& settings) {
  py::class_<Rule> bound(module, name.c_str(), text);
  std::string signature = name + "(";
  for (const Setting<Rule>& setting : settings)
    signature += std::string(signature.back() == '(' ? "" : ", ") + setting.name + "=" +
                 std::string(py::str(py::float_(Rule{}.*setting.member)));
  const auto make = [settings, parsed = Signature(signature + ")")](const py::args& arguments,
                                                                    const py::kwargs& keywords) {
    const std::vector<py::object> given = parsed.match(arguments, keywords);
    Rule rule;
    for (std::size_t i = 0; i < settings.size(); ++i) rule.*settings[i].member = to_double(given[i], parsed.place(i));
    return rule;
  };
  py::options options;
  options.disable_function_signatures();
  bound.def(py::init(make), doc_with("__init__(self, " + signature.substr(name.size() + 1) + ")", "Makes it.").c_str());
  for (const Setting<Rule>& setting : settings) field(bound, setting.name, setting.member, setting.text);
  define(bound, name + ".__reduce__(self)", "Pickles the rule by its settings.",
         [settings, name](const py::object& self) {
           const Rule& rule = Convert<Rule>::from(self, {name, "self"});
           py::list numbers;
           for (const Setting<Rule>& setting : settings) numbers.append(rule.*setting.member);
           return py::make_tuple(py::type::of(self), py::tuple(numbers));
         });
}

void bind_rules(py::module_& module) {
  constexpr const char *lr = "The learning rate.", *beta1 = "The decay of the mean of gradients.",
                       *beta2 = "The decay of the mean of squares.",
                       *epsilon = "Added to the root of the mean of squares.", *weight_decay = "The weight decay.";
  bind_rule<SGD>(module, "SGD",
                 "Stochastic gradient descent: g = grad + weight_decay * p; v = momentum * v + g; p -= lr * v\n\n>>> "
                 "SGD(lr=0.1).momentum\n0.0",
                 {{"lr", &SGD::lr, lr},
                  {"momentum", &SGD::momentum, "The momentum."},
                  {"weight_decay", &SGD::weight_decay, weight_decay}});
  bind_rule<Adam>(module, "Adam", "Adam, with the formulas of PyTorch.\n\n>>> Adam(lr=0.1).beta2\n0.999",
                  {{"lr", &Adam::lr, lr},
                   {"beta1", &Adam::beta1, beta1},
                   {"beta2", &Adam::beta2, beta2},
                   {"epsilon", &Adam::epsilon, epsilon}});
  bind_rule<AdamW>(module, "AdamW",
                   "AdamW: p *= 1 - lr * weight_decay, then a step of Adam.\n\n>>> AdamW(lr=0.1).weight_decay\n0.01",
                   {{"lr", &AdamW::lr, lr},
                    {"beta1", &AdamW::beta1, beta1},
                    {"beta2", &AdamW::beta2, beta2},
                    {"epsilon", &AdamW::epsilon, epsilon},
                    {"weight_decay", &AdamW::weight_decay, weight_decay}});
  bind_rule<RMSprop>(
      module, "RMSprop",
      "RMSprop: v = alpha * v + (1 - alpha) * grad ** 2; p -= lr * grad / (sqrt(v) + epsilon)\n\n>>> "
      "RMSprop(lr=0.1).alpha\n0.99",
      {{"lr", &RMSprop::lr, lr}, {"alpha", &RMSprop::alpha, beta2}, {"epsilon", &RMSprop::epsilon, epsilon}});
  bind_rule<Adagrad>(module, "Adagrad",
                     "Adagrad: v += grad ** 2; p -= lr * grad / (sqrt(v) + epsilon)\n\n>>> Adagrad(lr=0.1).epsilon\n"
                     "1e-10",
                     {{"lr", &Adagrad::lr, lr}, {"epsilon", &Adagrad::epsilon, epsilon}});
}

void bind_optimizers(py::module_& module) {
  const std::string with_optimizer = "\n\n>>> p = Value(1.0)\n>>> optimizer = Optimizer([p], SGD(lr=0.1))\n>>> ";
  py::class_<Optimizer> bound(
      module, "Optimizer",
      "Updates parameters by their gradients. config is SGD(), Adam() or another rule.\n\n>>> p "
      "= Value(1.0)\n>>> optimizer = Optimizer([p], SGD(lr=0.1))\n>>> (p * p).backward()\n>>> "
      "optimizer.step()\n>>> p.data\n0.8");
  define_init(bound, "Optimizer(parameters, config)", [](const Nodes& parameters, const OptimizerConfig& config) {
    return Optimizer(parameters.values, config);
  });
  define(bound, "Optimizer.step(self, lr=None)",
         "Updates each parameter by its gradient, with this learning rate or that of the config." + with_optimizer +
             "p.grad = 2\n>>> optimizer.step()\n>>> p.data\n0.8",
         [](Optimizer& self, const std::optional<double>& lr) { lr ? self.step(*lr) : self.step(); });
  define(bound, "Optimizer.zero_grad(self)",
         "Sets each gradient to 0." + with_optimizer + "p.grad = 2\n>>> optimizer.zero_grad()\n>>> p.grad\n0.0",
         [](Optimizer& self) { self.zero_grad(); });
  define(bound, "Optimizer.state_dict(self)",
         "Returns the numbers that the optimizer keeps from step to step as a dict: steps, first and second moments." +
             with_optimizer + "optimizer.state_dict()\n{'steps': 0, 'first': [], 'second': []}",
         [](const Optimizer& self) { return dict_of(self.state()); });
  define(
      bound, "Optimizer.load_state_dict(self, state)",
      "Continues from a dict of state_dict()." + with_optimizer + "optimizer.load_state_dict(optimizer.state_dict())",
      [](Optimizer& self, const OptimizerState& state) { self.set_state(state); });
  define(bound, "Optimizer.__reduce__(self)", "Pickles the optimizer with its parameters.", [](const py::object& self) {
    const Optimizer& optimizer = Convert<Optimizer>::from(self, {"pickle", "self"});
    return py::make_tuple(py::module_::import("gradwalk.nn").attr("_optimizer_with_state"),
                          py::make_tuple(optimizer.parameters(), optimizer.config(), dict_of(optimizer.state())));
  });
  property(bound, "config", "The rule and its settings." + with_optimizer + "optimizer.config.lr\n0.1",
           [](const Optimizer& self) { return self.config(); });
  property(bound, "parameters", "The parameters." + with_optimizer + "optimizer.parameters == [p]\nTrue",
           [](const Optimizer& self) { return self.parameters(); });
  define(module, "clip_gradient_norm(parameters, most)",
         "Scales the gradients down so that their norm is at most `most`. Returns the norm before scaling.\n\n>>> a = "
         "Value(1.0)\n>>> a.grad = 4\n>>> clip_gradient_norm([a], 2), f\"{a.grad:.4f}\"\n(4.0, '2.0000')",
         [](const Nodes& parameters, double most) { return clip_gradient_norm(parameters.values, most); });
}

py::tuple as_arrays(const Dataset& data) {
  const auto rows = static_cast<py::ssize_t>(data.rows()), columns = static_cast<py::ssize_t>(data.columns);
  py::array_t<double> x({rows, columns}, data.x.data());
  py::array_t<std::int64_t> y(rows);
  std::copy(data.labels.begin(), data.labels.end(), y.mutable_data());
  return py::make_tuple(std::move(x), std::move(y));
}

void bind_data(py::module_& module) {
  define(module, "make_moons(n=100, noise=0.1, seed=1337)",
         "Returns (X, y): points on two interleaving half circles, and their labels 0 and 1.\n\n>>> X, y = "
         "make_moons(50)\n>>> X.shape, y.shape\n((50, 2), (50,))",
         [](std::uint64_t n, double noise, std::uint64_t seed) { return as_arrays(make_moons(n, noise, seed)); });
  define(
      module, "make_circles(n=100, noise=0.1, factor=0.5, seed=1337)",
      "Returns (X, y): points on a circle and on a smaller circle inside it, and their labels 0 and 1.\n\n>>> X, y = "
      "make_circles(50)\n>>> X.shape, y.shape\n((50, 2), (50,))",
      [](std::uint64_t n, double noise, double factor, std::uint64_t seed) {
        return as_arrays(make_circles(n, noise, factor, seed));
      });
  define(
      module, "make_spiral(n=100, classes=3, noise=0.1, seed=1337)",
      "Returns (X, y): points on spiral arms, one arm per class, and their labels.\n\n>>> X, y = make_spiral(60)\n>>> "
      "X.shape, sorted(set(y.tolist()))\n((60, 2), [0, 1, 2])",
      [](std::uint64_t n, std::uint64_t classes, double noise, std::uint64_t seed) {
        return as_arrays(make_spiral(n, classes, noise, seed));
      });
}

constexpr const char* tensor_name = "parameters";

void bind_files(py::module_& module) {
  define(module, "_save(path, parameters)", "Writes a safetensors file.",
         [](const std::string& path, const Nodes& parameters) {
           Tensor tensor{tensor_name, {parameters.values.size()}, {}};
           for (const Value& parameter : parameters.values) tensor.data.push_back(parameter.data());
           SafetensorsFile{{std::move(tensor)}, {}}.write(path);
         });
  define(module, "_load(path, parameters)", "Reads a safetensors file.",
         [](const std::string& path, Nodes& parameters) {
           const SafetensorsFile file = SafetensorsFile::read(path);
           const Tensor* const tensor = file.find(tensor_name);
           const std::size_t count = parameters.values.size();
           if (tensor == nullptr || tensor->data.size() != count)
             throw Error("load", "a file with " + std::to_string(count) + " parameters",
                         tensor == nullptr ? "a file without parameters" : std::to_string(tensor->data.size()),
                         "load it into a model of the same sizes");
           for (std::size_t i = 0; i < count; ++i) parameters.values[i].data() = tensor->data[i];
         });
}

}  // namespace

void bind_learning(py::module_& module) {
  bind_losses(module);
  bind_rules(module);
  bind_optimizers(module);
  bind_data(module);
  bind_files(module);
}

}  // namespace gradwalk::python
