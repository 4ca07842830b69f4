// SPDX-License-Identifier: MIT
// Formats measurements as rows of a table or as JSON, one object per line, and lists the missed bars.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cases.hpp"

namespace bench {

struct Row {
  std::string name, variant, baseline;
  double ns_per_op = 0;
  double ratio = 1;  // the ratio to the baseline
  std::optional<double> bytes_per_op;
  Limits limits = {};
  std::string peer = {};  // the variant that the limits refer to, if it is not the baseline
  std::optional<double> ratio_to_peer = {};
  double ms = 0;                           // the time of a run
  std::optional<double> us_per_step = {};  // the time of a training step, if a run consists of them
};

std::vector<Row> rows(const Case& c, const std::vector<double>& ns_per_op,
                      const std::vector<std::optional<double>>& bytes_per_op);

std::string table_head();
std::string table_line(const Row& row);

// Returns an object with the keys case, variant, ns_per_op, ratio_to_hand and bytes_per_op. If the baseline is not
// hand-written code, ratio_to_hand is null, and the keys baseline and ratio follow. The keys peer and ratio_to_peer
// follow if a bar refers to another variant than the baseline, us_per_step if a run consists of training steps, and ms
// if there is a bar on it.
std::string json_line(const Row& row);

std::vector<std::string> missed_bars(const Row& row);

}  // namespace bench
