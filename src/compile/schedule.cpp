// SPDX-License-Identifier: MIT
// schedule: gives every number its place and makes vector instructions of the groups. The members of a group lie side
// by side, in the order of their first operands, so that operands lie side by side as well; where they do not, a table
// says where. A varying place is used again after the last instruction, of either pass, that reads it.
#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>

#include "first_writers.hpp"
#include "gradwalk/error.hpp"
#include "number_map.hpp"
#include "passes.hpp"
#include "slots.hpp"
#include "steps.hpp"

namespace gradwalk::compiler {
namespace {

constexpr std::uint32_t alignment = 8;  // places: a group that fills a vector begins where one does
constexpr std::size_t short_run = 8;    // numbers; neighbours shorter than this share an instruction with tables
// Uniform numbers, and terms of a sum, that are computed sooner by steps than by a vector instruction.
constexpr std::size_t few_numbers = 3, few_terms = 32;

struct Place {
  Rate rate = Rate::constant;
  std::uint32_t at = none;
  bool is_like(const Place& other) const { return rate == other.rate && (at == none) == (other.at == none); }
};

// One operand, or factor, of each number of a vector.
using Column = List<Place>;

class Scheduler {
 public:
  Scheduler(const Terms& terms, const Groups& groups, std::uint64_t hash_mask)
      : terms_(terms), groups_(groups), hash_mask_(hash_mask), places_(terms.nodes.size()) {
    all_.parameters = terms.parameters;
    all_.inputs = terms.inputs;
  }

  Instructions run() {
    place_leaves();
    join_relus();
    place_groups();
    emit_groups();
    list_results();
    address_steps();
    find_looked_up();
    all_.uniform.insert(all_.uniform.begin(), constant_copies_.begin(), constant_copies_.end());
    all_.uniform.insert(all_.uniform.end(), packs_.begin(), packs_.end());
    for (std::vector<Instruction>* list :
         {&all_.uniform, &all_.varying, &all_.varying_backward, &all_.outers, &all_.scatters, &all_.uniform_backward})
      list->shrink_to_fit();
    all_.factors.shrink_to_fit();
    all_.tables.shrink_to_fit();
    all_.steps.shrink_to_fit();
    all_.constants.shrink_to_fit();
    all_.gradients.shrink_to_fit();
    return std::move(all_);
  }

 private:
  const Node& node(Id id) const { return terms_.nodes[id]; }
  std::span<const Product> products(Id id) const { return terms_.products_of(id); }
  Place place(Id id) const {
    if (id == none) return {};
    if (verifies && !holders_.empty() && places_[id].rate == Rate::varying && holders_[places_[id].at] != id)
      throw Error("compile, in schedule", "numbers that are still there when they are read",
                  "node " + std::to_string(id), "report this: it is a mistake of gradwalk's");
    return places_[id];
  }

  void place_leaves() {
    std::uint32_t parameters = 0, inputs = 0;
    for (Id id = 0; id < terms_.first_computed(); ++id) {
      const Node& leaf = node(id);
      if (leaf.kind == Kind::parameter) {
        places_[id] = {Rate::uniform, parameters++};
      } else if (leaf.kind == Kind::input) {
        places_[id] = {Rate::varying, inputs++};
      } else {
        places_[id] = constant(leaf.number);
      }
    }
    all_.uniform_places = parameters;
    all_.varying_places = inputs;
  }

  // Seeds get places of their own; row gradients are where the numbers are that they belong to.
  void begin_backward() {
    is_backward_ = true;
    for (Id id = terms_.end_of_forward(); id < terms_.nodes.size(); ++id) {
      const Node& one = node(id);
      if (one.kind == Kind::zero || (one.kind == Kind::seed && one.rate == Rate::varying)) {
        places_[id] = {Rate::varying, slots_.take(1)};
        (one.kind == Kind::zero ? all_.zero : all_.row_seed) = places_[id].at;
      } else if (one.kind == Kind::seed) {
        places_[id] = {Rate::uniform, all_.uniform_places++};
      } else if (one.kind == Kind::row_gradient) {
        places_[id] = {Rate::row_gradient, places_[terms_.operands[one.begin]].at};
      }
    }
  }

  void list_results() {
    for (const Id output : terms_.outputs) all_.outputs.push_back({places_[output].rate, places_[output].at});
    for (const Id seed : terms_.seeds)
      all_.seeds.push_back(seed == none || places_[seed].rate != Rate::uniform ? none : places_[seed].at);
    for (std::uint32_t i = 0; i < terms_.gradients.size(); ++i) {
      if (terms_.gradients[i] == none) continue;
      const Place at = places_[terms_.gradients[i]];
      if (at.rate != Rate::row_gradient || at.at != i) all_.gradients.push_back({i, {at.rate, at.at}});
    }
    for (const Id gradient : terms_.input_gradients)
      all_.input_gradients.push_back(gradient == none ? none : place(gradient).at);
  }

  Place constant(double number) {
    std::uint32_t& at = constants_[std::bit_cast<std::uint64_t>(number)];
    if (at == none) {
      at = static_cast<std::uint32_t>(all_.constants.size());
      all_.constants.push_back(number);
    }
    return {Rate::constant, at};
  }

  // ---- what is read, and when for the last time ----

  // Calls meet(operand) for all that the member of a group reads; a layer's gradients are read by its first member.
  template <class Meet> void each_operand(const Group& group, Id id, Meet meet) const {
    if (group.transposed != none) {
      if (id == group.members.front())
        for (const Id gradient : groups_.layers[group.transposed].gradients) meet(gradient);
      return;
    }
    terms_.each_operand(id, meet);
  }
  bool is_varying(Id id) const { return node(id).rate == Rate::varying; }

  // A layer whose outputs are all read by relu, and by nothing else, computes the relu, too. The members of its group
  // are then the relus.
  void join_relus() {
    members_of_ = std::vector<std::vector<Id>>(groups_.groups.size());
    for (std::size_t g = 0; g < groups_.groups.size(); ++g) members_of_[g] = groups_.groups[g].members;
    if (terms_.inputs == 0) return;
    std::vector<Id> reader(terms_.nodes.size(), none);
    std::vector<bool> is_read_twice(terms_.nodes.size());
    const auto read = [&](Id id, Id by) {
      if (reader[id] != none) is_read_twice[id] = true;
      reader[id] = by;
    };
    for (const Group& group : groups_.groups)
      for (const Id id : group.members) each_operand(group, id, [&](Id operand) { read(operand, id); });
    for (const Id output : terms_.outputs) read(output, output);
    std::vector<bool> is_joined(terms_.nodes.size());
    has_relu_.assign(groups_.groups.size(), false);
    for (std::size_t g = 0; g < groups_.forward; ++g) {
      const Group& layer = groups_.groups[g];
      if (layer.form != Group::Form::layer) continue;
      has_relu_[g] = std::all_of(layer.members.begin(), layer.members.end(), [&](Id id) {
        return reader[id] != none && !is_read_twice[id] && node(reader[id]).kind == Kind::function &&
               node(reader[id]).op == Op::relu;
      });
      if (!has_relu_[g]) continue;
      for (Id& id : members_of_[g]) {
        id = reader[id];
        is_joined[id] = true;
      }
    }
    for (std::size_t g = 0; g < groups_.forward; ++g)
      if (groups_.groups[g].form == Group::Form::function)
        std::erase_if(members_of_[g], [&](Id id) { return is_joined[id]; });
  }

