// SPDX-License-Identifier: MIT
// record: the graph below the outputs, each node once. Constants are folded and equal nodes shared on the way: a node
// is looked up by its op and operands before it is added.
#include <bit>

#include "engine/by_op.hpp"
#include "gradwalk/error.hpp"
#include "gradwalk/reading.hpp"
#include "number_map.hpp"
#include "passes.hpp"

namespace gradwalk::compiler {
namespace {

// Recent nodes by what they compute. A bucket is a cache line and forgets the one not met for longest, so that the
// table stays small however large the graph is; what it forgets is computed twice.
class Known {
 public:
  // The node's place in the list if it is known; otherwise `fresh`, which is known from now on.
  Id find(const std::vector<Scalar>& nodes, const Scalar& node, Id fresh) {
    std::uint64_t hash = static_cast<std::uint64_t>(node.op) + 1;
    for (const Id operand : node.operands) hash = (hash ^ operand) * 0x9e3779b97f4a7c15u, hash ^= hash >> 29;
    Bucket& bucket = buckets_[hash % buckets_.size()];
    const auto tag = static_cast<std::uint32_t>(hash >> 32) | 1;
    std::size_t i = 0;
    for (; i < ways; ++i)
      if (bucket.tags[i] == tag) {
        const Scalar& other = nodes[bucket.ids[i]];
        if (other.op == node.op && other.operands == node.operands) break;
      }
    const Id found = i < ways ? bucket.ids[i] : fresh;
    for (i = i < ways ? i : ways - 1; i > 0; --i) {
      bucket.tags[i] = bucket.tags[i - 1];
      bucket.ids[i] = bucket.ids[i - 1];
    }
    bucket.tags[0] = tag;
    bucket.ids[0] = found;
    return found;
  }

 private:
  static constexpr std::size_t ways = 8;
  struct alignas(64) Bucket {
    std::array<std::uint32_t, ways> tags{};
    std::array<Id, ways> ids{};
  };
  std::vector<Bucket> buckets_ = std::vector<Bucket>(8192);
};

class Recorder {
 public:
  Recorder(Recorded& recorded) : all_(recorded.scalars) {}

  Id constant(double number) {
    Id& place = constants_[std::bit_cast<std::uint64_t>(number)];
    if (place == none) {
      place = static_cast<Id>(all_.nodes.size());
      all_.nodes.push_back({Op::constant, Domain::constant, {static_cast<Id>(all_.numbers.size()), none, none}});
      all_.numbers.push_back(number);
    }
    return place;
  }

  Id node(Op op, std::array<Id, 3> operands) {
    if (op == Op::pow) {
      const Scalar& exponent = all_.nodes[operands[1]];
      if (exponent.op == Op::constant && all_.nodes[operands[0]].op != Op::constant)
        if (const Id power = whole_power(operands[0], all_.numbers[exponent.operands[0]]); power != none) return power;
    }
    // x + 0 and 1 * x are x; x * 0 is not 0, for x may not be finite.
    const auto is = [&](Id id, double number) {
      return all_.nodes[id].op == Op::constant && all_.numbers[all_.nodes[id].operands[0]] == number;
    };
    const double neutral = op == Op::mul || op == Op::div ? 1 : 0;
    if (op == Op::add || op == Op::sub || op == Op::mul || op == Op::div) {
      if (is(operands[1], neutral)) return operands[0];
      if ((op == Op::add || op == Op::mul) && is(operands[0], neutral)) return operands[1];
    }
    Scalar scalar{op, Domain::constant, operands};
    for (const Id operand : operands)
      if (operand != none) scalar.domain = std::max(scalar.domain, all_.nodes[operand].domain);
    if (scalar.domain == Domain::constant) return folded(op, operands);
    if ((op == Op::add || op == Op::mul) && operands[1] < operands[0])
      std::swap(scalar.operands[0], scalar.operands[1]);
    const auto fresh = static_cast<Id>(all_.nodes.size());
    const Id found = known_.find(all_.nodes, scalar, fresh);
    if (found == fresh) all_.nodes.push_back(scalar);
    return found;
  }

