// SPDX-License-Identifier: MIT
// record: the graph below the outputs, each node once. Constants are folded and equal nodes shared on the way: a node
// is looked up by its op and operands before it is added.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "engine/by_op.hpp"
#include "gradwalk/error.hpp"
#include "gradwalk/reading.hpp"
#include "number_map.hpp"
#include "passes.hpp"
#include "text/numbers.hpp"

namespace gradwalk::compiler {
namespace {

// Recent nodes by what they compute. A bucket has room for a few, the last used one first, and a new one takes the
// place of the last one. So the table stays in the cache however large the graph is; what it forgets is computed twice.
class Known {
 public:
  explicit Known(std::size_t graph) : bits_(std::clamp(static_cast<int>(std::bit_width(graph)), 6, 14)) {
    buckets_.resize(std::size_t{1} << bits_);
  }

  // That a node with these operands will be looked for soon.
  void expect(Op op, const std::array<Id, 3>& operands) const {
    __builtin_prefetch(&buckets_[hash_of(op, operands) >> (64 - bits_)]);
  }

  // The node's place in the list if it is known; otherwise `fresh`, which is known from now on.
  Id find(const List<Scalar>& nodes, const Scalar& node, Id fresh) {
    const std::uint64_t hash = hash_of(node.op, node.operands);
    Bucket& bucket = buckets_[hash >> (64 - bits_)];
    const auto tag = static_cast<std::uint32_t>(hash >> 8) | 1;
    std::size_t place = 0;
    while (place < ways && !is(bucket, place, tag, nodes, node)) ++place;
    const Id id = place < ways ? bucket.ids[place] : fresh;
    for (place = std::min(place, ways - 1); place > 0; --place) {
      bucket.tags[place] = bucket.tags[place - 1];
      bucket.ids[place] = bucket.ids[place - 1];
    }
    bucket.tags[0] = tag;
    bucket.ids[0] = id;
    return id;
  }

 private:
  // Of add and mul the smaller operand comes first.
  static std::uint64_t hash_of(Op op, const std::array<Id, 3>& operands) {
    const auto [a, b, c] = operands;
    const std::uint64_t hash = (std::uint64_t{a} << 32 | b) * 0x9e3779b97f4a7c15u;
    return (hash ^ hash >> 32 ^ (std::uint64_t{c} << 8 | static_cast<std::uint64_t>(op))) * 0xff51afd7ed558ccdu;
  }

  static constexpr std::size_t ways = 4;
  struct alignas(32) Bucket {
    std::array<std::uint32_t, ways> tags{};
    std::array<Id, ways> ids{};
  };
  static bool is(const Bucket& bucket, std::size_t place, std::uint32_t tag, const List<Scalar>& nodes,
                 const Scalar& node) {
    if (bucket.tags[place] != tag) return false;
    const Scalar& other = nodes[bucket.ids[place]];
    return other.op == node.op && other.operands == node.operands;
  }

  int bits_;
  std::vector<Bucket> buckets_;
};

class Recorder {
 public:
  // The leaves are in the list already.
  explicit Recorder(Scalars& all) : all_(all), known_(all.recorded) {
    rates_.reserve(all_.nodes.capacity());
    for (const Scalar& leaf : all_.nodes) rates_.push_back(leaf.rate);
  }

  Id constant(double number) {
    Id& place = constants_[std::bit_cast<std::uint64_t>(number)];
    if (place == none) {
      place = static_cast<Id>(all_.nodes.size());
      all_.nodes.push_back({Op::constant, Rate::constant, {static_cast<Id>(all_.numbers.size()), none, none}});
      all_.numbers.push_back(number);
      rates_.push_back(Rate::constant);
    }
    return place;
  }

  void expect(Op op, std::array<Id, 3> operands) const {
    order(op, operands[0], operands[1]);
    known_.expect(op, operands);
  }

