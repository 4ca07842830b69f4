// SPDX-License-Identifier: MIT
// Parses the header with callbacks, without building a JSON document. So memory is that of the result, and nesting that
// the format does not have is an Error where it begins.
#include "safetensors_header.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "damaged.hpp"
#include "gradwalk/error.hpp"
#include "text/shown.hpp"

namespace gradwalk::detail {
namespace {

using nlohmann::json;

// The callbacks of the parser. place_ is the current position in the format.
class Events : public nlohmann::json_sax<json> {
 public:
  Events(SafetensorsHeader& header, std::string_view name) : header_(header), name_(name) {}

  bool start_object(std::size_t) override {
    switch (place_) {
      case Place::start: return go(Place::names);
      case Place::metadata_value: return go(Place::metadata_names);
      case Place::entry: return go(Place::entry_names);
      default: unexpected("an object");
    }
  }

  bool key(std::string& text) override {
    if (place_ == Place::metadata_names) {
      key_ = std::move(text);
      return go(Place::metadata_text);
    }
    if (place_ == Place::entry_names) return entry_key(text);
    if (text == "__metadata__") {
      if (has_metadata_) damaged(name_, "unique names", "__metadata__ twice");
      has_metadata_ = true;
      return go(Place::metadata_value);
    }
    header_.entries.emplace_back().name = std::move(text);
    return go(Place::entry);
  }

  bool end_object() override {
    if (place_ == Place::entry_names) {
      const TensorEntry& entry = header_.entries.back();
      if (!has_[dtype] || !has_[shape] || !has_[offsets])
        damaged(name_, "dtype, shape and data_offsets of every tensor", "fewer for " + shown(entry.name));
      std::fill(std::begin(has_), std::end(has_), false);
      return go(Place::names);
    }
    return go(place_ == Place::metadata_names ? Place::names : Place::end);
  }

  bool start_array(std::size_t) override {
    if (place_ == Place::shape_value) return go(Place::shape_numbers);
    if (place_ == Place::offsets_value) return go(Place::offsets_numbers);
    unexpected("an array");
  }
  bool end_array() override { return go(Place::entry_names); }

  bool number_unsigned(std::uint64_t number) override {
    if (place_ == Place::shape_numbers) {
      header_.entries.back().shape.push_back(number);
    } else if (place_ == Place::offsets_numbers && header_.entries.back().offsets.size() < 2) {
      header_.entries.back().offsets.push_back(number);
    } else {
      unexpected("the number " + std::to_string(number));
    }
    return true;
  }

  bool string(std::string& text) override {
    if (place_ == Place::dtype_text) {
      header_.entries.back().dtype = std::move(text);
      return go(Place::entry_names);
    }
    if (place_ != Place::metadata_text) unexpected(shown(text));
    if (!header_.metadata.emplace(key_, std::move(text)).second)
      damaged(name_, "unique names", shown(key_) + " twice in __metadata__");
    return go(Place::metadata_names);
  }

  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("a boolean"); }
  bool number_integer(std::int64_t number) override { unexpected("the number " + std::to_string(number)); }
  bool number_float(double, const std::string& text) override { unexpected("the number " + printable(text, 40)); }
  bool binary(json::binary_t&) override { unexpected("binary data"); }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::detail::exception&) override {
    damaged(name_, "a header in JSON", "something else at its byte " + std::to_string(at));
  }

 private:
  enum class Place {
    start,
    names,
    entry,
    entry_names,
    dtype_text,
    shape_value,
    shape_numbers,
    offsets_value,
    offsets_numbers,
    metadata_value,
    metadata_names,
    metadata_text,
    end
  };
  enum Key { dtype, shape, offsets };

  bool go(Place place) {
    place_ = place;
    return true;
  }

  bool entry_key(const std::string& text) {
    const Key key = text == "dtype" ? dtype : text == "shape" ? shape : offsets;
    if (key == offsets && text != "data_offsets") unexpected(shown(text));
    if (has_[key]) damaged(name_, "unique names", text + " twice in " + shown(header_.entries.back().name));
    has_[key] = true;
    return go(key == dtype ? Place::dtype_text : key == shape ? Place::shape_value : Place::offsets_value);
  }

  [[noreturn]] void unexpected(const std::string& got) const {
    const auto of_tensor = [this](const char* what) { return what + shown(header_.entries.back().name); };
    switch (place_) {
      case Place::entry:
      case Place::entry_names: damaged(name_, of_tensor("dtype, shape and data_offsets of "), got);
      case Place::dtype_text: damaged(name_, of_tensor("the dtype as text of "), got);
      case Place::shape_value:
      case Place::shape_numbers: damaged(name_, of_tensor("whole numbers as the shape of "), got);
      case Place::offsets_value:
      case Place::offsets_numbers: damaged(name_, of_tensor("two whole numbers as data_offsets of "), got);
      case Place::metadata_value:
      case Place::metadata_text: damaged(name_, "texts by name in __metadata__", got);
      default: damaged(name_, "tensors by name in its header", got);
    }
  }

  SafetensorsHeader& header_;
  std::string_view name_;
  Place place_ = Place::start;
  bool has_metadata_ = false, has_[3] = {};
  std::string key_;
};

}  // namespace

SafetensorsHeader parse_header(std::string_view text, std::string_view name) {
  // The parser would take a zero byte for the end and skip a byte order mark before it.
  if (!text.starts_with('{')) damaged(name, "a header that starts with {", shown(text.substr(0, 1)));
  if (text.find('\0') != std::string_view::npos) damaged(name, "a header in JSON", "a zero byte in it");
  SafetensorsHeader header;
  Events events(header, name);
  json::sax_parse(text.begin(), text.end(), &events);

  std::vector<const TensorEntry*> sorted;
  sorted.reserve(header.entries.size());
  for (const TensorEntry& entry : header.entries) sorted.push_back(&entry);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  const auto twice =
      std::adjacent_find(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->name == b->name; });
  if (twice != sorted.end()) damaged(name, "unique names", shown((*twice)->name) + " twice");
  return header;
}

}  // namespace gradwalk::detail