  // For each group: the varying nodes that no later group reads.
  std::vector<std::vector<Id>> find_last_uses() const {
    const auto count = static_cast<std::uint32_t>(groups_.groups.size());
    std::vector<std::uint32_t> last(terms_.nodes.size(), 0);
    const auto keep = [&](Id id) { last[id] = count; };
    for (std::uint32_t g = 0; g < count; ++g)
      for (const Id id : groups_.groups[g].members)
        each_operand(groups_.groups[g], id, [&](Id operand) { last[operand] = std::max(last[operand], g); });
    for (std::uint32_t g = 0; g < count; ++g)
      for (const Id id : members_of_[g]) last[id] = std::max(last[id], g);
    for (const Id id : terms_.outputs)
      last[id] = std::max(last[id], static_cast<std::uint32_t>(std::max<std::size_t>(groups_.forward, 1) - 1));
    for (const LayerGradients& layer : groups_.layers) {
      const Group& group = groups_.groups[layer.layer];
      std::for_each(layer.gradients.begin(), layer.gradients.end(), keep);
      for (std::uint32_t c = 0; c < group.copies; ++c)
        for (const Product& product : products(group.members[c]).first(group.count)) keep(product.b);
    }
    for (const Id id : terms_.input_gradients)
      if (id != none) keep(id);
    for (const Group& group : groups_.groups)  // A block scatters after all other instructions.
      if (group.form == Group::Form::scatter)
        for (const Id id : group.members) each_operand(group, id, keep);
    std::vector<std::vector<Id>> dying(count);
    for (Id id = terms_.first_computed(); id < terms_.nodes.size(); ++id)
      if (is_varying(id) && !terms_.is_for_inputs(id) && last[id] < count) dying[last[id]].push_back(id);
    return dying;
  }

  // ---- places ----

  void place_groups() {
    const std::vector<std::vector<Id>> dying = terms_.inputs == 0 ? std::vector<std::vector<Id>>() : find_last_uses();
    slots_ = Slots(all_.varying_places);
    const bool has_backward = !terms_.seeds.empty();  // what linearize adds is run with the forward pass
    std::vector<std::uint32_t> freed;
    for (std::size_t g = 0; g < groups_.groups.size(); ++g) {
      if (g == groups_.forward && has_backward) begin_backward();
      members_ = std::move(members_of_[g]);
      if (!members_.empty()) {
        sort_members(groups_.groups[g]);
        place_members(groups_.groups[g]);
      }
      members_of_[g] = std::move(members_);
      if (dying.empty()) continue;
      freed.clear();
      for (const Id id : dying[g])
        if (places_[id].at != none) freed.push_back(places_[id].at);
      slots_.give_back(freed);
    }
    if (groups_.forward == groups_.groups.size() && has_backward) begin_backward();
    place_gradients_of_layers();
    all_.varying_places = slots_.size();
    for (Id id = terms_.end_of_forward(); id < terms_.nodes.size(); ++id)
      if (terms_.is_for_inputs(id) && places_[id].at != none) places_[id].at += all_.varying_places - first_for_inputs;
  }

  // An outer product reads the gradients of a layer's outputs side by side. Where they are not, they are copied.
  void place_gradients_of_layers() {
    for (const LayerGradients& layer : groups_.layers) {
      const std::uint32_t first = places_[layer.gradients.front()].at;
      bool is_even = true;
      for (std::uint32_t i = 0; is_even && i < layer.gradients.size(); ++i)
        is_even = places_[layer.gradients[i]].at == first + i;
      gradients_at_.push_back(is_even ? first : slots_.take(static_cast<std::uint32_t>(layer.gradients.size())));
      is_copied_.push_back(!is_even);
    }
  }

  // By the place of the first operand that is not the same for all.
  void sort_members(const Group& group) {
    if (group.form == Group::Form::layer || members_.size() < 2) return;
    if (group.form == Group::Form::shares) return sort_shares();
    if (group.rate == Rate::varying || group.form == Group::Form::row_sum || group.form == Group::Form::scatter)
      return sort_varying();
    // The nodes of the backward pass were added from the last to the first.
    if (is_backward_) std::reverse(members_.begin(), members_.end());
    const bool is_sum = group.form == Group::Form::sum;
    if (!is_sum || !is_backward_ || members_.size() < short_run) return sort_by(is_sum ? 1 : first_operand());
    std::vector<Id> best = members_;
    std::size_t most = followers(members_);
    const std::vector<Id> before = members_;
    for (const std::size_t k : {1u, 0u, 3u, 2u}) {
      members_ = before;
      sort_by(k);
      if (const std::size_t found = followers(members_); found > most) {
        most = found;
        best = members_;
      }
    }
    members_ = std::move(best);
  }
  // The shares in several extremes lie operand by operand, and for each operand in the order of the extremes.
  void sort_shares() {
    const auto extreme = [&](std::size_t i) { return terms_.operands[node(members_[i]).begin + 1]; };
    const std::size_t operands = node(extreme(0)).count, extremes = members_.size() / operands;
    order_.clear();
    for (std::size_t i = 0; i < extremes; ++i)
      order_.push_back(std::uint64_t{place(extreme(i * operands)).at} << 32 | i);
    std::sort(order_.begin(), order_.end());
    std::vector<Id> sorted;
    for (std::size_t k = 0; k < operands; ++k)
      for (const std::uint64_t one : order_) sorted.push_back(members_[static_cast<std::uint32_t>(one) * operands + k]);
    members_ = std::move(sorted);
  }
  std::size_t first_operand() const {
    std::size_t k = 0;
    while (operand_of(members_.front(), k) == none) ++k;
    return k;
  }

  // Asks for the memory of a member that a loop over members reads a little later. Most of the time of such a loop is
  // waiting for memory.
  void expect_member(std::size_t i) const {
    constexpr std::size_t ahead = 8;
    if (i + 2 * ahead >= members_.size()) return;
    __builtin_prefetch(&node(members_[i + 2 * ahead]));
    const Node& next = node(members_[i + ahead]);
    if (next.has_products())
      __builtin_prefetch(terms_.products.data() + next.begin);
    else
      __builtin_prefetch(terms_.operands.data() + next.begin);
  }

  // By the place of operand k; of a product without b, by that of a.
  void sort_by(std::size_t k) {
    order_.clear();
    bool sorted = true;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      expect_member(i);
      Id key = operand_of(members_[i], k);
      if (key == none && k % 2 == 1) key = operand_of(members_[i], k - 1);
      order_.push_back(std::uint64_t{place(key).at} << 32 | i);
      sorted &= i == 0 || order_[i - 1] < order_[i];
    }
    if (sorted) return;
    std::sort(order_.begin(), order_.end());
    std::vector<Id> by_place;
    for (const std::uint64_t one : order_) by_place.push_back(members_[static_cast<std::uint32_t>(one)]);
    members_ = std::move(by_place);
  }

