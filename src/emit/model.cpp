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
        name_(emit::Names::prefix(options.name, "model")),
        dialect_(options.precision == Precision::float32, name_) {}

  CFiles of(const Classifier& model) {
    const std::string classes = std::to_string(model.label_names.size());
    add_scores(graph_.outputs_, "A classifier of " + classes + " classes: " + name_ +
                                    "_predict() returns the class of a row, as an index of " + name_ + "_classes.");
    std::string names;
    for (const std::string& label : model.label_names) names += "  " + quoted(label) + ",\n";
    add_table("The names of the classes.", "const char *const " + name_ + "_classes[" + classes + "]", names);
    add_predict();
    if (options_.step) {
      const Loss loss(model.loss, graph_.outputs_.size());
      add_step(loss);
      std::string rows;
      for (std::size_t label = 0; label < model.label_names.size(); ++label) {
        std::string row;
        for (const double target : loss.targets(label)) row += (row.empty() ? "" : ", ") + dialect_.literal(target);
        rows += "  {" + row + "},\n";
      }
      add_table(
          "The targets of each class, as the rows of " + name_ + "_loss_step() contain them after the features.",
          "const " + real() + " " + name_ + "_targets[" + classes + "][" + std::to_string(loss.targets_per_row()) + "]",
          rows);
    }
    add_main("printf(\"%s\\n\", " + name_ + "_classes[" + name_ + "_predict(" + name_ +
             "_parameters, inputs, work)]);");
    return files();
  }

  CFiles of(const Regressor& model) {
    const std::vector<Value> outputs{model.target_mean + model.target_deviation * graph_.outputs_[0]};
    add_scores(outputs, "A regressor: " + name_ + "_value() returns the prediction for a row.");
    if (options_.step) {
      add_step(Loss(model.loss, 1));
      add_number("A row of " + name_ +
                     "_loss_step() ends with its target in standard deviations: (target - mean) / deviation.",
                 "_target_mean", model.target_mean);
      add_number("The divisor of the target.", "_target_deviation", model.target_deviation);
    }
    add_main("printf(\"%.9g\\n\", (double)" + name_ + "_value(" + name_ + "_parameters, inputs, work));");
    return files();
  }

 private:
  std::string real() const { return dialect_.real(); }

  // Adds a constant to the file, and its declaration to the header.
  void add_constant(const std::string& about, const std::string& declaration, const std::string& numbers) {
    const std::string comment = "/* " + about + " */\n";
    source_ += comment + declaration + " = " + numbers + ";\n\n";
    declarations_ += comment + "extern " + declaration + ";\n\n";
  }
  void add_number(const std::string& about, const std::string& suffix, double number) {
    add_constant(about, "const " + real() + " " + name_ + suffix, dialect_.literal(number));
  }
  void add_table(const std::string& about, const std::string& declaration, const std::string& lines) {
    add_constant(about, declaration, "{\n" + lines + "}");
  }

  void add_scores(const std::vector<Value>& outputs, const std::string& about) {
    CFiles files = emit_c_files(
        outputs, {.name = name_,
                  .inputs = graph_.features_,
                  .parameters = graph_.parameters_,
                  .precision = options_.precision,
                  .gradient = false,
                  .parameter_values = true,
                  .about = about + " Inputs are features as they are in the data; the model scales them itself."});
    source_ += files.source;
    header_ += files.header;
  }

  void add_predict() {
    const std::string count = std::to_string(graph_.outputs_.size());
    const auto declaration = [&](const std::string& pointer) {
      return "int " + name_ + "_predict(const " + real() + pointer + "parameters, const " + real() + pointer +
             "inputs,\n    " + real() + pointer + "work)";
    };
    const std::string about = "/* Returns the class of a row. */\n";
    declarations_ += about + declaration(" *") + ";\n\n";
    source_ += about + declaration(" *restrict ") + " {\n";
    if (graph_.outputs_.size() == 1)
      source_ += "  return " + name_ + "_value(parameters, inputs, work) > " + dialect_.literal(0) + ";\n}\n\n";
    else
      source_ += "  " + real() + " outputs[" + count + "];\n  int best = 0;\n  " + name_ +
                 "_outputs(parameters, inputs, outputs, work);\n" + "  for (int i = 1; i < " + count +
                 "; ++i)\n    if (outputs[i] > outputs[best]) best = i;\n  return best;\n}\n\n";
  }

  void add_step(const Loss& loss) {
    const std::vector<Value> targets(loss.targets_per_row());
    std::vector<Value> inputs = graph_.features_;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      Value target = targets[i];
      target.label("target");
      inputs.push_back(target);
    }
    const Value output = loss(graph_.outputs_, targets);
    const CFiles files =
        emit_c_files(std::span(&output, 1),
                     {.name = name_ + "_loss",
                      .inputs = inputs,
                      .parameters = graph_.parameters_,
                      .precision = options_.precision,
                      .step = true,
                      .about = "The loss of the model. To train it on a device, copy " + name_ +
                               "_parameters and call " + name_ + "_loss_step() with rows of features and targets."});
    source_ += files.source;
    loss_header_ = files.header.substr(files.header.find('\n') + 1);  // without the name of a file
  }

  void add_main(const std::string& print) {
    if (!options_.main) return;
    const std::string count = std::to_string(graph_.features_.size());
    source_ += "#include <stdio.h>\n\n/* Reads rows of " + count +
               " numbers from the standard input and prints a prediction for each. */\n" + "int main(void) {\n  " +
               real() + " inputs[" + count + "], work[" + upper(name_) +
               "_WORKSPACE];\n  double number;\n  int have = 0;\n" +
               "  while (scanf(\" %lf%*[, ;\\t]\", &number) == 1) {\n    inputs[have++] = (" + real() +
               ")number;\n    if (have < " + count + ") continue;\n    have = 0;\n    " + print +
               "\n  }\n  return have == 0 && feof(stdin) ? 0 : 1;\n}\n";
  }

  // The header has the declarations of three parts, each with a guard of its own.
  CFiles files() const {
    std::string header = header_;
    if (!declarations_.empty())
      header += "\n#ifndef " + upper(name_) + "_MODEL_H\n#define " + upper(name_) +
                "_MODEL_H\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n" + declarations_ +
                "#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
    if (!loss_header_.empty()) header += "\n" + loss_header_;
    return {name_, source_, header};
  }

  const EmitModelOptions& options_;
  ModelGraph graph_;
  std::string name_;
  emit::C99 dialect_;
  std::string source_, header_, declarations_, loss_header_;
};

}  // namespace

CFiles emit_c_files(const Classifier& model, const EmitModelOptions& options) {
  return ModelFileText(model, options).of(model);
}
CFiles emit_c_files(const Regressor& model, const EmitModelOptions& options) {
  return ModelFileText(model, options).of(model);
}
std::string emit_c(const Classifier& model, const EmitModelOptions& options) {
  return emit_c_files(model, options).source;
}
std::string emit_c(const Regressor& model, const EmitModelOptions& options) {
  return emit_c_files(model, options).source;
}

}  // namespace gradwalk
