// SPDX-License-Identifier: MIT
// Losses: how far outputs are from their targets, as a Value to call backward() on.
//
// Each loss has one form for a row and one for a batch, which is the mean over its rows. A target that is a number is
// checked and becomes a constant of the graph. A target that is a Value is not checked, so it may change later; with it
// a recorded loss can be replayed or compiled for any row. All forms throw an Error where their arguments do not fit,
// and record a handful of nodes per output.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gradwalk/value.hpp"

namespace gradwalk {

// Returns (output - target)^2; with several outputs and targets, the mean of these squares.
GRADWALK_EXPORT Value mean_squared_error(const Value& output, double target);
GRADWALK_EXPORT Value mean_squared_error(const Value& output, const Value& target);
GRADWALK_EXPORT Value mean_squared_error(std::span<const Value> outputs, std::span<const double> targets);
GRADWALK_EXPORT Value mean_squared_error(std::span<const Value> outputs, std::span<const Value> targets);

// Returns |output - target|.
GRADWALK_EXPORT Value mean_absolute_error(const Value& output, double target);
GRADWALK_EXPORT Value mean_absolute_error(const Value& output, const Value& target);
GRADWALK_EXPORT Value mean_absolute_error(std::span<const Value> outputs, std::span<const double> targets);

// Returns the Huber loss with delta 1, as in PyTorch: error^2 / 2 where |error| <= 1, otherwise |error| - 1 / 2. So a
// few outliers do not outweigh all other rows.
GRADWALK_EXPORT Value huber(const Value& output, double target);
GRADWALK_EXPORT Value huber(const Value& output, const Value& target);
GRADWALK_EXPORT Value huber(std::span<const Value> outputs, std::span<const double> targets);

// Returns the max-margin loss relu(1 - sign * score). A sign is 1 or -1; signs() in data.hpp makes signs of labels.
GRADWALK_EXPORT Value hinge(const Value& score, double sign);
GRADWALK_EXPORT Value hinge(const Value& score, const Value& sign);
GRADWALK_EXPORT Value hinge(std::span<const Value> scores, std::span<const double> signs);

// Returns the cross-entropy of the target and the probability sigmoid(score). A target is 0, 1 or a probability in
// between. The loss and its gradient are accurate to a few units in the last place at any finite score, however small.
GRADWALK_EXPORT Value binary_cross_entropy(const Value& score, double target);
GRADWALK_EXPORT Value binary_cross_entropy(const Value& score, const Value& target);
GRADWALK_EXPORT Value binary_cross_entropy(std::span<const Value> scores, std::span<const double> targets);

// Returns -log of the probability that softmax(scores) gives to the labelled class. Classes are counted from 0. The
// largest score is subtracted first, so nothing overflows; the absolute error is a few 1e-16, so a smaller loss may be
// 0. A label that is a Value and no class number means class 0.
GRADWALK_EXPORT Value softmax_cross_entropy(std::span<const Value> scores, std::size_t label);
GRADWALK_EXPORT Value softmax_cross_entropy(std::span<const Value> scores, const Value& label);
GRADWALK_EXPORT Value softmax_cross_entropy(std::span<const std::vector<Value>> scores,
                                            std::span<const std::size_t> labels);

// Returns the sum of the parameters' absolute values.
GRADWALK_EXPORT Value l1_penalty(std::span<const Value> parameters);
// Returns the sum of the parameters' squares.
GRADWALK_EXPORT Value l2_penalty(std::span<const Value> parameters);

}  // namespace gradwalk