  // How many operands are next to that of the member before, or the same: those need no table. A sample is enough.
  std::size_t followers(std::span<const Id> members) const {
    constexpr std::size_t sample = 128;
    const std::size_t operands = std::min<std::size_t>(operands_of(members.front()), 16);
    std::size_t found = 0;
    for (std::size_t i = 1; i < std::min(members.size(), sample); ++i)
      for (std::size_t k = 0; k < operands; ++k)
        found += place(operand_of(members[i], k)).at - place(operand_of(members[i - 1], k)).at <= 1 ? 1 : 0;
    return found;
  }

  // By that one of the first few operands which leaves most neighbours next to each other in all their operands: those
  // are done as one. Where it makes no difference, by the one that leaves most going on as they began.
  void sort_varying() {
    constexpr std::uint32_t few = 4;
    std::vector<Id> best;
    Neighbours most;
    for (std::uint32_t k = 0; k < few; ++k) {
      order_.clear();
      for (std::size_t i = 0; i < members_.size(); ++i) {
        const Id key = operand_of(members_[i], k);
        if (key == none || place(key).rate != Rate::varying) break;
        order_.push_back(std::uint64_t{place(key).at} << 32 | i);
      }
      if (order_.size() < members_.size()) continue;
      std::sort(order_.begin(), order_.end());
      std::vector<Id> sorted;
      for (const std::uint64_t one : order_) sorted.push_back(members_[static_cast<std::uint32_t>(one)]);
      const Neighbours found = neighbours(sorted);
      if (best.empty() || found > most) {
        best = std::move(sorted);
        most = found;
      }
    }
    if (!best.empty()) members_ = std::move(best);
  }

  // The operands of a function, or of a sum's products.
  std::size_t operands_of(Id id) const { return node(id).has_products() ? 2 * node(id).count : node(id).count; }
  Id operand_of(Id id, std::size_t k) const {
    if (k >= operands_of(id)) return none;
    if (!node(id).has_products()) return terms_.operands[node(id).begin + k];
    const Product& product = products(id)[k / 2];
    return k % 2 == 0 ? product.a : product.b;
  }

  struct Neighbours {
    std::size_t next = 0, even = 0;
    auto operator<=>(const Neighbours&) const = default;
  };
  Neighbours neighbours(std::span<const Id> members) const {
    Neighbours found;
    for (std::size_t i = 1; i < members.size(); ++i) {
      bool is_next = operands_of(members[i]) == operands_of(members[i - 1]), is_even = is_next && i > 1;
      for (std::size_t k = 0; (is_next || is_even) && k < operands_of(members[i]); ++k) {
        const Place here = place(operand_of(members[i], k)), before = place(operand_of(members[i - 1], k));
        const std::uint32_t step = here.at - before.at;
        is_next = is_next && step == (here.rate == Rate::varying ? 1 : 0);
        is_even = is_even && step == before.at - place(operand_of(members[i - 2], k)).at;
      }
      found.next += is_next ? 1 : 0;
      found.even += is_even ? 1 : 0;
    }
    return found;
  }

  void place_members(const Group& group) {
    if (group.form == Group::Form::row_sum || group.form == Group::Form::scatter) return;
    const auto count = static_cast<std::uint32_t>(members_.size());
    std::uint32_t next = 0;
    if (group.rate == Rate::varying) {
      next = group.for_inputs ? first_for_inputs + all_.input_places : slots_.take(count);
      if (group.for_inputs) all_.input_places += count;
    } else {
      if (members_.size() >= alignment)
        all_.uniform_places = (all_.uniform_places + alignment - 1) / alignment * alignment;
      next = all_.uniform_places;
      all_.uniform_places += count;
    }
    for (const Id id : members_) places_[id] = {group.rate, next++};
  }

  // ---- operands ----

  // The operand that the numbers [begin, end) of a column are.
  Operand operand(const Column& column, std::size_t begin, std::size_t end) {
    const Place first = column[begin];
    if (first.at == none) return {};
    bool same = true, next = true;
    for (std::size_t i = begin + 1; i < end; ++i) {
      same &= column[i].at == first.at;
      next &= column[i].at == first.at + (i - begin);
    }
    if (same || next) return {first.rate, first.at, same ? 0u : 1u, none};
    const auto table = static_cast<std::uint32_t>(all_.tables.size());
    for (std::size_t i = begin; i < end; ++i) all_.tables.push_back(column[i].at);
    return {first.rate, first.at, 0, table};
  }

  // The same for what is read number by number, also where it is one number again and again.
  Operand listed(const Column& column) {
    Operand made = operand(column, 0, column.size());
    if (made.table != none || made.stride != 0 || column.size() == 1) return made;
    made.table = static_cast<std::uint32_t>(all_.tables.size());
    for (const Place& one : column) all_.tables.push_back(one.at);
    return made;
  }

  // Factors are constants: one for all, or a row of them.
  Operand factor(std::span<const double> factors) {
    if (std::all_of(factors.begin(), factors.end(), [&](double one) { return one == factors[0]; }))
      return factors[0] == 1 ? Operand{} : Operand{Rate::constant, constant(factors[0]).at, 0, none};
    const auto at = static_cast<std::uint32_t>(all_.constants.size());
    all_.constants.insert(all_.constants.end(), factors.begin(), factors.end());
    return {Rate::constant, at, 1, none};
  }
  Operand start(std::span<const double> starts) {
    if (std::all_of(starts.begin(), starts.end(), [](double one) { return one == 0; })) return {};
    if (std::all_of(starts.begin(), starts.end(), [&](double one) { return one == starts[0]; }))
      return {Rate::constant, constant(starts[0]).at, 0, none};
    const auto at = static_cast<std::uint32_t>(all_.constants.size());
    all_.constants.insert(all_.constants.end(), starts.begin(), starts.end());
    return {Rate::constant, at, 1, none};
  }

  // ---- operands that are evenly spaced ----