  // The value with this index. If the values are the same for all rows and the index is not, it is a node: a look-up.
  // Otherwise it is the sum of select(index == k, values[k], 0) over all k. Computing the values of each row takes
  // longer than this sum.
  Id pick(const std::vector<Id>& values, Id index) {
    const std::size_t size = values.size();
    if (rate(index) == Rate::constant) {
      const double number = all_.numbers[all_.nodes[index].operands[0]];
      if (!(number >= 0 && number < static_cast<double>(size) && number == std::floor(number)))
        throw Error("compile", "a whole number from 0 to " + std::to_string(size - 1) + " as the index of a pick",
                    detail::format_number(number), "check the index, and count from 0");
      return values[static_cast<std::size_t>(number)];
    }
    if (indices_.emplace(index, size).second) index_list_.emplace_back(index, size);
    const bool is_varying =
        std::any_of(values.begin(), values.end(), [&](Id value) { return rate(value) == Rate::varying; });
    if (rate(index) == Rate::varying && !is_varying) {
      const auto [table, is_new] = tables_.emplace(values, static_cast<Id>(all_.tables.size()));
      if (is_new) all_.tables.push_back(values);
      return add({Op::pick, Rate::varying, {index, table->second, none}});
    }
    Id sum = none;
    for (std::size_t k = 0; k < size; ++k) {
      const Id is_own = node(Op::equal, index, constant(static_cast<double>(k)));
      const Id value = node(Op::select, is_own, values[k], constant(0));
      sum = sum == none ? value : node(Op::add, sum, value);
    }
    return sum;
  }

  // The indices of picks become the last outputs.
  void check_indices() {
    for (const auto& [index, size] : index_list_) {
      all_.outputs.push_back(index);
      all_.index_sizes.push_back(size);
    }
  }

  Id node(Op op, Id x, Id y = none, Id z = none) {
    // -(-x) is x: so chains of negations stay short.
    if (op == Op::neg && all_.nodes[x].op == Op::neg) return all_.nodes[x].operands[0];
    const Rate first = rate(x), second = rate(y), all = std::max({first, second, rate(z)});
    if (first == Rate::constant || second == Rate::constant)
      if (const Id same = without_constant(op, {x, y, z}); same != none) return same;
    if (all == Rate::constant) return folded(op, {x, y, z});
    order(op, x, y);
    return add({op, all, {x, y, z}});
  }

 private:
  // The node, or an equal one that is known.
  Id add(const Scalar& scalar) {
    const auto fresh = static_cast<Id>(all_.nodes.size());
    const Id found = known_.find(all_.nodes, scalar, fresh);
    if (found == fresh) {
      append(all_.nodes, scalar);
      rates_.push_back(scalar.rate);
    }
    return found;
  }

  static void order(Op op, Id& x, Id& y) {
    if ((op == Op::add || op == Op::mul) && y < x) std::swap(x, y);
  }

  // What is nobody's operand changes no rate. A byte a node, for most of what is asked is far back in the list.
  Rate rate(Id id) const { return id == none ? Rate::constant : rates_[id]; }
  bool is(Id id, double number) const {
    return rates_[id] == Rate::constant && all_.numbers[all_.nodes[id].operands[0]] == number;
  }

  // The node that this one is equal to where an operand is a number that makes it so, or none.
  Id without_constant(Op op, const std::array<Id, 3>& operands) {
    const auto [x, y, z] = operands;
    if (op == Op::pow && rate(x) != Rate::constant) return whole_power(x, all_.numbers[all_.nodes[y].operands[0]]);
    // x + 0 and 1 * x are x; x * 0 is not 0, for x may not be finite.
    if (op != Op::add && op != Op::sub && op != Op::mul && op != Op::div) return none;
    const double neutral = op == Op::mul || op == Op::div ? 1 : 0;
    if (is(y, neutral)) return x;
    return (op == Op::add || op == Op::mul) && is(x, neutral) ? y : none;
  }

