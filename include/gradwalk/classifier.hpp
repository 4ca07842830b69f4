// SPDX-License-Identifier: MIT
// A classifier: a model whose outputs are scores of classes.
#pragma once

#include "gradwalk/model.hpp"

namespace gradwalk {

// A trained or untrained network that chooses one of several classes for each row.
struct GRADWALK_EXPORT Classifier : Model {
  std::vector<std::string> label_names;  // the names of the classes, in the order of their numbers

  // Returns the class of a row, as an index into label_names.
  std::size_t predict(std::span<const double> row) const { return label_of(scores(row)); }

  // Returns whether probability() is meaningful. It is for the losses bce and softmax.
  bool has_probabilities() const { return loss == LossKind::bce || loss == LossKind::softmax; }
  // Returns the probability of a class, given the scores of a row.
  double probability(std::span<const double> scores, std::size_t label) const;

  // How good the classifier is on some data.
  struct Result {
    double loss = 0;                          // the mean over the rows
    std::size_t right = 0, rows = 0;          // rows that are classified correctly, and all rows
    std::size_t classes = 0;                  // the number of classes
    std::vector<std::size_t> confusion = {};  // entry i * classes + k counts the rows of class i predicted as k

    // Returns the number of rows of class `label` that are predicted as class `as`.
    std::size_t taken(std::size_t label, std::size_t as) const { return confusion[label * classes + as]; }
    std::size_t of_class(std::size_t label) const;  // the number of rows of a class
    double precision(std::size_t label) const;  // the fraction of the rows predicted as the class that are of the class
    double recall(std::size_t label) const;     // the fraction of the rows of the class that are predicted as it
    double f1(std::size_t label) const;         // the harmonic mean of precision and recall
    // Returns the fraction of the rows that are classified correctly, or 0 if there are no rows.
    double accuracy() const { return rows == 0 ? 0 : static_cast<double>(right) / static_cast<double>(rows); }
  };
  // Evaluates the classifier on data that is not standardised. Throws an Error if the data has no classes.
  Result evaluate(const Dataset& data) const { return evaluate(data, all_scores(data)); }
  // The same, if the scores of all rows are known already. They are stored row after row.
  Result evaluate(const Dataset& data, std::span<const double> scores) const;

  // Returns the class with the largest score. A single score stands for two classes: class 1 if it is positive.
  static std::size_t label_of(std::span<const double> scores);
};

}  // namespace gradwalk