  // Coordinates are often recorded point by point, so the x of one point after another lie three places apart. If a
  // column reads such numbers again and again, in long runs, it reads copies that lie side by side.
  void close_up(std::span<Column> columns) {
    constexpr std::size_t long_run = 32, reads = 4;  // numbers in a run; reads of each number
    for (Column& column : columns) {
      const std::uint32_t step = most_frequent_step(column);
      if (step < 2) continue;
      const std::size_t in_step = count_steps(column, step);
      if ((column.size() - in_step) * long_run > column.size()) continue;
      const auto is_before = [](Place x, Place y) { return x.at < y.at; };
      const auto [least, most] = std::minmax_element(column.begin(), column.end(), is_before);
      const std::uint32_t first = least->at, size = most->at - first + 1, row = (size + step - 1) / step;
      if (size > column.size() / reads) continue;
      // Number i of row r is that of place first + i * step + r. What the column does not read may not be computed yet.
      std::vector<std::uint32_t> places(std::size_t{row} * step, first);
      for (Place& one : column) {
        const std::uint32_t at = one.at - first, copy = at % step * row + at / step;
        places[copy] = one.at;
        one.at = copy;
      }
      const std::uint32_t copies = copies_side_by_side(std::move(places));
      for (Place& one : column) one.at += copies;
    }
  }
  static std::size_t count_steps(const Column& column, std::uint32_t step) {
    std::size_t found = 0;
    for (std::size_t i = 1; i < column.size(); ++i) found += column[i].at == column[i - 1].at + step ? 1 : 0;
    return found;
  }
  // The distance of neighbours that a sample has most often, or 0 if the column is not one of uniform numbers.
  static std::uint32_t most_frequent_step(const Column& column) {
    constexpr std::size_t sample = 64;
    std::uint32_t step = 0;
    std::size_t votes = 0;
    if (column.size() < sample) return 0;
    for (std::size_t i = 1; i < column.size(); i += column.size() / sample) {
      const std::uint32_t here = column[i].at - column[i - 1].at;
      if (votes == 0) step = here;
      here == step ? ++votes : --votes;
    }
    const bool is_uniform = std::all_of(column.begin(), column.end(), [](const Place& one) {
      return one.rate == Rate::uniform && one.at != none;
    });
    constexpr std::uint32_t largest = 64;
    return is_uniform && step <= largest ? step : 0;
  }
  // New uniform places for the numbers of these places; the same ones for the same.
  std::uint32_t copies_side_by_side(std::vector<std::uint32_t> places) {
    const auto [known, is_new] = side_by_side_.try_emplace(std::move(places), all_.uniform_places);
    if (!is_new) return known->second;
    Column column;
    for (const std::uint32_t at : known->first) column.push_back({Rate::uniform, at});
    const Instruction made = scaled(column, {});
    known->second = made.out;
    add(made);
    return made.out;
  }

  // Where to cut a vector so that in each piece every column stays where it is or goes on to the next place. Pieces
  // that would be short are joined to their neighbours that are short, too.
  std::vector<std::size_t> cuts(std::span<const Column> columns, std::size_t count) {
    std::vector<std::size_t> runs{0};
    strides_.assign(columns.size(), none);
    for (std::size_t i = 1; i < count; ++i) {
      bool goes_on = true;
      for (std::size_t c = 0; goes_on && c < columns.size(); ++c) {
        const std::uint32_t stride = columns[c][i].at - columns[c][i - 1].at;
        goes_on =
            stride <= 1 && (strides_[c] == none || strides_[c] == stride) && columns[c][i].is_like(columns[c][i - 1]);
        strides_[c] = stride;
      }
      if (!goes_on) {
        runs.push_back(i);
        std::fill(strides_.begin(), strides_.end(), none);
      }
    }
    runs.push_back(count);
    std::vector<std::size_t> pieces{0};
    bool last_is_short = false;
    for (std::size_t r = 0; r + 1 < runs.size(); ++r) {
      const bool is_short = runs[r + 1] - runs[r] < short_run;
      const bool are_like = r == 0 || std::all_of(columns.begin(), columns.end(), [&](const Column& column) {
                              return column[runs[r]].is_like(column[runs[r] - 1]);
                            });
      if (r > 0 && !(is_short && last_is_short && are_like)) pieces.push_back(runs[r]);
      last_is_short = is_short;
    }
    pieces.push_back(count);
    return pieces;
  }

  // ---- instructions ----

  void emit_groups() {
    is_backward_ = false;
    if (verifies) {
      holders_.assign(all_.varying_places + all_.input_places, none);
      hold_leaves(0, terms_.first_computed());
    }
    layers_.resize(groups_.forward);
    for (std::size_t g = 0; g < groups_.groups.size(); ++g) {
      is_backward_ = g >= groups_.forward && !terms_.seeds.empty();
      if (verifies && g == groups_.forward) hold_leaves(terms_.end_of_forward(), static_cast<Id>(terms_.nodes.size()));
      members_ = std::move(members_of_[g]);
      if (members_.empty()) continue;
      emit(groups_.groups[g], g);
      for (const Id id : members_)
        if (!holders_.empty() && places_[id].rate == Rate::varying) holders_[places_[id].at] = id;
    }
    if (verifies && groups_.forward == groups_.groups.size())
      hold_leaves(terms_.end_of_forward(), static_cast<Id>(terms_.nodes.size()));
    is_backward_ = true;
    for (std::size_t i = 0; i < groups_.layers.size(); ++i) emit_outer(i);
  }

  // The varying numbers that are there before the first instruction of a pass.
  void hold_leaves(Id begin, Id end) {
    for (Id id = begin; id < end; ++id)
      if (is_varying(id) &&
          (node(id).kind == Kind::input || node(id).kind == Kind::seed || node(id).kind == Kind::zero))
        holders_[places_[id].at] = id;
  }

  void emit(const Group& group, std::size_t index) {
    const bool can_be_steps = group.form == Group::Form::function || group.form == Group::Form::local ||
                              (group.form == Group::Form::sum && group.count <= few_terms);
    if (can_be_steps && are_few(group, 0, members_.size())) {
      for (const Id id : members_) emit_step(id);
      return;
    }
    switch (group.form) {
      case Group::Form::function: emit_functions(group, Instruction::Form::function); break;
      case Group::Form::local: emit_functions(group, Instruction::Form::local); break;
      case Group::Form::shares: emit_shares(group); break;
      case Group::Form::extreme: emit_extremes(group); break;
      case Group::Form::pick: emit_picks(group, Instruction::Form::pick); break;
      case Group::Form::scatter: emit_picks(group, Instruction::Form::scatter); break;
      case Group::Form::sum: emit_sums(group); break;
      case Group::Form::row_sum: emit_varying_sums(group); break;
      case Group::Form::layer: group.transposed == none ? emit_layer(group, index) : emit_transposed(group); break;
    }
  }

  Instruction instruction(const Group& group, Instruction::Form form) const {
    Instruction made;
    made.form = form;
    made.op = group.op;
    made.by = group.by;
    made.rate = group.rate;
    made.for_inputs = group.for_inputs;
    made.count = static_cast<std::uint32_t>(members_.size());
    made.out = places_[members_.front()].at;
    return made;
  }
  void add(const Instruction& made) {
    if (made.rate == Rate::varying || made.form == Instruction::Form::row_sums)
      (is_backward_ ? all_.varying_backward : all_.varying).push_back(made);
    else
      (is_backward_ ? all_.uniform_backward : all_.uniform).push_back(made);
  }

  // ---- steps ----

  // Until the number of places is known, the addresses of steps hold the rate in their upper two bits.
  static constexpr std::uint32_t domain_shift = 30;
  std::uint32_t code_of(Place place) const {
    return place.at == none ? none : static_cast<std::uint32_t>(place.rate) << domain_shift | place.at;
  }
  void address_steps() {
    const Addresses at(all_);
    if (std::max(all_.uniform_places, static_cast<std::uint32_t>(all_.constants.size())) >> domain_shift != 0)
      throw Error("compile", "less than 2^30 numbers that are the same for all rows",
                  std::to_string(std::max<std::size_t>(all_.uniform_places, all_.constants.size())),
                  "compile parts of the program, or rows with inputs");
    for (std::size_t head = 0; head < all_.steps.size();) {
      const std::size_t end = head + 1 + StepHead(all_.steps[head]).words();
      for (std::size_t i = head + 1; i < end; ++i) {
        std::uint32_t& word = all_.steps[i];
        word = word == none ? static_cast<std::uint32_t>(at.one())
                            : at.of(static_cast<Rate>(word >> domain_shift), word & ((1u << domain_shift) - 1));
      }
      head = end;
    }
  }