 private:
  // Small powers as products, which have the same derivatives.
  Id whole_power(Id x, double exponent) {
    const auto product = [&](Id a, Id b) { return node(Op::mul, {a, b, none}); };
    if (exponent == 1) return x;
    if (exponent == 2) return product(x, x);
    if (exponent == 3) return product(product(x, x), x);
    if (exponent == 4) return whole_power(product(x, x), 2);
    return exponent == -1 ? node(Op::div, {constant(1), x, none}) : none;
  }

  Id folded(Op op, const std::array<Id, 3>& operands) {
    std::array<double, 3> in{};
    for (std::size_t i = 0; i < in.size(); ++i)
      if (operands[i] != none) in[i] = all_.numbers[all_.nodes[operands[i]].operands[0]];
    return constant(detail::rule_value(op, in));
  }

  Scalars& all_;
  Known known_;
  NumberMap constants_;
};

std::string named(const Value& value) {
  return value.label().empty() ? "a node with data " + std::to_string(value.data()) : "\"" + value.label() + "\"";
}

// The places in the listing of the leaves that are inputs or parameters, and what they are.
void mark(std::span<const Value> leaves, const Reading& reading, const char* what, Id first, std::vector<Id>& places) {
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].op() != Op::leaf)
      throw Error("compile", std::string("leaves as ") + what, named(leaves[i]) + ", which was computed",
                  std::string("give the leaves it was computed from as ") + what);
    const auto number = reading.find(leaves[i]);
    if (!number) continue;  // nothing depends on it
    if (places[*number] != none)
      throw Error("compile", "each leaf once, as an input or as a parameter", named(leaves[i]) + " twice",
                  "give it once");
    places[*number] = first + static_cast<Id>(i);
  }
}

}  // namespace

Recorded record(std::span<const Value> outputs, std::span<const Value> inputs, std::span<const Value> parameters) {
  if (outputs.empty()) throw Error("compile", "at least one output", "none", "give the Values that are wanted");
  const Reading reading(outputs);
  const Listing listing = reading.list();
  Recorded recorded;
  Scalars& all = recorded.scalars;
  all.parameters = parameters.size();
  all.inputs = inputs.size();
  all.recorded = listing.nodes.size();
  all.nodes.reserve(listing.nodes.size());
  for (std::size_t i = 0; i < parameters.size(); ++i)
    all.nodes.push_back({Op::leaf, Domain::uniform, {static_cast<Id>(i), none, none}});
  for (std::size_t i = 0; i < inputs.size(); ++i)
    all.nodes.push_back({Op::leaf, Domain::varying, {static_cast<Id>(i), none, none}});

  Recorder recorder(recorded);
  std::vector<Id> places(listing.nodes.size(), none);  // where the nodes of the listing are in ours
  mark(parameters, reading, "parameters", 0, places);
  mark(inputs, reading, "inputs", static_cast<Id>(parameters.size()), places);
  for (std::size_t i = 0; i < listing.leaves; ++i) {
    if (places[i] != none) continue;
    if (reading.is_held(i)) recorded.frozen.push_back({reading.node(i), reading.data(i)});
    places[i] = recorder.constant(reading.data(i));
  }
  const auto place = [&](std::uint32_t listed) {
    return (listed & Listing::number) != 0 ? recorder.constant(listing.numbers[listed - Listing::number])
                                           : places[listed];
  };
  for (std::size_t i = listing.leaves; i < listing.nodes.size(); ++i) {
    const Listing::Node& node = listing.nodes[i];
    if (node.op == Op::custom)
      throw Error("compile", "operations of the table", "a custom node, whose derivatives are its user's",
                  "write it with operations of Values, or leave it outside");
    std::array<Id, 3> operands{none, none, none};
    for (std::size_t k = 0; k < 3; ++k)
      if (node.operands[k] != Listing::none) operands[k] = place(node.operands[k]);
    places[i] = recorder.node(node.op, operands);
  }
  for (const std::uint32_t root : listing.roots) all.outputs.push_back(place(root));
  return recorded;
}

}  // namespace gradwalk::compiler
