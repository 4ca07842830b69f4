// SPDX-License-Identifier: MIT
// Which instruction sets there are, found out once, and the kernels of one of them by its name.
#include "compile/kernels.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "compile/tables.hpp"
#include "gradwalk/error.hpp"

namespace gradwalk::detail {
namespace {

template <class T> const std::vector<Kernels<T>>& tables() {
  static const std::vector<Kernels<T>> all = tables_of_this_machine<T>();
  return all;
}

}  // namespace

std::span<const std::string_view> instruction_sets() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const Kernels<double>& table : tables<double>()) all.push_back(table.name);
    return all;
  }();
  return names;
}

template <class T> const Kernels<T>& kernels(std::string_view name) {
  const std::vector<Kernels<T>>& all = tables<T>();
  if (name.empty()) return all.front();
  const auto found = std::ranges::find(all, name, &Kernels<T>::name);
  if (found != all.end()) return *found;
  std::string names;
  for (const std::string_view has : instruction_sets()) names += (names.empty() ? "" : ", ") + std::string(has);
  throw Error("kernels", "an instruction set of this machine", "'" + std::string(name) + "'", "give one of " + names);
}
template const Kernels<float>& kernels<float>(std::string_view name);
template const Kernels<double>& kernels<double>(std::string_view name);

}  // namespace gradwalk::detail
