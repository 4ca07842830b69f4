// SPDX-License-Identifier: MIT
// Random inputs, which threads make.
#include <algorithm>

#include "row_kernels.hpp"

namespace gradwalk::emit {
namespace {

using std::to_string;

}  // namespace

Distribution RowKernels::distribution_of(std::size_t input) const {
  const bool is_normal = input < options_.inputs.size() + options_.normals.size();
  return is_normal ? Distribution::normal : Distribution::uniform;
}

std::uint32_t RowKernels::random_index(const Leaf& input) const {
  const bool is_normal = distribution_of(input.index) == Distribution::normal;
  return input.index - static_cast<std::uint32_t>(options_.inputs.size() + (is_normal ? 0 : options_.normals.size()));
}

bool RowKernels::mixes_inputs() const {
  const auto kind_of = [&](std::int64_t input) {
    const auto index = static_cast<std::size_t>(input);
    return index < options_.inputs.size() ? 0 : distribution_of(index) == Distribution::normal ? 1 : 2;
  };
  for (const Section& section : cut_.sections)
    for (const Leaf& one : section.part.leaves)
      if (one.from == Leaf::From::round_input &&
          kind_of(one.index) != kind_of(one.index + std::int64_t{one.step} * (section.loop->rounds - 1)))
        return true;
  return false;
}

std::string RowKernels::make_blocks(Distribution distribution, const std::string& first, std::size_t blocks) {
  const std::string name = fresh("r");
  line("real " + name + "[" + to_string(blocks * block_size()) + "];");
  const std::string function = distribution == Distribution::normal ? "gw_normals" : "gw_uniforms",
                    stream = to_string(stream_of(distribution));
  for (std::size_t i = 0; i < blocks; ++i) {
    std::string call = function + "(gw_philox(number, " + first;
    if (i > 0) call.append(" + ").append(to_string(i));
    call.append(", ").append(stream).append(", seed), ").append(name);
    if (i > 0) call.append(" + ").append(to_string(i * block_size()));
    line(call + ");");
  }
  return name;
}

std::string RowKernels::random_input(const Leaf& input, Scope& scope) {
  const Distribution distribution = distribution_of(input.index);
  const std::uint32_t index = random_index(input);
  const auto each = static_cast<std::uint32_t>(block_size());
  if (input.step != 0) {
    const std::string at = "(" + this->index(index, input.step, scope.round) + ")";
    const std::string name = make_blocks(distribution, "(unsigned)" + at + " / " + to_string(each) + "u", 1);
    return scope.known[input] = name + "[" + at + " % " + to_string(each) + "]";
  }
  const std::string name = make_blocks(distribution, to_string(index / each) + "u", 1);
  const std::uint32_t first = input.index - index % each;
  for (std::uint32_t i = 0; i < each; ++i)
    if (distribution_of(first + i) == distribution)
      scope.known[{input.from, first + i, 0}] = name + "[" + to_string(i) + "]";
  return scope.known.at(input);
}

void RowKernels::random_ahead(const Part& part, std::uint32_t rounds, Scope& inside) {
  std::map<std::pair<Distribution, std::int32_t>, std::vector<Leaf>> groups;
  for (const Leaf& one : part.leaves)
    if (one.from == Leaf::From::round_input && is_random(one))
      groups[{distribution_of(one.index), one.step}].push_back(one);
  const auto each = static_cast<std::uint32_t>(block_size());
  for (const auto& [kind, leaves] : groups) {
    const auto [distribution, step] = kind;
    if (step <= 0 || static_cast<std::uint32_t>(step) * rounds % each != 0) continue;
    const auto advance = static_cast<std::uint32_t>(step);
    std::uint32_t least = random_index(leaves[0]), most = least;
    for (const Leaf& one : leaves) {
      least = std::min(least, random_index(one));
      most = std::max(most, random_index(one));
    }
    const std::uint32_t first = least / each * each, end = most + advance * (rounds - 1) + 1;
    // Leaves that lie far apart would make more numbers than they read.
    if (most - least >= advance + each) continue;
    const std::string name = make_blocks(
        distribution,
        "(" + to_string(first) + "u + " + to_string(advance) + "u * (unsigned)s) / " + to_string(each) + "u",
        (end - first + each - 1) / each);
    for (const Leaf& one : leaves)
      inside.known[one] = name + "[" + to_string(random_index(one) - first) + " + " + to_string(advance) + " * j]";
  }
}

}  // namespace gradwalk::emit
