// SPDX-License-Identifier: MIT
#include "placement.hpp"

#include <algorithm>

#include "slots.hpp"

namespace gradwalk::compiler {
namespace {

class Placer {
 public:
  Placer(const Terms& terms, const Groups& groups, Instructions& program, OperandWriter& operands)
      : terms_(terms), groups_(groups), program_(program), operands_(operands) {
    result_.places.resize(terms.nodes.size());
  }

  Placement run() {
    place_leaves();
    join_relus();
    place_groups();
    return std::move(result_);
  }

 private:
  const Node& node(Id id) const { return terms_.nodes[id]; }
  std::span<const Product> products(Id id) const { return terms_.products_of(id); }
  Place place(Id id) const { return result_[id]; }

  void place_leaves() {
    std::uint32_t parameters = 0, inputs = 0;
    for (Id id = 0; id < terms_.first_computed(); ++id) {
      const Node& leaf = node(id);
      if (leaf.kind == Kind::parameter) {
        result_.places[id] = {Rate::uniform, parameters++};
      } else if (leaf.kind == Kind::input) {
        result_.places[id] = {Rate::varying, inputs++};
      } else {
        result_.places[id] = operands_.constant(leaf.number);
      }
    }
    program_.uniform_places = parameters;
    program_.varying_places = inputs;
  }

  // Seeds get places of their own. The place of a row gradient is that of its uniform number.
  void begin_backward() {
    is_backward_ = true;
    for (Id id = terms_.end_of_forward(); id < terms_.nodes.size(); ++id) {
      const Node& leaf = node(id);
      if (leaf.kind == Kind::zero || (leaf.kind == Kind::seed && leaf.rate == Rate::varying)) {
        result_.places[id] = {Rate::varying, slots_.take(1)};
        (leaf.kind == Kind::zero ? program_.zero : program_.row_seed) = result_.places[id].at;
      } else if (leaf.kind == Kind::seed) {
        result_.places[id] = {Rate::uniform, program_.uniform_places++};
      } else if (leaf.kind == Kind::row_gradient) {
        result_.places[id] = {Rate::row_gradient, result_.places[terms_.operands[leaf.begin]].at};
      }
    }
  }

  // ---- last uses ----

  // Calls meet(operand) for each number that the member of a group reads. The first member of a transposed layer reads
  // all gradients of the layer.
  template <class Meet> void each_operand(const Group& group, Id id, Meet meet) const {
    if (group.transposed != none) {
      if (id == group.members.front())
        for (const Id gradient : groups_.layers[group.transposed].gradients) meet(gradient);
      return;
    }
    terms_.each_operand(id, meet);
  }
  bool is_varying(Id id) const { return node(id).rate == Rate::varying; }

  // If relu, and nothing else, reads all outputs of a layer, the layer computes the relu, too. The members of its group
  // are then the relus.
  void join_relus() {
    result_.members = std::vector<std::vector<Id>>(groups_.groups.size());
    for (std::size_t g = 0; g < groups_.groups.size(); ++g) result_.members[g] = groups_.groups[g].members;
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
    result_.has_relu.assign(groups_.groups.size(), false);
    for (std::size_t g = 0; g < groups_.forward; ++g) {
      const Group& layer = groups_.groups[g];
      if (layer.form != Group::Form::layer) continue;
      result_.has_relu[g] = std::all_of(layer.members.begin(), layer.members.end(), [&](Id id) {
        return reader[id] != none && !is_read_twice[id] && node(reader[id]).kind == Kind::function &&
               node(reader[id]).op == Op::relu;
      });
      if (!result_.has_relu[g]) continue;
      for (Id& id : result_.members[g]) {
        id = reader[id];
        is_joined[id] = true;
      }
    }
    for (std::size_t g = 0; g < groups_.forward; ++g)
      if (groups_.groups[g].form == Group::Form::function)
        std::erase_if(result_.members[g], [&](Id id) { return is_joined[id]; });
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
      for (const Id id : result_.members[g]) last[id] = std::max(last[id], g);
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
    slots_ = Slots(program_.varying_places);
    const bool has_backward = !terms_.seeds.empty();  // what linearize adds is run with the forward pass
    std::vector<std::uint32_t> freed;
    for (std::size_t g = 0; g < groups_.groups.size(); ++g) {
      if (g == groups_.forward && has_backward) begin_backward();
      members_ = std::move(result_.members[g]);
      if (!members_.empty()) {
        sort_members(groups_.groups[g]);
        place_members(groups_.groups[g]);
      }
      result_.members[g] = std::move(members_);
      if (dying.empty()) continue;
      freed.clear();
      for (const Id id : dying[g])
        if (result_.places[id].at != none) freed.push_back(result_.places[id].at);
      slots_.give_back(freed);
    }
    if (groups_.forward == groups_.groups.size() && has_backward) begin_backward();
    place_gradients_of_layers();
    program_.varying_places = slots_.size();
    for (Id id = terms_.end_of_forward(); id < terms_.nodes.size(); ++id)
      if (terms_.is_for_inputs(id) && result_.places[id].at != none)
        result_.places[id].at += program_.varying_places - first_for_inputs;
  }