  void emit_step(Id id) {
    std::vector<Instruction>& list = is_backward_ ? all_.uniform_backward : all_.uniform;
    const auto begin = static_cast<std::uint32_t>(all_.steps.size());
    if (list.empty() || list.back().form != Instruction::Form::steps) {
      Instruction& made = list.emplace_back();
      made.form = Instruction::Form::steps;
      made.begin = begin;
    }
    const Node& made = node(id);
    const std::uint32_t out = code_of(places_[id]);
    if (made.kind == Kind::sum) {
      for (const Product& product : products(id))
        step_writer_.add_term(product.factor == 1 ? none : code_of(constant(product.factor)), code_of(place(product.a)),
                              code_of(place(product.b)));
      step_writer_.sum(out, made.number == 0 ? none : code_of(constant(made.number)));
    } else {
      std::array<std::uint32_t, local_operands> in;
      in.fill(none);
      for (std::uint32_t k = 0; k < made.count; ++k) in[k] = code_of(place(terms_.operands[made.begin + k]));
      made.kind == Kind::local ? step_writer_.local(made.op, made.by, out, in) : step_writer_.value(made.op, out, in);
    }
    list.back().count += static_cast<std::uint32_t>(all_.steps.size()) - begin;
    ++list.back().terms;
  }
  // Whether these members of a uniform group are computed by steps.
  static bool are_few(const Group& group, std::size_t begin, std::size_t end) {
    return group.rate == Rate::uniform && end - begin <= few_numbers;
  }

  void emit_functions(const Group& group, Instruction::Form form) {
    columns_.resize(group.count);
    for (std::uint32_t k = 0; k < group.count; ++k) columns_[k].resize(members_.size());
    for (std::size_t i = 0; i < members_.size(); ++i) {
      expect_member(i);
      const std::span from = terms_.operands_of(members_[i]);
      for (std::uint32_t k = 0; k < group.count; ++k) columns_[k][i] = place(from[k]);
    }
    const std::span operands = std::span(columns_).first(group.count);
    if (group.rate == Rate::uniform) close_up(operands);
    const std::vector<std::size_t> pieces = cuts(operands, members_.size());
    for (std::size_t p = 0; p + 1 < pieces.size(); ++p) {
      if (are_few(group, pieces[p], pieces[p + 1])) {
        for (std::size_t i = pieces[p]; i < pieces[p + 1]; ++i) emit_step(members_[i]);
        continue;
      }
      Instruction made = instruction(group, form);
      made.out += static_cast<std::uint32_t>(pieces[p]);
      made.count = static_cast<std::uint32_t>(pieces[p + 1] - pieces[p]);
      for (std::uint32_t k = 0; k < group.count; ++k) made.in[k] = operand(columns_[k], pieces[p], pieces[p + 1]);
      add(made);
    }
  }

  // ---- picks ----

  // Where the entries of a table are: evenly spaced from the first one on, or as a table of the program says.
  struct TablePlaces {
    Rate rate = Rate::constant;
    std::uint32_t first = 0, row = none;  // `row` places from entry to entry; none: by table
    std::uint32_t table = none;
    bool is_like(const TablePlaces& other) const { return rate == other.rate && row == other.row && row != none; }
  };
  const TablePlaces& places_of(Id table) {
    const auto [known, is_new] = tables_.try_emplace(table);
    if (!is_new) return known->second;
    Column column;
    for (const Id value : terms_.tables[table]) column.push_back(place(value));
    uniform_only(column);
    TablePlaces& made = known->second;
    made.rate = column[0].rate;
    made.first = column[0].at;
    const std::uint32_t step = column.size() > 1 ? column[1].at - column[0].at : 1;
    bool is_even = step < 0x80000000;
    for (std::size_t k = 1; is_even && k < column.size(); ++k) is_even = column[k].at == column[k - 1].at + step;
    if (is_even) {
      made.row = step;
      return made;
    }
    made.table = static_cast<std::uint32_t>(all_.tables.size());
    for (const Place& one : column) all_.tables.push_back(one.at);
    return made;
  }

  // Picks from tables that are spaced alike, as the columns of an embedding, are one instruction.
  void emit_picks(const Group& group, Instruction::Form form) {
    for (std::size_t begin = 0, end = 0; begin < members_.size(); begin = end) {
      const TablePlaces first = places_of(node(members_[begin]).target);
      end = begin + 1;
      while (end < members_.size() && first.is_like(places_of(node(members_[end]).target))) ++end;
      Column index, entries, gradients;
      for (std::size_t i = begin; i < end; ++i) {
        const Node& one = node(members_[i]);
        index.push_back(place(terms_.operands[one.begin]));
        entries.push_back({first.rate, places_of(one.target).first});
        if (form == Instruction::Form::scatter) gradients.push_back(place(terms_.operands[one.begin + 1]));
      }
      Instruction made = instruction(group, form);
      made.out = form == Instruction::Form::pick ? made.out + static_cast<std::uint32_t>(begin) : 0;
      made.count = static_cast<std::uint32_t>(end - begin);
      made.depth = static_cast<std::uint32_t>(terms_.tables[node(members_[begin]).target].size());
      made.row = first.row;
      made.in[0] = operand(index, 0, index.size());
      made.in[1] =
          first.row == none ? Operand{first.rate, first.first, 0, first.table} : operand(entries, 0, entries.size());
      if (form == Instruction::Form::pick) {
        add(made);
      } else {
        made.in[3] = operand(gradients, 0, gradients.size());
        all_.scatters.push_back(made);
      }
    }
  }

  // Parameters that nothing but picks reads, if their index is an input.
  void find_looked_up() {
    if (terms_.tables.empty()) return;
    std::vector<bool> is_used(terms_.nodes.size()), is_in_table(terms_.parameters);
    const auto use = [&](Id id) { is_used[id] = true; };
    for (Id id = terms_.first_computed(); id < terms_.end_of_forward(); ++id) {
      terms_.each_operand(id, use);
      if (node(id).kind != Kind::pick) continue;
      const bool is_by_input = terms_.nodes[terms_.operands[node(id).begin]].kind == Kind::input;
      for (const Id value : terms_.tables[node(id).target]) {
        if (!is_by_input) use(value);
        if (value < terms_.parameters) is_in_table[value] = true;
      }
    }
    for (const Id output : terms_.outputs) use(output);
    for (Id id = 0; id < terms_.parameters; ++id) is_in_table[id] = is_in_table[id] && !is_used[id];
    all_.looked_up = ranges_of(is_in_table);
  }

  // ---- extremes ----