  // Small powers as products, which have the same derivatives.
  Id whole_power(Id x, double exponent) {
    const auto product = [&](Id a, Id b) { return node(Op::mul, a, b); };
    if (exponent == 1) return x;
    if (exponent == 2) return product(x, x);
    if (exponent == 3) return product(product(x, x), x);
    if (exponent == 4) return whole_power(product(x, x), 2);
    return exponent == -1 ? node(Op::div, constant(1), x) : none;
  }

  Id folded(Op op, const std::array<Id, 3>& operands) {
    std::array<double, 3> in{};
    for (std::size_t i = 0; i < in.size(); ++i)
      if (operands[i] != none) in[i] = all_.numbers[all_.nodes[operands[i]].operands[0]];
    return constant(detail::rule_value(op, in));
  }

  Scalars& all_;
  List<Rate> rates_;
  Known known_;
  NumberMap constants_;
  std::map<std::vector<Id>, Id> tables_;                // of picks, and their numbers
  std::set<std::pair<Id, std::size_t>> indices_;        // of picks, and the number of values to choose from
  std::vector<std::pair<Id, std::size_t>> index_list_;  // the same in the order in which they were met
};

std::string named(const Value& value) {
  return value.label().empty() ? "a node with data " + std::to_string(value.data()) : "\"" + value.label() + "\"";
}

[[noreturn]] void refuse_twice(const Value& leaf) {
  throw Error("compile", "each leaf once, as an input or as a parameter", named(leaf) + " twice", "give it once");
}

// The places in the listing of the leaves that are inputs or parameters, and what they are.
// Those on which nothing depends are added to `unused`.
void mark(std::span<const Value> leaves, const Reading& reading, const char* what, Id first, List<Id>& places,
          std::vector<const Value*>& unused) {
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].op() != Op::leaf)
      throw Error("compile", std::string("leaves as ") + what, named(leaves[i]) + ", which was computed",
                  std::string("give the leaves it was computed from as ") + what);
    const auto number = reading.find(leaves[i]);
    if (!number)
      unused.push_back(&leaves[i]);
    else if (places[*number] != none)
      refuse_twice(leaves[i]);
    else
      places[*number] = first + static_cast<Id>(i);
  }
}

void check_each_once(std::vector<const Value*>& leaves) {
  std::sort(leaves.begin(), leaves.end(), [](const Value* x, const Value* y) { return x->id() < y->id(); });
  const auto twice = std::adjacent_find(leaves.begin(), leaves.end(),
                                        [](const Value* x, const Value* y) { return x->id() == y->id(); });
  if (twice != leaves.end()) refuse_twice(**twice);
}

[[noreturn]] void refuse_custom(const Reading& reading) {
  std::string name;
  for (std::size_t i = reading.leaves(); i < reading.size() && name.empty(); ++i)
    if (reading.op(i) == Op::custom) name = reading.node(i).op_name();
  throw Error("compile", "operations of the table", "the custom node '" + name + "', whose derivatives are its user's",
              "write it with operations of Values, or leave it outside");
}

}  // namespace

