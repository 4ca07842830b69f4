// SPDX-License-Identifier: MIT
// What was measured, as rows of an aligned table or as JSON, one object a line; and which bars it misses.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cases.hpp"

namespace bench {

struct Row {
  std::string name, variant, baseline;
  double ns_per_op = 0;
  double ratio = 1;  // to the baseline
  std::optional<double> bytes_per_op;
  Limits limits = {};
  std::string peer = {};  // the variant that limits are about, where it is not the baseline
  std::optional<double> ratio_to_peer = {};
  double ms = 0;                           // a run
  std::optional<double> us_per_step = {};  // where a run is steps of training
};

std::vector<Row> rows(const Case& c, const std::vector<double>& ns_per_op,
                      const std::vector<std::optional<double>>& bytes_per_op);

std::string table_head();
std::string table_line(const Row& row);

// The keys case, variant, ns_per_op, ratio_to_hand, bytes_per_op; where the baseline is not hand-written code,
// ratio_to_hand is null and the keys baseline and ratio follow. The keys peer and ratio_to_peer follow where a bar is
// about another variant than the baseline, us_per_step where a run is steps of training, and ms where there is a bar on
// it.
std::string json_line(const Row& row);

std::vector<std::string> missed_bars(const Row& row);

}  // namespace bench