  // The k-th operands of all members.
  Operand operands_of_all(std::size_t k) {
    columns_.resize(std::max<std::size_t>(columns_.size(), 1));
    columns_[0].clear();
    for (const Id id : members_) columns_[0].push_back(place(terms_.operands[node(id).begin + k]));
    uniform_only(columns_[0]);
    return operand(columns_[0], 0, columns_[0].size());
  }

  void emit_extremes(const Group& group) {
    const std::uint32_t operands = node(members_.front()).count;
    const bool are_alike =
        std::all_of(members_.begin(), members_.end(), [&](Id id) { return node(id).count == operands; });
    if (are_alike && members_.size() > few_numbers) {
      Instruction made = instruction(group, Instruction::Form::extreme);
      made.begin = static_cast<std::uint32_t>(all_.factors.size());
      made.terms = operands;
      for (std::uint32_t k = 0; k < operands; ++k) all_.factors.push_back({{}, operands_of_all(k), {}, 0});
      return add(made);
    }
    columns_.resize(std::max<std::size_t>(columns_.size(), 1));
    for (const Id id : members_) {
      columns_[0].clear();
      for (std::uint32_t i = 0; i < node(id).count; ++i)
        columns_[0].push_back(place(terms_.operands[node(id).begin + i]));
      uniform_only(columns_[0]);
      Instruction made = instruction(group, Instruction::Form::extreme);
      made.out = places_[id].at;
      made.count = node(id).count;
      made.in[0] = listed(columns_[0]);
      add(made);
    }
  }

  void emit_shares(const Group& group) {
    const std::uint32_t operands = node(terms_.operands[node(members_.front()).begin + 1]).count;
    if (members_.size() > operands) {
      const std::vector<Id> all = std::move(members_);
      const std::size_t extremes = all.size() / operands;
      const auto shares_of = [&](std::size_t k) { return std::span(all).subspan(k * extremes, extremes); };
      members_.assign(shares_of(0).begin(), shares_of(0).end());
      Instruction made = instruction(group, Instruction::Form::shares);
      made.begin = static_cast<std::uint32_t>(all_.factors.size());
      made.terms = operands;
      made.in[1] = operands_of_all(0);
      for (std::uint32_t k = 0; k < operands; ++k) {
        members_.assign(shares_of(k).begin(), shares_of(k).end());
        all_.factors.push_back({{}, operands_of_all(2), {}, 0});
      }
      members_ = all;
      return add(made);
    }
    const Id gradient = terms_.operands[node(members_.front()).begin];
    columns_.resize(std::max<std::size_t>(columns_.size(), 1));
    columns_[0].clear();
    for (const Id id : members_) columns_[0].push_back(place(terms_.operands[node(id).begin + 2]));
    uniform_only(columns_[0]);
    Instruction made = instruction(group, Instruction::Form::shares);
    made.in[0] = listed(columns_[0]);
    made.in[1] = {place(gradient).rate, place(gradient).at, 0, none};
    add(made);
  }

  // A column that an instruction does not cut has to be of one rate: constants get uniform places of their own.
  void uniform_only(Column& column) {
    if (std::all_of(column.begin(), column.end(), [&](const Place& one) { return one.rate == column[0].rate; })) return;
    for (Place& one : column)
      if (one.rate == Rate::constant) one = copy_of_constant(one.at);
  }
  Place copy_of_constant(std::uint32_t at) {
    std::uint32_t& copy = copies_[at];
    if (copy == none) {
      Instruction made;
      made.form = Instruction::Form::sums;
      made.rate = Rate::uniform;
      made.count = 1;
      made.out = copy = all_.uniform_places++;
      made.start = {Rate::constant, at, 0, none};
      constant_copies_.push_back(made);
    }
    return {Rate::uniform, copy};
  }

  void emit_sums(const Group& group) {
    if (group.rate == Rate::varying)
      emit_varying_sums(group);
    else if (runs_along_terms())
      for (const Id id : members_) emit_dot(group, id);
    else
      emit_vertical(group);
  }

  // Along the terms of a sum, or along the sums: where more operands follow one another.
  bool runs_along_terms() const {
    const std::size_t terms = node(members_[0]).count;
    for (const Id id : members_)
      if (node(id).count != terms) return true;
    if (terms < short_run) return false;
    if (members_.size() < short_run) return true;
    std::size_t along_terms = 0, along_members = 0;
    const auto follows = [](Place x, Place y) { return x.rate == y.rate && y.at - x.at <= 1; };
    const std::size_t step = std::max<std::size_t>(1, members_.size() / 16);
    for (std::size_t m = 0; m + 1 < members_.size(); m += step) {
      const auto here = products(members_[m]), next = products(members_[m + 1]);
      for (std::size_t t = 0; t + 1 < terms; ++t) {
        along_terms +=
            follows(place(here[t].a), place(here[t + 1].a)) + follows(place(here[t].b), place(here[t + 1].b));
        along_members += follows(place(here[t].a), place(next[t].a)) + follows(place(here[t].b), place(next[t].b));
      }
    }
    return along_terms > along_members;
  }

  void emit_vertical(const Group& group) {
    const std::uint32_t terms = group.count;
    const std::size_t count = members_.size();
    columns_.resize(2 * terms);
    for (Column& column : columns_) column.resize(count);
    starts_.resize(count);
    factors_.resize(terms * count);  // term by term
    for (std::size_t i = 0; i < count; ++i) {
      expect_member(i);
      starts_[i] = node(members_[i]).number;
      const auto all = products(members_[i]);
      for (std::uint32_t t = 0; t < terms; ++t) {
        columns_[2 * t][i] = place(all[t].a);
        columns_[2 * t + 1][i] = place(all[t].b);
        factors_[t * count + i] = all[t].factor;
      }
    }
    close_up(columns_);
    const std::vector<std::size_t> pieces = cuts(columns_, members_.size());
    for (std::size_t p = 0; p + 1 < pieces.size(); ++p) {
      const std::size_t begin = pieces[p], end = pieces[p + 1];
      if (are_few(group, begin, end) && terms <= few_terms) {
        for (std::size_t i = begin; i < end; ++i) emit_step(members_[i]);
        continue;
      }
      Instruction made = instruction(group, Instruction::Form::sums);
      made.out += static_cast<std::uint32_t>(begin);
      made.count = static_cast<std::uint32_t>(end - begin);
      made.start = start(std::span(starts_).subspan(begin, end - begin));
      made.begin = static_cast<std::uint32_t>(all_.factors.size());
      made.terms = terms;
      for (std::uint32_t t = 0; t < terms; ++t)
        all_.factors.push_back({factor(std::span(factors_).subspan(t * count + begin, end - begin)),
                                operand(columns_[2 * t], begin, end), operand(columns_[2 * t + 1], begin, end), 0});
      add(made);
    }
  }
  std::span<const double> starts(std::size_t begin, std::size_t end) {
    numbers_.clear();
    for (std::size_t i = begin; i < end; ++i) numbers_.push_back(node(members_[i]).number);
    return numbers_;
  }