Recorded record(std::span<const Value> outputs, std::span<const Value> inputs, std::span<const Value> parameters) {
  if (outputs.empty()) throw Error("compile", "at least one output", "none", "give the Values that are wanted");
  const Reading reading(outputs, "compile");
  for (const Value& output : outputs)
    if (reading.is_unrecorded(*reading.find(output)))
      throw Error("compile", "outputs that were recorded", named(output) + ", which was computed under NoGrad",
                  "compute it where no NoGrad guard lives");
  const Listing listing = reading.list();
  Recorded recorded;
  recorded.decisions = reading.decisions();
  Scalars& all = recorded.scalars;
  all.parameters = parameters.size();
  all.inputs = inputs.size();
  all.recorded = listing.nodes.size();
  all.nodes.reserve(listing.nodes.size());
  for (std::size_t i = 0; i < parameters.size(); ++i)
    all.nodes.push_back({Op::leaf, Rate::uniform, {static_cast<Id>(i), none, none}});
  for (std::size_t i = 0; i < inputs.size(); ++i)
    all.nodes.push_back({Op::leaf, Rate::varying, {static_cast<Id>(i), none, none}});

  Recorder recorder(all);
  List<Id> places(listing.nodes.size(), none);  // where the nodes of the listing are in ours
  std::vector<const Value*> unused;
  mark(parameters, reading, "parameters", 0, places, unused);
  mark(inputs, reading, "inputs", static_cast<Id>(parameters.size()), places, unused);
  check_each_once(unused);
  for (std::size_t i = 0; i < listing.leaves; ++i)
    if (places[i] == none && reading.is_held(i)) recorded.frozen.push_back({reading.node(i), reading.data(i)});
  auto first = recorded.frozen.begin();  // Those with a label come first.
  for (Frozen& one : recorded.frozen)
    if (!one.leaf.label().empty()) std::swap(*first++, one);
  // The other leaves are constants, added where they are first used: leaves are listed as they lie in memory, and a
  // program is to be the same wherever that is.
  const auto place = [&](std::uint32_t listed) {
    if ((listed & Listing::number) != 0) return recorder.constant(listing.numbers[listed - Listing::number]);
    if (places[listed] == none) places[listed] = recorder.constant(reading.data(listed));
    return places[listed];
  };
  // Most of the time is waiting for memory: what a node a little later needs is asked for where its operands are known.
  constexpr std::size_t ahead = 8;
  const auto expect = [&](const Listing::Node& node, std::size_t known) {
    std::array<Id, 3> operands{none, none, none};
    for (std::size_t k = 0; k < 3; ++k) {
      if (node.operands[k] == Listing::none) continue;
      if (node.operands[k] > known) return;  // a number, or still to come
      operands[k] = places[node.operands[k]];
    }
    recorder.expect(node.op, operands);
  };
  std::size_t picks = 0;
  std::vector<std::vector<Id>> tables(listing.tables.size());
  const auto table = [&](std::uint32_t t) -> const std::vector<Id>& {
    if (tables[t].empty())
      for (const std::uint32_t value : listing.tables[t]) tables[t].push_back(place(value));
    return tables[t];
  };
  for (std::size_t i = listing.leaves; i < listing.nodes.size(); ++i) {
    const Listing::Node& node = listing.nodes[i];
    if (node.op == Op::custom) refuse_custom(reading);
    if (node.op == Op::pick) {
      places[i] = recorder.pick(table(listing.picks[picks++]), place(node.operands[0]));
      continue;
    }
    const auto operand = [&](std::size_t k) {
      return node.operands[k] == Listing::none ? none : place(node.operands[k]);
    };
    places[i] = recorder.node(node.op, operand(0), operand(1), operand(2));
    if (i + ahead < listing.nodes.size()) expect(listing.nodes[i + ahead], i);
  }
  for (const std::uint32_t root : listing.roots) all.outputs.push_back(place(root));
  recorder.check_indices();
  return recorded;
}

std::vector<std::string> check_comparisons(const char* call, std::span<const Decision> decisions, bool ignore) {
  std::vector<std::string> texts;
  for (const Decision& one : decisions)
    texts.push_back(detail::format_number(one.x) + " " + std::string(symbol(one.op)) + " " +
                    detail::format_number(one.y));
  if (texts.empty() || ignore) return texts;
  throw Error(
      call, "a graph that no comparison decided",
      "one that was recorded while " + texts.front() +
          (texts.size() == 1 ? " became a bool" : " and others became bools"),
      "write select(condition, a, b) in place of a branch, or compile the function, which follows its branches; "
      "set ignore_comparisons if the graph does not depend on the outcome");
}

}  // namespace gradwalk::compiler
