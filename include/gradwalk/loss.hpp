// SPDX-License-Identifier: MIT
// Losses: how far outputs are from what they should be, as a Value to walk back from.
//
// Each has a form for one row and one for a batch, which is the mean of its rows. A target that is a number is checked;
// one that is a Value is taken as it is, for graphs whose targets change.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gradwalk/value.hpp"

namespace gradwalk {

// (output - target)^2
GRADWALK_EXPORT Value mean_squared_error(const Value& output, double target);
GRADWALK_EXPORT Value mean_squared_error(const Value& output, const Value& target);
GRADWALK_EXPORT Value mean_squared_error(std::span<const Value> outputs, std::span<const double> targets);

// |output - target|
GRADWALK_EXPORT Value mean_absolute_error(const Value& output, double target);
GRADWALK_EXPORT Value mean_absolute_error(const Value& output, const Value& target);
GRADWALK_EXPORT Value mean_absolute_error(std::span<const Value> outputs, std::span<const double> targets);

// off^2 / 2 where |off| <= 1, |off| - 1 / 2 elsewhere, as PyTorch's: few rows far off do not outweigh all others.
GRADWALK_EXPORT Value huber(const Value& output, double target);
GRADWALK_EXPORT Value huber(const Value& output, const Value& target);
GRADWALK_EXPORT Value huber(std::span<const Value> outputs, std::span<const double> targets);

// The max-margin loss relu(1 - sign * score); a sign is 1 or -1 (signs() of data.hpp makes them of labels).
GRADWALK_EXPORT Value hinge(const Value& score, double sign);
GRADWALK_EXPORT Value hinge(const Value& score, const Value& sign);
GRADWALK_EXPORT Value hinge(std::span<const Value> scores, std::span<const double> signs);

// -log of the probability that sigmoid(score) gives to the target, which is 0, 1 or a probability between; good at any
// score, for it is made of softplus.
GRADWALK_EXPORT Value binary_cross_entropy(const Value& score, double target);
GRADWALK_EXPORT Value binary_cross_entropy(const Value& score, const Value& target);
GRADWALK_EXPORT Value binary_cross_entropy(std::span<const Value> scores, std::span<const double> targets);

// -log of the probability that softmax(scores) gives to the labelled one; good at any scores, for the largest is
// subtracted first. A label that is a Value is a class, counted from 0; any other number means class 0.
GRADWALK_EXPORT Value softmax_cross_entropy(std::span<const Value> scores, std::size_t label);
GRADWALK_EXPORT Value softmax_cross_entropy(std::span<const Value> scores, const Value& label);
GRADWALK_EXPORT Value softmax_cross_entropy(std::span<const std::vector<Value>> scores,
                                            std::span<const std::size_t> labels);

GRADWALK_EXPORT Value l1_penalty(std::span<const Value> parameters);  // the sum of their sizes
GRADWALK_EXPORT Value l2_penalty(std::span<const Value> parameters);  // the sum of their squares

}  // namespace gradwalk