  void emit_dot(const Group& group, Id id) {
    if (node(id).count <= few_terms) return emit_step(id);
    // Products of two come before single terms: both are long runs then, and not cut where one follows the other.
    sorted_.clear();
    for (const bool is_pair : {true, false})
      for (const Product& product : products(id))
        if ((product.b != none) == is_pair) sorted_.push_back(product);
    const std::span<const Product> all(sorted_);
    columns_.resize(2);
    for (Column& column : columns_) column.clear();
    for (const Product& product : all) {
      columns_[0].push_back(place(product.a));
      columns_[1].push_back(place(product.b));
    }
    Instruction made = instruction(group, Instruction::Form::dot);
    made.out = places_[id].at;
    made.count = 1;
    const double first = node(id).number;
    made.start = start({&first, 1});
    made.begin = static_cast<std::uint32_t>(all_.factors.size());
    const std::vector<std::size_t> pieces = cuts(columns_, all.size());
    for (std::size_t p = 0; p + 1 < pieces.size(); ++p) {
      numbers_.clear();
      for (std::size_t i = pieces[p]; i < pieces[p + 1]; ++i) numbers_.push_back(all[i].factor);
      all_.factors.push_back({factor(numbers_), operand(columns_[0], pieces[p], pieces[p + 1]),
                              operand(columns_[1], pieces[p], pieces[p + 1]),
                              static_cast<std::uint32_t>(pieces[p + 1] - pieces[p])});
    }
    made.terms = static_cast<std::uint32_t>(pieces.size() - 1);
    add(made);
  }

  // Sums of different lengths, or with operands of different kinds, are instructions of their own. So are row sums.
  void emit_varying_sums(const Group& group) {
    const bool is_row_sum = group.form == Group::Form::row_sum;
    const auto alike = [&](Id x, Id y) {
      const auto first = products(x), second = products(y);
      return first.size() == second.size() &&
             std::equal(first.begin(), first.end(), second.begin(), [&](const Product& a, const Product& b) {
               return place(a.a).rate == place(b.a).rate && place(a.b).rate == place(b.b).rate &&
                      (a.b == none) == (b.b == none);
             });
    };
    Column column;
    for (std::size_t begin = 0; begin < members_.size();) {
      std::size_t end = begin + 1;
      while (end < members_.size() && alike(members_[begin], members_[end])) ++end;
      Instruction made = instruction(group, is_row_sum ? Instruction::Form::row_sums : Instruction::Form::sums);
      made.out += static_cast<std::uint32_t>(begin);
      made.count = static_cast<std::uint32_t>(end - begin);
      if (is_row_sum) {
        column.clear();
        for (std::size_t i = begin; i < end; ++i) column.push_back(places_[node(members_[i]).target]);
        made.targets = operand(column, 0, column.size());
      } else {
        made.start = start(starts(begin, end));
      }
      made.begin = static_cast<std::uint32_t>(all_.factors.size());
      made.terms = node(members_[begin]).count;
      Column a, b;
      for (std::uint32_t t = 0; t < made.terms; ++t) {
        a.clear(), b.clear(), numbers_.clear();
        for (std::size_t i = begin; i < end; ++i) {
          const Product& product = products(members_[i])[t];
          a.push_back(place(product.a));
          b.push_back(place(product.b));
          numbers_.push_back(product.factor);
        }
        all_.factors.push_back({factor(numbers_), operand(a, 0, a.size()), operand(b, 0, b.size()), 0});
      }
      add(made);
      begin = end;
    }
  }

  void emit_layer(const Group& group, std::size_t index) {
    Instruction made = instruction(group, Instruction::Form::layer);
    made.depth = group.count;
    made.copies = group.copies;
    made.count /= group.copies;
    made.relu = !has_relu_.empty() && has_relu_[index];
    const std::vector<Id> outputs = std::move(members_);
    members_ = group.members;  // those with the products
    std::vector<std::uint32_t> inputs_at;
    for (std::uint32_t c = 0; c < made.copies; ++c)
      for (const Product& product : products(members_[c]).first(made.depth)) inputs_at.push_back(place(product.b).at);
    made.in[1] = inputs(made, inputs_at);
    weights(made);
    if (products(members_[0]).size() > group.count) {
      bias(made);
    } else {
      made.in[2] = start(starts(0, members_.size()));
      made.bias_copy = made.in[2].stride;
      made.in[2].stride *= made.copies;
    }
    members_ = outputs;
    layers_[index] = made;
    add(made);
  }

  // The gradients of a layer's outputs, copy by copy, times its weights.
  void emit_transposed(const Group& group) {
    const LayerGradients& from = groups_.layers[group.transposed];
    const Instruction& layer = layers_[from.layer];
    Instruction made = instruction(group, Instruction::Form::layer);
    made.depth = group.count;
    made.copies = group.copies;
    made.count /= group.copies;
    std::vector<std::uint32_t> inputs_at;
    for (std::uint32_t c = 0; c < made.copies; ++c)
      for (std::uint32_t i = 0; i < made.depth; ++i) inputs_at.push_back(place(from.gradients[i * made.copies + c]).at);
    made.in[1] = inputs(made, inputs_at);
    made.in[0] = layer.in[0];
    made.in[0].place += group.first_input * layer.column;
    made.row = layer.column;
    made.column = layer.row;
    add(made);
  }

  void emit_outer(std::size_t i) {
    const LayerGradients& from = groups_.layers[i];
    Instruction made = layers_[from.layer];
    const auto is_uniform = [](const Operand& operand) { return operand.exists() && operand.rate == Rate::uniform; };
    if (!is_uniform(made.in[0]) && !is_uniform(made.in[2])) return;
    if (is_copied_[i]) {
      Instruction copy;
      copy.form = Instruction::Form::sums;
      copy.rate = Rate::varying;
      copy.count = static_cast<std::uint32_t>(from.gradients.size());
      copy.out = gradients_at_[i];
      copy.begin = static_cast<std::uint32_t>(all_.factors.size());
      copy.terms = 1;
      Column column;
      for (const Id gradient : from.gradients) column.push_back(place(gradient));
      all_.factors.push_back({{}, operand(column, 0, column.size()), {}, 0});
      add(copy);
    }
    made.form = Instruction::Form::outer;
    made.relu = false;
    made.in[3] = {Rate::varying, gradients_at_[i], 1, none};
    all_.outers.push_back(made);
  }

  // Whether no two of rows x columns numbers that lie so far apart lie on each other.
  static bool are_apart(std::uint64_t rows, std::uint64_t across, std::uint64_t columns, std::uint64_t along) {
    if (rows == 1 || columns == 1) return (rows == 1 || across > 0) && (columns == 1 || along > 0);
    return (along > 0 && across >= along * columns) || (across > 0 && along >= across * rows);
  }

  // Where those of the copies lie side by side, evenly; otherwise a table, copy by copy.
  Operand inputs(const Instruction& layer, const std::vector<std::uint32_t>& all) {
    const std::uint32_t stride = layer.depth > 1 ? all[1] - all[0] : layer.copies;
    bool is_even = stride - 1 < 0x80000000;
    for (std::uint32_t i = 0; is_even && i < all.size(); ++i)
      is_even = all[i] == all[0] + i % layer.depth * stride + i / layer.depth;
    Operand made{Rate::varying, all[0], is_even ? stride : 0, none};
    if (is_even) return made;
    made.table = static_cast<std::uint32_t>(all_.tables.size());
    all_.tables.insert(all_.tables.end(), all.begin(), all.end());
    return made;
  }

