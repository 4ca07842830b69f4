// SPDX-License-Identifier: MIT
// Models as C: their graphs are recorded with Values that stand for a row, and emitted as any other graph. The
// choice of a class, its name, and main() are added here.
#include "gradwalk/emit_model.hpp"

#include <algorithm>
#include <cctype>

#include "dialect.hpp"
#include "gradwalk/error.hpp"
#include "names.hpp"
#include "print_c.hpp"

namespace gradwalk {
namespace {

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// A string literal of C for any text.
std::string quoted(const std::string& text) {
  std::string made = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      made += std::string("\\") + c;
    else if (code < ' ' || code > '~' || c == '?')  // three octal digits end by themselves
      made += {'\\', static_cast<char>('0' + code / 64), static_cast<char>('0' + code / 8 % 8),
               static_cast<char>('0' + code % 8)};
    else
      made += c;
  }
  return made + "\"";
}

// The graph of one row.
class ModelGraph {
 public:
  explicit ModelGraph(const Model& model)
      : model_(model), features_(model.network.inputs()), parameters_(model.network.parameters()) {
    for (std::size_t i = 0; i < features_.size(); ++i)
      if (i < model.feature_names.size()) features_[i].label(model.feature_names[i]);
    std::vector<Value> x = features_;
    const Standardisation& scaling = model.standardisation;
    for (std::size_t i = 0; i < scaling.mean.size(); ++i) x[i] = (x[i] - scaling.mean[i]) / scaling.deviation[i];
    outputs_ = model.network(x);
  }

  std::vector<Value> outputs_;
  const Model& model_;
  std::vector<Value> features_, parameters_;
};

class ModelFileText {
 public:
  ModelFileText(const Model& model, const EmitModelOptions& options)
      : options_(options),
        graph_(model),
        name_(emit::Names().unique(options.name, "model")),
        dialect_(options.precision == Precision::float32, name_) {}

  std::string of(const Classifier& model) {
    std::string text =
        scores(graph_.outputs_, "A classifier of " + std::to_string(model.label_names.size()) + " classes: " + name_ +
                                    "_predict() returns the class of a row, as an index of " + name_ + "_classes.");
    const std::size_t count = graph_.outputs_.size();
    text += "/* The names of the classes. */\nconst char *const " + name_ + "_classes[" +
            std::to_string(model.label_names.size()) + "] = {\n";
    for (const std::string& label : model.label_names) text += "  " + quoted(label) + ",\n";
    text += "};\n\n/* Returns the class of a row. */\nint " + name_ + "_predict(const " + real() +
            " *restrict parameters, const " + real() + " *restrict inputs,\n    " + real() + " *restrict work) {\n";
    if (count == 1) {
      text += "  return " + name_ + "_value(parameters, inputs, work) > " + dialect_.literal(0) + ";\n}\n\n";
    } else {
      text += "  " + real() + " outputs[" + std::to_string(count) + "];\n  int best = 0;\n  " + name_ +
              "_outputs(parameters, inputs, outputs, work);\n" + "  for (int i = 1; i < " + std::to_string(count) +
              "; ++i)\n    if (outputs[i] > outputs[best]) best = i;\n  return best;\n}\n\n";
    }
    if (options_.step) {
      const Loss loss(model.loss, count);
      text += step(loss);
      text += "/* The targets of each class, as the rows of " + name_ +
              "_loss_step() contain them after the features. */\nconst " + real() + " " + name_ + "_targets[" +
              std::to_string(model.label_names.size()) + "][" + std::to_string(loss.targets_per_row()) + "] = {\n";
      for (std::size_t label = 0; label < model.label_names.size(); ++label) {
        std::string row;
        for (const double target : loss.targets(label)) row += (row.empty() ? "" : ", ") + dialect_.literal(target);
        text += "  {" + row + "},\n";
      }
      text += "};\n\n";
    }
    return text + main_text("printf(\"%s\\n\", " + name_ + "_classes[" + name_ + "_predict(" + name_ +
                            "_parameters, inputs, work)]);");
  }

  std::string of(const Regressor& model) {
    const std::vector<Value> outputs{model.target_mean + model.target_deviation * graph_.outputs_[0]};
    std::string text = scores(outputs, "A regressor: " + name_ + "_value() returns the prediction for a row.");
    if (options_.step) {
      text += step(Loss(model.loss, 1));
      text += "/* A row of " + name_ +
              "_loss_step() ends with its target in standard deviations: (target - mean) / deviation. */\nconst " +
              real() + " " + name_ + "_target_mean = " + dialect_.literal(model.target_mean) + ", " + name_ +
              "_target_deviation = " + dialect_.literal(model.target_deviation) + ";\n\n";
    }
    return text +
           main_text("printf(\"%.9g\\n\", (double)" + name_ + "_value(" + name_ + "_parameters, inputs, work));");
  }

 private:
  std::string real() const { return dialect_.real(); }

  std::string scores(const std::vector<Value>& outputs, const std::string& about) const {
    return emit_c(outputs,
                  {.name = name_,
                   .inputs = graph_.features_,
                   .parameters = graph_.parameters_,
                   .precision = options_.precision,
                   .gradient = false,
                   .parameter_values = true,
                   .about = about + " Inputs are features as they are in the data; the model scales them itself."});
  }

  std::string step(const Loss& loss) const {
    const std::vector<Value> targets(loss.targets_per_row());
    std::vector<Value> inputs = graph_.features_;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      Value target = targets[i];
      target.label("target");
      inputs.push_back(target);
    }
    return emit_c(loss(graph_.outputs_, targets),
                  {.name = name_ + "_loss",
                   .inputs = inputs,
                   .parameters = graph_.parameters_,
                   .precision = options_.precision,
                   .step = true,
                   .about = "The loss of the model. To train it on a device, copy " + name_ + "_parameters and call " +
                            name_ + "_loss_step() with rows of features and targets."});
  }

  std::string main_text(const std::string& print) const {
    if (!options_.main) return "";
    const std::string count = std::to_string(graph_.features_.size());
    return "#include <stdio.h>\n\n/* Reads rows of " + count +
           " numbers from the standard input and prints a prediction for each. */\n" + "int main(void) {\n  " + real() +
           " inputs[" + count + "], work[" + upper(name_) + "_WORKSPACE];\n  double number;\n  int have = 0;\n" +
           "  while (scanf(\" %lf%*[, ;\\t]\", &number) == 1) {\n    inputs[have++] = (" + real() +
           ")number;\n    if (have < " + count + ") continue;\n    have = 0;\n    " + print +
           "\n  }\n  return have == 0 && feof(stdin) ? 0 : 1;\n}\n";
  }

  const EmitModelOptions& options_;
  ModelGraph graph_;
  std::string name_;
  emit::C99 dialect_;
};

}  // namespace

std::string emit_c(const Classifier& model, const EmitModelOptions& options) {
  return ModelFileText(model, options).of(model);
}
std::string emit_c(const Regressor& model, const EmitModelOptions& options) {
  return ModelFileText(model, options).of(model);
}

}  // namespace gradwalk
