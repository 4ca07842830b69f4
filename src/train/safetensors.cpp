// SPDX-License-Identifier: MIT
// Reads and writes safetensors files, except for the header: lengths, offsets and numbers.
#include "gradwalk/safetensors.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <span>

#include "damaged.hpp"
#include "gradwalk/files.hpp"
#include "safetensors_header.hpp"
#include "text/shown.hpp"

namespace gradwalk {
namespace {

using detail::damaged, detail::shown, detail::TensorEntry;

static_assert(std::endian::native == std::endian::little, "numbers are copied from the file without conversion");

constexpr std::size_t length_size = 8;

// Returns the number of elements of a shape; nothing if it overflows.
template <class Size> std::optional<std::uint64_t> count_of(const std::vector<Size>& shape) {
  std::uint64_t count = 1;
  for (const std::uint64_t size : shape)
    if (__builtin_mul_overflow(count, size, &count)) return std::nullopt;
  return count;
}

std::string place(const TensorEntry& entry) {
  return shown(entry.name) + " at " + std::to_string(entry.offsets[0]) + " to " + std::to_string(entry.offsets[1]);
}

void check_entry(const TensorEntry& entry, std::string_view name) {
  if (entry.dtype != "F64" && entry.dtype != "F32")
    throw Error(name, "numbers of type F64 or F32", shown(entry.dtype) + " in " + shown(entry.name),
                "convert it before saving; put whole numbers into the metadata");
  if (entry.offsets.size() != 2 || entry.offsets[0] > entry.offsets[1])
    damaged(name, "the begin and the end of each tensor", "other data_offsets for " + shown(entry.name));
  const std::uint64_t size = entry.dtype == "F64" ? 8 : 4, bytes = entry.offsets[1] - entry.offsets[0];
  const std::optional<std::uint64_t> count = count_of(entry.shape);
  if (!count || bytes % size != 0 || bytes / size != *count)
    damaged(name, "as many numbers as the shape has", std::to_string(bytes) + " bytes for " + shown(entry.name));
}

// The tensors must cover the file from the first byte to the last, without holes and overlaps. So none reaches outside,
// and none is larger than the file.
void check_places(const std::vector<TensorEntry>& entries, std::uint64_t size, std::string_view name) {
  std::vector<const TensorEntry*> sorted;
  sorted.reserve(entries.size());
  for (const TensorEntry& entry : entries) sorted.push_back(&entry);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->offsets < b->offsets; });
  std::uint64_t end = 0;
  for (const TensorEntry* entry : sorted) {
    if (entry->offsets[0] != end)
      damaged(name, "tensors without holes and overlaps, the next at " + std::to_string(end), place(*entry));
    end = entry->offsets[1];
  }
  if (end != size)
    damaged(name, "tensors that fill the " + std::to_string(size) + " bytes after the header", std::to_string(end));
}

std::vector<double> numbers_of(std::string_view bytes, bool is_double) {
  if (is_double) {
    std::vector<double> numbers(bytes.size() / sizeof(double));
    if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return numbers;
  }
  std::vector<double> numbers(bytes.size() / sizeof(float));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    float number = 0;
    std::memcpy(&number, bytes.data() + i * sizeof(float), sizeof(float));
    numbers[i] = static_cast<double>(number);
  }
  return numbers;
}

// Checks tensors before they are written. An Error here is about the program, not about a file.
void check_tensors(const std::vector<Tensor>& tensors) {
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const Tensor& tensor : tensors) {
    names.emplace_back(tensor.name);
    if (tensor.name == "__metadata__")
      throw Error("safetensors", "a name other than __metadata__", "it", "rename the tensor");
    if (count_of(tensor.shape) != tensor.data.size())
      throw Error("safetensors", "as many numbers as the shape has",
                  std::to_string(tensor.data.size()) + " in " + shown(tensor.name), "correct its shape");
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end())
    throw Error("safetensors", "tensors with different names", shown(*twice) + " twice", "rename one");
}

std::string header_of(const SafetensorsFile& file) {
  using nlohmann::json;
  try {
    std::string header = "{";
    if (!file.metadata.empty()) header.append("\"__metadata__\":").append(json(file.metadata).dump());
    std::size_t at = 0;
    for (const Tensor& tensor : file.tensors) {
      const std::size_t end = at + tensor.data.size() * sizeof(double);
      const json entry{{"dtype", "F64"}, {"shape", tensor.shape}, {"data_offsets", {at, end}}};
      if (header.size() > 1) header += ',';
      header.append(json(tensor.name).dump()).append(":").append(entry.dump());
      at = end;
    }
    return header += '}';
  } catch (const json::type_error&) {
    throw Error("safetensors", "names and metadata in UTF-8", "other bytes", "convert them first");
  }
}

}  // namespace

const Tensor* SafetensorsFile::find(std::string_view name) const {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [name](const Tensor& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

std::string SafetensorsFile::to_bytes() const {
  check_tensors(tensors);
  std::string header = header_of(*this);
  header.append((8 - header.size() % 8) % 8, ' ');  // so that the numbers are aligned when the file is mapped
  if (header.size() > longest_safetensors_header)
    throw Error("safetensors", "a header of at most " + std::to_string(longest_safetensors_header) + " bytes",
                std::to_string(header.size()), "save fewer tensors or less metadata");
  const std::uint64_t length = header.size();
  std::string bytes;
  bytes.reserve(
      std::accumulate(tensors.begin(), tensors.end(), length_size + header.size(),
                      [](std::size_t sum, const Tensor& tensor) { return sum + tensor.data.size() * sizeof(double); }));
  bytes.append(reinterpret_cast<const char*>(&length), length_size);
  bytes += header;
  for (const Tensor& tensor : tensors)
    bytes.append(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size() * sizeof(double));
  return bytes;
}

SafetensorsFile SafetensorsFile::parse(std::string_view bytes, std::string_view name) {
  std::uint64_t length = 0;
  if (bytes.size() < length_size) damaged(name, "8 bytes with the header's length", std::to_string(bytes.size()));
  std::memcpy(&length, bytes.data(), length_size);
  bytes.remove_prefix(length_size);
  if (length > longest_safetensors_header)
    damaged(name, "a header of at most " + std::to_string(longest_safetensors_header) + " bytes",
            std::to_string(length));
  if (length > bytes.size())
    damaged(name, "a header of " + std::to_string(length) + " bytes", "only " + std::to_string(bytes.size()));
  const std::string_view numbers = bytes.substr(static_cast<std::size_t>(length));
  detail::SafetensorsHeader header = detail::parse_header(bytes.substr(0, static_cast<std::size_t>(length)), name);
  for (const TensorEntry& entry : header.entries) check_entry(entry, name);
  check_places(header.entries, numbers.size(), name);

  SafetensorsFile file;
  file.metadata = std::move(header.metadata);
  file.tensors.reserve(header.entries.size());
  for (TensorEntry& entry : header.entries) {
    const auto begin = static_cast<std::size_t>(entry.offsets[0]), end = static_cast<std::size_t>(entry.offsets[1]);
    file.tensors.push_back({std::move(entry.name),
                            {entry.shape.begin(), entry.shape.end()},
                            numbers_of(numbers.substr(begin, end - begin), entry.dtype == "F64")});
  }
  return file;
}

void SafetensorsFile::write(const std::string& path) const { write_file(path, to_bytes()); }

SafetensorsFile SafetensorsFile::read(const std::string& path) {
  return parse(read_file(path, longest_safetensors_file), detail::printable(path));
}

}  // namespace gradwalk