  // As they lie, where they lie evenly and no two on each other; otherwise packed once a step.
  void weights(Instruction& layer) {
    Column column;
    numbers_.clear();
    for (std::size_t i = 0; i < members_.size(); i += layer.copies)
      for (const Product& product : products(members_[i]).first(layer.depth)) {
        column.push_back(place(product.a));
        numbers_.push_back(product.factor);
      }
    const bool is_plain = std::all_of(numbers_.begin(), numbers_.end(), [](double one) { return one == 1; });
    if (column[0].at == none) {  // constants alone
      layer.in[0] = {Rate::constant, static_cast<std::uint32_t>(all_.constants.size()), 1, none};
      all_.constants.insert(all_.constants.end(), numbers_.begin(), numbers_.end());
      layer.row = layer.depth;
      layer.column = 1;
      return;
    }
    const std::uint32_t first = column[0].at;
    const std::uint32_t along = layer.depth > 1 ? column[1].at - first : 1;
    const std::uint32_t across = layer.count > 1 ? column[layer.depth].at - first : 0;
    bool is_even = is_plain;
    for (std::uint32_t i = 0; is_even && i < column.size(); ++i)
      is_even = column[i].at == first + i / layer.depth * across + i % layer.depth * along;
    if (is_even && along < 0x80000000 && across < 0x80000000 && are_apart(layer.count, across, layer.depth, along)) {
      layer.in[0] = {Rate::uniform, first, 1, none};
      layer.row = across;
      layer.column = along;
      return;
    }
    layer.in[0] = {Rate::uniform, packed(column), 1, none};
    layer.row = layer.depth;
    layer.column = 1;
  }

  // An output's is one for all copies, where it is the same, or one for each.
  void bias(Instruction& layer) {
    const auto product = [&](std::size_t i) { return products(members_[i]).back(); };
    bool is_shared = true;
    for (std::size_t i = 0; is_shared && i < members_.size(); ++i)
      is_shared = product(i) == product(i - i % layer.copies);
    const std::uint32_t copies = is_shared ? 1 : layer.copies;
    Column column;
    numbers_.clear();
    for (std::size_t i = 0; i < members_.size(); i += layer.copies / copies) {
      column.push_back(place(product(i).a));
      numbers_.push_back(product(i).factor);
    }
    const std::uint32_t step = column.size() > copies ? column[copies].at - column[0].at : 0;
    const std::uint32_t copy = copies > 1 ? column[1].at - column[0].at : 0;
    bool is_even = step < 0x80000000 && copy < 0x80000000 && are_apart(layer.count, step, copies, copy);
    for (std::uint32_t i = 0; is_even && i < column.size(); ++i)
      is_even = column[i].at == column[0].at + i / copies * step + i % copies * copy && numbers_[i] == 1;
    layer.in[2] = {Rate::uniform, is_even ? column[0].at : packed(column), is_even ? step : copies, none};
    layer.bias_copy = is_even ? copy : is_shared ? 0 : 1;
  }

  // New uniform places for numbers_[i] * column[i]; the same ones for the same.
  std::uint32_t packed(const Column& column) {
    std::uint64_t hash = 1;
    for (std::size_t i = 0; i < column.size(); ++i) {
      hash = (hash ^ column[i].at) * 0x9e3779b97f4a7c15u;
      hash = (hash ^ hash >> 29 ^ std::bit_cast<std::uint64_t>(numbers_[i])) * 0x9e3779b97f4a7c15u;
    }
    hash &= hash_mask_;
    while (packed_[hash] != none && !is_pack_of(packs_[packed_[hash]], column)) ++hash;
    std::uint32_t& known = packed_[hash];
    if (known != none) return packs_[known].out;
    known = static_cast<std::uint32_t>(packs_.size());
    const Instruction made = scaled(column, factor(numbers_));
    packs_.push_back(made);
    all_.packs.push_back({made.out, made.count, all_.factors.back().factor, all_.factors.back().a});
    return made.out;
  }

  // factor * column, in new uniform places.
  Instruction scaled(const Column& column, Operand factor) {
    all_.uniform_places = (all_.uniform_places + alignment - 1) / alignment * alignment;
    Instruction made;
    made.form = Instruction::Form::sums;
    made.rate = Rate::uniform;
    made.count = static_cast<std::uint32_t>(column.size());
    made.out = all_.uniform_places;
    all_.uniform_places += made.count;
    made.begin = static_cast<std::uint32_t>(all_.factors.size());
    made.terms = 1;
    all_.factors.push_back({factor, operand(column, 0, column.size()), {}, 0});
    return made;
  }

  // Whether the pack holds numbers_[i] * column[i].
  bool is_pack_of(const Instruction& pack, const Column& column) const {
    if (pack.count != column.size()) return false;
    const Factors& factors = all_.factors[pack.begin];
    for (std::uint32_t i = 0; i < pack.count; ++i) {
      const double factor = factors.factor.exists() ? all_.constants[all_.place(factors.factor, i)] : 1;
      if (factor != numbers_[i] || factors.a.rate != column[i].rate || all_.place(factors.a, i) != column[i].at)
        return false;
    }
    return true;
  }

  const Terms& terms_;
  const Groups& groups_;
  std::uint64_t hash_mask_;
  List<Place> places_;
  Instructions all_;
  static constexpr std::uint32_t first_for_inputs = 0x40000000;  // until the number of other varying places is known
  Slots slots_{0};
  std::vector<std::vector<Id>> members_of_;  // for each group, in the order of their places
  std::vector<bool> has_relu_;               // for each group
  std::vector<Instruction> layers_;          // for each group of the forward pass
  // For each layer with a backward pass: where the gradients of its outputs are side by side, and whether they have to
  // be copied there.
  std::vector<std::uint32_t> gradients_at_;
  std::vector<bool> is_copied_;
  std::vector<Id> holders_;  // in builds that verify: for each varying place, which node's number it has
  NumberMap constants_, packed_, copies_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> side_by_side_;  // places of copies, by what they are copies of
  std::unordered_map<Id, TablePlaces> tables_;  // of picks
  std::vector<Instruction> constant_copies_;    // before all that is uniform
  std::vector<Instruction> packs_;              // after all that is uniform
  std::vector<Id> members_;                     // of the group at hand
  bool is_backward_ = false;
  std::vector<Column> columns_;
  std::vector<double> numbers_;
  std::vector<double> starts_, factors_;  // of the sums at hand
  std::vector<Product> sorted_;
  std::vector<std::uint32_t> strides_;
  std::vector<std::uint64_t> order_;
  StepWriter step_writer_{all_.steps, none};
};

}  // namespace

Instructions schedule(const Terms& terms, const Groups& groups, std::uint64_t hash_mask) {
  return Scheduler(terms, groups, hash_mask).run();
}

}  // namespace gradwalk::compiler
