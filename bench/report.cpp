// SPDX-License-Identifier: MIT
// Formats measurements; report.hpp describes the formats.
#include "report.hpp"

#include <fmt/format.h>

namespace bench {
namespace {

std::string cell(const std::optional<double>& number, int digits) {
  return number ? fmt::format("{:.{}f}", *number, digits) : "";
}

// Returns a ratio, with more digits if it is small, because a bar may be 1/40.
std::string ratio_cell(const std::optional<double>& ratio, int digits) {
  return cell(ratio, ratio && *ratio < 0.1 ? digits + 2 : digits);
}

std::string json_number(const std::optional<double>& number) {
  return number ? fmt::format("{:.6g}", *number) : "null";
}

bool over(const std::optional<double>& number, const std::optional<double>& limit) {
  return number && limit && *number > *limit;
}

bool has_peer(const Row& row) { return !row.limits.to.empty(); }
std::optional<double> bar(const Row& row) { return has_peer(row) ? row.limits.to_baseline : row.limits.ratio; }
std::optional<double> bar_to_peer(const Row& row) { return has_peer(row) ? row.limits.ratio : std::nullopt; }

std::string verdict(const Row& row) {
  if (row.limits.ms) return fmt::format("{:.2f} ms{}", row.ms, missed_bars(row).empty() ? "" : ", over the bar");
  if (!row.limits.ratio && !row.limits.to_baseline && !row.limits.bytes) return "";
  if (!missed_bars(row).empty()) return "over the bar";
  return row.limits.goal && !over(row.ratio_to_peer.value_or(row.ratio), row.limits.goal) ? "goal reached" : "ok";
}

std::string missed_ratio(const Row& row, const std::optional<double>& bar, const std::string& to, double ratio) {
  return fmt::format("{} {}: needs at most {} times {}, got {}", row.name, row.variant, ratio_cell(bar, 1), to,
                     ratio_cell(ratio, 2));
}

std::string line(const std::vector<std::string>& cells) {
  std::string text =
      fmt::format("{:<14} {:<13} {:>9} {:>7} {:>5} {:>7} {:>5} {:>5} {:>9} {:>5}  {}", cells[0], cells[1], cells[2],
                  cells[3], cells[4], cells[5], cells[6], cells[7], cells[8], cells[9], cells[10]);
  return text.erase(text.find_last_not_of(' ') + 1);
}

}  // namespace

std::vector<Row> rows(const Case& c, const std::vector<double>& ns_per_op,
                      const std::vector<std::optional<double>>& bytes_per_op) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < c.variants.size(); ++i) {
    Row row{c.name,          c.variants[i].name,  c.variants[0].name, ns_per_op[i], ns_per_op[i] / ns_per_op[0],
            bytes_per_op[i], c.variants[i].limits};
    row.ms = ns_per_op[i] * c.variants[i].ops / 1e6;
    for (std::size_t peer = 0; peer < c.variants.size(); ++peer) {
      if (c.variants[peer].name != row.limits.to) continue;
      row.peer = row.limits.to;
      row.ratio_to_peer = ns_per_op[i] / ns_per_op[peer];
    }
    if (row.peer != row.limits.to) row.limits.ratio = row.limits.goal = std::nullopt;
    if (c.steps > 0 && !row.limits.ms) row.us_per_step = ns_per_op[i] * c.variants[i].ops / c.steps / 1000;
    rows.push_back(row);
  }
  return rows;
}

std::string table_head() {
  return line({"case", "variant", "ns/op", "ratio", "bar", "to peer", "bar", "goal", "bytes/op", "bar", ""});
}

std::string table_line(const Row& row) {
  return line({row.name, row.variant, cell(row.ns_per_op, 3), ratio_cell(row.ratio, 2), ratio_cell(bar(row), 1),
               cell(row.ratio_to_peer, 2), cell(bar_to_peer(row), 1), cell(row.limits.goal, 1),
               cell(row.bytes_per_op, 1), cell(row.limits.bytes, 0), verdict(row)});
}

std::string json_line(const Row& row) {
  const bool to_hand = row.baseline == "hand";
  std::string text =
      fmt::format(R"({{"case":"{}","variant":"{}","ns_per_op":{},"ratio_to_hand":{},"bytes_per_op":{})", row.name,
                  row.variant, json_number(row.ns_per_op),
                  json_number(to_hand ? std::optional(row.ratio) : std::nullopt), json_number(row.bytes_per_op));
  if (!to_hand) text += fmt::format(R"(,"baseline":"{}","ratio":{})", row.baseline, json_number(row.ratio));
  if (row.ratio_to_peer)
    text += fmt::format(R"(,"peer":"{}","ratio_to_peer":{})", row.peer, json_number(row.ratio_to_peer));
  if (row.us_per_step) text += fmt::format(R"(,"us_per_step":{})", json_number(row.us_per_step));
  if (row.limits.ms) text += fmt::format(R"(,"ms":{})", json_number(row.ms));
  return text + "}";
}

std::vector<std::string> missed_bars(const Row& row) {
  std::vector<std::string> missed;
  if (over(row.ratio, bar(row))) missed.push_back(missed_ratio(row, bar(row), row.baseline, row.ratio));
  if (over(row.ratio_to_peer, bar_to_peer(row)))
    missed.push_back(missed_ratio(row, bar_to_peer(row), row.peer, *row.ratio_to_peer));
  if (over(row.ms, row.limits.ms))
    missed.push_back(
        fmt::format("{} {}: needs at most {} ms, got {:.2f}", row.name, row.variant, cell(row.limits.ms, 0), row.ms));
  if (row.limits.bytes && (!row.bytes_per_op || over(row.bytes_per_op, row.limits.bytes))) {
    missed.push_back(fmt::format("{} {}: needs at most {} bytes per op, got {}", row.name, row.variant,
                                 cell(row.limits.bytes, 0),
                                 row.bytes_per_op ? cell(row.bytes_per_op, 1) : "no measurement"));
  }
  return missed;
}

}  // namespace bench