  // An outer product reads the gradients of a layer's outputs side by side. If they are elsewhere, they are copied.
  void place_gradients_of_layers() {
    for (const LayerGradients& layer : groups_.layers) {
      const std::uint32_t first = result_.places[layer.gradients.front()].at;
      bool is_even = true;
      for (std::uint32_t i = 0; is_even && i < layer.gradients.size(); ++i)
        is_even = result_.places[layer.gradients[i]].at == first + i;
      result_.gradients.push_back(is_even ? first : slots_.take(static_cast<std::uint32_t>(layer.gradients.size())));
      result_.are_gradients_copied.push_back(!is_even);
    }
  }

  // Sorts by the place of the first operand that is not the same for all members.
  void sort_members(const Group& group) {
    if (group.form == Group::Form::layer || members_.size() < 2) return;
    if (group.form == Group::Form::shares) return sort_shares();
    if (group.rate == Rate::varying || group.form == Group::Form::row_sum || group.form == Group::Form::scatter)
      return sort_varying();
    // The nodes of the backward pass were added from the last to the first.
    if (is_backward_) std::reverse(members_.begin(), members_.end());
    const bool is_sum = group.form == Group::Form::sum;
    if (!is_sum || !is_backward_ || members_.size() < OperandWriter::short_run)
      return sort_by(is_sum ? 1 : first_operand());
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
  // Sorts the shares in several extremes by operand, and for each operand by the place of the extreme.
  void sort_shares() {
    const auto extreme = [&](std::size_t i) { return terms_.operands[node(members_[i]).begin + 1]; };
    const std::size_t operands = node(extreme(0)).count, extremes = members_.size() / operands;
    order_.clear();
    for (std::size_t i = 0; i < extremes; ++i)
      order_.push_back(std::uint64_t{place(extreme(i * operands)).at} << 32 | i);
    std::sort(order_.begin(), order_.end());
    std::vector<Id> sorted;
    for (std::size_t k = 0; k < operands; ++k)
      for (const std::uint64_t key : order_) sorted.push_back(members_[static_cast<std::uint32_t>(key) * operands + k]);
    members_ = std::move(sorted);
  }
  std::size_t first_operand() const {
    std::size_t k = 0;
    while (operand_of(members_.front(), k) == none) ++k;
    return k;
  }

  // Sorts by the place of operand k, or of a product without b, by the place of a.
  void sort_by(std::size_t k) {
    order_.clear();
    bool sorted = true;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      expect(terms_, members_, i);
      Id key = operand_of(members_[i], k);
      if (key == none && k % 2 == 1) key = operand_of(members_[i], k - 1);
      order_.push_back(std::uint64_t{place(key).at} << 32 | i);
      sorted &= i == 0 || order_[i - 1] < order_[i];
    }
    if (!sorted) members_ = ordered();
  }
  // The members in the order of their keys in order_. The lower half of a key is the number of its member.
  std::vector<Id> ordered() {
    std::sort(order_.begin(), order_.end());
    std::vector<Id> members;
    for (const std::uint64_t key : order_) members.push_back(members_[static_cast<std::uint32_t>(key)]);
    return members;
  }

  // Counts operands that are at the same place as that of the member before, or next to it: they need no table. A
  // sample is enough.
  std::size_t followers(std::span<const Id> members) const {
    constexpr std::size_t sample = 128;
    const std::size_t operands = std::min<std::size_t>(operands_of(members.front()), 16);
    std::size_t found = 0;
    for (std::size_t i = 1; i < std::min(members.size(), sample); ++i)
      for (std::size_t k = 0; k < operands; ++k)
        found += place(operand_of(members[i], k)).at - place(operand_of(members[i - 1], k)).at <= 1 ? 1 : 0;
    return found;
  }

  // Sorts by one of the first few operands: the one that leaves most neighbours next to each other in all operands,
  // because a kernel computes these at once. If several do, the one that leaves most neighbours evenly spaced.
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
      std::vector<Id> sorted = ordered();
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
      next = group.for_inputs ? first_for_inputs + program_.input_places : slots_.take(count);
      if (group.for_inputs) program_.input_places += count;
    } else {
      next = operands_.uniform_places(count, count >= OperandWriter::alignment);
    }
    for (const Id id : members_) result_.places[id] = {group.rate, next++};
  }

  const Terms& terms_;
  const Groups& groups_;
  Instructions& program_;
  OperandWriter& operands_;
  Placement result_;
  static constexpr std::uint32_t first_for_inputs = 0x40000000;  // until the number of other varying places is known
  Slots slots_{0};
  std::vector<Id> members_;  // of the group at hand
  bool is_backward_ = false;
  std::vector<std::uint64_t> order_;
};

}  // namespace

Placement place_numbers(const Terms& terms, const Groups& groups, Instructions& program, OperandWriter& operands) {
  return Placer(terms, groups, program, operands).run();
}

}  // namespace gradwalk::compiler
