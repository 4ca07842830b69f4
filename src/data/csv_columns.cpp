// SPDX-License-Identifier: MIT
// Reads the fields of a feature column. The first field that is not missing decides whether it has numbers or texts.
#include "csv_columns.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "csv_number.hpp"
#include "names.hpp"

namespace gradwalk::detail {
namespace {

constexpr double missing_number = std::numeric_limits<double>::quiet_NaN();
constexpr const char* missing_advice =
    "fill it in, delete the row, or choose how to treat missing values (train --missing)";

}  // namespace

FeatureColumn::FeatureColumn(const CsvOptions& options, std::size_t at, std::string name, const Column* known)
    : options_(&options), at_(at), name_(std::move(name)), known_(known), kind_(Kind::unknown) {
  if (!options.text_columns || (known != nullptr && known->categories.empty())) kind_ = Kind::number;
  if (known == nullptr || known->categories.empty()) return;
  kind_ = Kind::text;
  for (const std::string& category : known->categories) indices_.emplace(category, indices_.size());
}

void FeatureColumn::refuse(const Field& field, std::string_view needs, std::string_view advice) const {
  throw CsvError(options_->name, needs, field.raw.empty() ? "an empty field" : shown(field.raw), advice, field.line,
                 at_ + 1, name_);
}

double FeatureColumn::code(const Field& field) {
  if (field.is_missing() && (known_ != nullptr || options_->missing == CsvOptions::Missing::keep))
    return missing(field);
  if (kind_ == Kind::unknown && !field.is_missing()) kind_ = as_number(field.raw) ? Kind::number : Kind::text;
  return kind_ == Kind::text ? category(field) : number(field);
}

double FeatureColumn::missing(const Field& field) const {
  if (known_ == nullptr) return missing_number;
  if (!known_->fill)
    refuse(field, kind_ == Kind::text ? "a text" : "a number",
           "fill it in, delete the row, or train with missing values filled in (train --missing mean)");
  return kind_ == Kind::text ? missing_number : *known_->fill;
}

double FeatureColumn::category(const Field& field) {
  if (field.is_missing()) refuse(field, "a text", missing_advice);
  const std::string text = field.text();
  if (const auto found = indices_.find(text); found != indices_.end()) return static_cast<double>(found->second);
  if (known_ != nullptr) {
    if (known_->has_other) return static_cast<double>(known_->categories.size());
    refuse(field, "a text that the model was trained with (" + listed(known_->categories) + ")",
           "correct it, delete the row, or train with a category for other texts (train --other)");
  }
  if (!is_name(text)) refuse(field, name_rule, name_advice);
  if (categories_.size() == most_categories)
    refuse(field, "at most " + std::to_string(most_categories) + " different texts in a column",
           "leave out the column");
  categories_.push_back(text);
  indices_.emplace(text, categories_.size() - 1);
  return static_cast<double>(categories_.size() - 1);
}

double FeatureColumn::number(const Field& field) const {
  const std::optional<double> number = as_number(field.raw);
  if (number && std::isfinite(*number)) return *number;
  const ReadNumber read = read_number(field.raw);
  std::string with_point(field.raw);
  std::replace(with_point.begin(), with_point.end(), ',', '.');
  if (field.is_missing()) refuse(field, "a number", missing_advice);
  if (number) refuse(field, "a finite number", "correct it or delete the row");
  if (read.error == std::errc::result_out_of_range && read.size == field.raw.size())
    refuse(field, "a number between 5e-324 and 1.8e308", "correct it or delete the row");
  refuse(field, "a number", as_number(with_point) ? "write decimals with a point" : "correct it or delete the row");
}

Column FeatureColumn::finish(std::string name) {
  if (known_ != nullptr) return *known_;
  Column result{std::move(name), std::move(categories_)};
  result.has_other = !result.categories.empty() && options_->other;
  // A missing text has no category. fill_missing() computes the number that replaces a missing number.
  if (!result.categories.empty() && options_->missing == CsvOptions::Missing::keep) result.fill = 0;
  return result;
}

}  // namespace gradwalk::detail
