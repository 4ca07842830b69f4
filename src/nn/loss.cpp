// SPDX-License-Identifier: MIT
// The formulas of the losses, for one row and as means over a batch.
#include "gradwalk/loss.hpp"

#include <algorithm>

#include "text/numbers.hpp"

namespace gradwalk {
namespace {

void need_batch(const char* call, std::size_t outputs, std::size_t targets) {
  if (outputs != targets)
    throw Error(call, "one target per row",
                detail::counted(targets, "target", "targets") + " for " + detail::counted(outputs, "row", "rows"),
                "give as many of one as of the other");
  if (outputs == 0) throw Error(call, "at least one row", "none", "leave out empty batches");
}

// The mean of loss_of_row(0), loss_of_row(1), ...
template <class LossOfRow> Value mean(std::size_t rows, LossOfRow loss_of_row) {
  Value total = loss_of_row(0);
  for (std::size_t i = 1; i < rows; ++i) total += loss_of_row(i);
  return total * (1.0 / static_cast<double>(rows));
}

// The largest score is recorded, so a replay finds the largest of its own scores. stop() keeps the gradient out.
Value largest_of(std::span<const Value> scores) {
  Value largest = scores[0];
  for (const Value& score : scores.subspan(1)) largest = max(largest, score);
  return stop(largest);
}

Value total_of_exp(std::span<const Value> scores, const Value& largest) {
  Value total = exp(scores[0] - largest);
  for (const Value& score : scores.subspan(1)) total += exp(score - largest);
  return total;
}

Value squared(const Value& error) { return error * error; }

template <class Target> Value mean_of_squares(std::span<const Value> outputs, std::span<const Target> targets) {
  need_batch("mean_squared_error", outputs.size(), targets.size());
  return mean(outputs.size(), [&](std::size_t i) { return squared(outputs[i] - targets[i]); });
}

Value huber_of(const Value& error) {
  const Value size = abs(error);
  return select(size <= 1.0, error * error * 0.5, size - 0.5);
}

}  // namespace

Value mean_squared_error(const Value& output, double target) { return squared(output - target); }
Value mean_squared_error(const Value& output, const Value& target) { return squared(output - target); }
Value mean_squared_error(std::span<const Value> outputs, std::span<const double> targets) {
  return mean_of_squares(outputs, targets);
}
Value mean_squared_error(std::span<const Value> outputs, std::span<const Value> targets) {
  return mean_of_squares(outputs, targets);
}

Value mean_absolute_error(const Value& output, double target) { return abs(output - target); }
Value mean_absolute_error(const Value& output, const Value& target) { return abs(output - target); }
Value mean_absolute_error(std::span<const Value> outputs, std::span<const double> targets) {
  need_batch("mean_absolute_error", outputs.size(), targets.size());
  return mean(outputs.size(), [&](std::size_t i) { return mean_absolute_error(outputs[i], targets[i]); });
}

Value huber(const Value& output, double target) { return huber_of(output - target); }
Value huber(const Value& output, const Value& target) { return huber_of(output - target); }
Value huber(std::span<const Value> outputs, std::span<const double> targets) {
  need_batch("huber", outputs.size(), targets.size());
  return mean(outputs.size(), [&](std::size_t i) { return huber(outputs[i], targets[i]); });
}

Value hinge(const Value& score, double sign) {
  if (sign != 1 && sign != -1)
    throw Error("hinge", "labels that are 1 or -1", detail::format_number(sign),
                "for labels that are 0 and 1 give 2 * label - 1");
  return relu(1.0 - sign * score);
}

Value hinge(const Value& score, const Value& sign) { return relu(1.0 - sign * score); }

Value hinge(std::span<const Value> scores, std::span<const double> signs) {
  need_batch("hinge", scores.size(), signs.size());
  return mean(scores.size(), [&](std::size_t i) { return hinge(scores[i], signs[i]); });
}

Value binary_cross_entropy(const Value& score, double target) {
  const bool fits = target >= 0 && target <= 1;
  if (!fits)
    throw Error("binary_cross_entropy", "targets from 0 to 1", detail::format_number(target),
                "for labels that are -1 and 1 give (label + 1) / 2");
  // The formula below, for a target whose distance to the nearer label is 0.
  if (target == 0) return softplus(score);
  if (target == 1) return softplus(-score);
  return binary_cross_entropy(score, Value(target));
}

// This is softplus(score) - target * score, which would lose the digits of a small loss: with target 1 it subtracts two
// numbers that are almost equal. So the formula is applied from the nearer of the labels 0 and 1. `wrong` is large
// where the score favours the other label, and `distance`, which is 0 for the targets 0 and 1, is at most 1/2.
Value binary_cross_entropy(const Value& score, const Value& target) {
  const Value is_nearer_to_1(target > 0.5);
  const Value wrong = select(is_nearer_to_1, -score, score);
  const Value distance = select(is_nearer_to_1, 1.0 - target, target);
  return softplus(wrong) - distance * wrong;
}

Value binary_cross_entropy(std::span<const Value> scores, std::span<const double> targets) {
  need_batch("binary_cross_entropy", scores.size(), targets.size());
  return mean(scores.size(), [&](std::size_t i) { return binary_cross_entropy(scores[i], targets[i]); });
}

Value softmax_cross_entropy(std::span<const Value> scores, std::size_t label) {
  if (label >= scores.size())
    throw Error("softmax_cross_entropy", "a label below the number of scores, " + std::to_string(scores.size()),
                std::to_string(label), "count labels from 0, and give the model one output per class");
  const Value largest = largest_of(scores);
  return log(total_of_exp(scores, largest)) - (scores[label] - largest);
}

Value softmax_cross_entropy(std::span<const Value> scores, const Value& label) {
  if (scores.empty())
    throw Error("softmax_cross_entropy", "at least one score", "none", "give the model one output per class");
  const Value largest = largest_of(scores);
  Value labelled = scores[0];
  for (std::size_t i = 1; i < scores.size(); ++i)
    labelled = select(label == static_cast<double>(i), scores[i], labelled);
  return log(total_of_exp(scores, largest)) - (labelled - largest);
}

Value softmax_cross_entropy(std::span<const std::vector<Value>> scores, std::span<const std::size_t> labels) {
  need_batch("softmax_cross_entropy", scores.size(), labels.size());
  return mean(scores.size(), [&](std::size_t i) { return softmax_cross_entropy(scores[i], labels[i]); });
}

Value l1_penalty(std::span<const Value> parameters) {
  Value total = 0.0;
  for (const Value& p : parameters) total += abs(p);
  return total;
}

Value l2_penalty(std::span<const Value> parameters) {
  Value total = 0.0;
  for (const Value& p : parameters) total += p * p;
  return total;
}

}  // namespace gradwalk
