// SPDX-License-Identifier: MIT
// schedule: gives every number its place (placement.hpp) and turns the groups into vector instructions. If operands do
// not lie side by side, a table says where they are.
#include <algorithm>
#include <bit>
#include <unordered_map>

#include "first_writers.hpp"
#include "layer_writer.hpp"
#include "passes.hpp"
#include "placement.hpp"
#include "steps.hpp"

namespace gradwalk::compiler {
namespace {

// Up to this many uniform numbers, and terms of a sum, are faster by steps than by a vector instruction.
constexpr std::size_t few_numbers = 3, few_terms = 32;

class Scheduler {
 public:
  Scheduler(const Terms& terms, const Groups& groups, std::uint64_t hash_mask)
      : terms_(terms),
        groups_(groups),
        place_(place_numbers(terms, groups, program_, operands_)),
        layers_(terms, groups, place_, program_, operands_, hash_mask) {}

  Instructions run() {
    program_.parameters = terms_.parameters;
    program_.inputs = terms_.inputs;
    emit_groups();
    list_results();
    address_steps();
    find_looked_up();
    const std::vector<Instruction>&copies = operands_.constant_copies(), &packs = layers_.packs();
    program_.uniform.insert(program_.uniform.begin(), copies.begin(), copies.end());
    program_.uniform.insert(program_.uniform.end(), packs.begin(), packs.end());
    const auto shrink = [](auto&... lists) { (lists.shrink_to_fit(), ...); };
    shrink(program_.uniform, program_.varying, program_.varying_backward, program_.outers, program_.scatters,
           program_.uniform_backward, program_.factors, program_.tables, program_.steps, program_.constants,
           program_.gradients);
    return std::move(program_);
  }

 private:
  const Node& node(Id id) const { return terms_.nodes[id]; }
  std::span<const Product> products(Id id) const { return terms_.products_of(id); }
  Place place(Id id) const { return place_[id]; }

  void list_results() {
    for (const Id output : terms_.outputs)
      program_.outputs.push_back({place_.places[output].rate, place_.places[output].at});
    for (const Id seed : terms_.seeds)
      program_.seeds.push_back(seed == none || place_.places[seed].rate != Rate::uniform ? none
                                                                                         : place_.places[seed].at);
    for (std::uint32_t i = 0; i < terms_.gradients.size(); ++i) {
      if (terms_.gradients[i] == none) continue;
      const Place at = place_.places[terms_.gradients[i]];
      if (at.rate != Rate::row_gradient || at.at != i) program_.gradients.push_back({i, {at.rate, at.at}});
    }
    for (const Id gradient : terms_.input_gradients)
      program_.input_gradients.push_back(gradient == none ? none : place(gradient).at);
  }

  // ---- instructions ----

  void emit_groups() {
    is_backward_ = false;
    if (verifies) {
      place_.holders.assign(program_.varying_places + program_.input_places, none);
      hold_leaves(0, terms_.first_computed());
    }
    for (std::size_t g = 0; g < groups_.groups.size(); ++g) {
      is_backward_ = g >= groups_.forward && !terms_.seeds.empty();
      if (verifies && g == groups_.forward) hold_leaves(terms_.end_of_forward(), static_cast<Id>(terms_.nodes.size()));
      members_ = std::move(place_.members[g]);
      if (members_.empty()) continue;
      emit(groups_.groups[g], g);
      for (const Id id : members_) place_.hold(id);
    }
    if (verifies && groups_.forward == groups_.groups.size())
      hold_leaves(terms_.end_of_forward(), static_cast<Id>(terms_.nodes.size()));
    is_backward_ = true;
    for (std::size_t i = 0; i < groups_.layers.size(); ++i) layers_.add_outer(i);
  }

  // The varying numbers that are there before the first instruction of a pass.
  void hold_leaves(Id begin, Id end) {
    for (Id id = begin; id < end; ++id)
      if (node(id).kind == Kind::input || node(id).kind == Kind::seed || node(id).kind == Kind::zero) place_.hold(id);
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
      case Group::Form::layer:
        add(group.transposed == none ? layers_.layer(index, out()) : layers_.transposed(group, out()));
        break;
    }
  }

  std::uint32_t out() const { return place_.places[members_.front()].at; }  // the place of the first member
  // An instruction for the members begin ... end of the group at hand.
  Instruction new_instruction(const Group& group, Instruction::Form form, std::size_t begin, std::size_t end) const {
    return instruction_of(group, form, out() + static_cast<std::uint32_t>(begin), end - begin);
  }
  Instruction new_instruction(const Group& group, Instruction::Form form) const {
    return new_instruction(group, form, 0, members_.size());
  }
  // Columns whose memory is used again.
  std::span<Column> empty_columns(std::size_t count) {
    columns_.resize(std::max(columns_.size(), count));
    const std::span<Column> columns = std::span(columns_).first(count);
    for (Column& column : columns) column.clear();
    return columns;
  }
  void add(const Instruction& instruction) {
    if (instruction.rate == Rate::varying || instruction.form == Instruction::Form::row_sums)
      (is_backward_ ? program_.varying_backward : program_.varying).push_back(instruction);
    else
      (is_backward_ ? program_.uniform_backward : program_.uniform).push_back(instruction);
  }

  // ---- steps ----

  // Until the number of places is known, the addresses of steps hold the rate in their upper two bits.
  static constexpr std::uint32_t rate_shift = 30;
  std::uint32_t code_of(Place place) const {
    return place.at == none ? none : static_cast<std::uint32_t>(place.rate) << rate_shift | place.at;
  }
  void address_steps() {
    const Addresses at(program_);
    if (std::max(program_.uniform_places, static_cast<std::uint32_t>(program_.constants.size())) >> rate_shift != 0)
      throw Error("compile", "less than 2^30 numbers that are the same for all rows",
                  std::to_string(std::max<std::size_t>(program_.uniform_places, program_.constants.size())),
                  "compile parts of the program, or rows with inputs");
    for (std::size_t head = 0; head < program_.steps.size();) {
      const std::size_t end = head + 1 + StepHead(program_.steps[head]).words();
      for (std::size_t i = head + 1; i < end; ++i) {
        std::uint32_t& word = program_.steps[i];
        word = word == none ? static_cast<std::uint32_t>(at.one())
                            : at.of(static_cast<Rate>(word >> rate_shift), word & ((1u << rate_shift) - 1));
      }
      head = end;
    }
  }

  void emit_step(Id id) {
    std::vector<Instruction>& list = is_backward_ ? program_.uniform_backward : program_.uniform;
    const auto begin = static_cast<std::uint32_t>(program_.steps.size());
    if (list.empty() || list.back().form != Instruction::Form::steps) {
      Instruction& steps = list.emplace_back();
      steps.form = Instruction::Form::steps;
      steps.begin = begin;
    }
    const Node& step = node(id);
    const std::uint32_t out = code_of(place_.places[id]);
    if (step.kind == Kind::sum) {
      for (const Product& product : products(id))
        step_writer_.add_term(product.factor == 1 ? none : code_of(operands_.constant(product.factor)),
                              code_of(place(product.a)), code_of(place(product.b)));
      step_writer_.sum(out, step.number == 0 ? none : code_of(operands_.constant(step.number)));
    } else {
      std::array<std::uint32_t, local_operands> in;
      in.fill(none);
      for (std::uint32_t k = 0; k < step.count; ++k) in[k] = code_of(place(terms_.operands[step.begin + k]));
      step.kind == Kind::local ? step_writer_.local(step.op, step.by, out, in) : step_writer_.value(step.op, out, in);
    }
    list.back().count += static_cast<std::uint32_t>(program_.steps.size()) - begin;
    ++list.back().terms;
  }
  // Whether these members of a uniform group are computed by steps.
  static bool are_few(const Group& group, std::size_t begin, std::size_t end) {
    return group.rate == Rate::uniform && end - begin <= few_numbers;
  }

  void emit_functions(const Group& group, Instruction::Form form) {
    const std::span<Column> columns = empty_columns(group.count);
    for (std::size_t i = 0; i < members_.size(); ++i) {
      expect(terms_, members_, i);
      for (std::size_t k = 0; const Id operand : terms_.operands_of(members_[i]))
        columns[k++].push_back(place(operand));
    }
    if (group.rate == Rate::uniform) close_up(columns);
    const std::vector<std::size_t> pieces = operands_.cuts(columns, members_.size());
    for (std::size_t p = 0; p + 1 < pieces.size(); ++p) {
      if (are_few(group, pieces[p], pieces[p + 1])) {
        for (std::size_t i = pieces[p]; i < pieces[p + 1]; ++i) emit_step(members_[i]);
        continue;
      }
      Instruction instruction = new_instruction(group, form, pieces[p], pieces[p + 1]);
      for (std::uint32_t k = 0; k < group.count; ++k)
        instruction.in[k] = operands_.operand(columns[k], pieces[p], pieces[p + 1]);
      add(instruction);
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
    operands_.make_uniform(column);
    TablePlaces& places = known->second;
    places.rate = column[0].rate;
    places.first = column[0].at;
    const std::uint32_t step = column.size() > 1 ? column[1].at - column[0].at : 1;
    bool is_even = step < 0x80000000;
    for (std::size_t k = 1; is_even && k < column.size(); ++k) is_even = column[k].at == column[k - 1].at + step;
    if (is_even) {
      places.row = step;
      return places;
    }
    places.table = static_cast<std::uint32_t>(program_.tables.size());
    for (const Place& place : column) program_.tables.push_back(place.at);
    return places;
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
      Instruction instruction = new_instruction(group, form, begin, end);
      instruction.depth = static_cast<std::uint32_t>(terms_.tables[node(members_[begin]).target].size());
      instruction.row = first.row;
      instruction.in[0] = operands_.operand(index);
      instruction.in[1] =
          first.row == none ? Operand{first.rate, first.first, 0, first.table} : operands_.operand(entries);
      if (form == Instruction::Form::pick) {
        add(instruction);
      } else {
        instruction.out = 0;
        instruction.in[3] = operands_.operand(gradients);
        program_.scatters.push_back(instruction);
      }
    }
  }

  // Lists the parameters that only picks read, by an index that is an input.
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
    program_.looked_up = ranges_of(is_in_table);
  }

  // ---- extremes ----

  // Operand k of each of these members.
  Column column(std::span<const Id> members, std::size_t k) {
    Column column;
    for (const Id id : members) column.push_back(place(terms_.operands[node(id).begin + k]));
    operands_.make_uniform(column);
    return column;
  }

  void emit_extremes(const Group& group) {
    const std::uint32_t operands = node(members_.front()).count;
    const bool are_alike =
        std::all_of(members_.begin(), members_.end(), [&](Id id) { return node(id).count == operands; });
    if (are_alike && members_.size() > few_numbers) {
      Instruction instruction = new_instruction(group, Instruction::Form::extreme);
      instruction.begin = static_cast<std::uint32_t>(program_.factors.size());
      instruction.terms = operands;
      for (std::uint32_t k = 0; k < operands; ++k)
        program_.factors.push_back({{}, operands_.operand(column(members_, k)), {}, 0});
      return add(instruction);
    }
    for (const Id id : members_) {
      Column column;
      for (const Id operand : terms_.operands_of(id)) column.push_back(place(operand));
      operands_.make_uniform(column);
      Instruction instruction = instruction_of(group, Instruction::Form::extreme, place_.places[id].at, node(id).count);
      instruction.in[0] = operands_.listed(column);
      add(instruction);
    }
  }

  void emit_shares(const Group& group) {
    const std::uint32_t operands = node(terms_.operands[node(members_.front()).begin + 1]).count;
    if (members_.size() > operands) {
      const std::size_t extremes = members_.size() / operands;
      Instruction instruction = new_instruction(group, Instruction::Form::shares, 0, extremes);
      instruction.begin = static_cast<std::uint32_t>(program_.factors.size());
      instruction.terms = operands;
      const auto shares_of = [&](std::size_t k) { return std::span(members_).subspan(k * extremes, extremes); };
      instruction.in[1] = operands_.operand(column(shares_of(0), 0));
      for (std::uint32_t k = 0; k < operands; ++k)
        program_.factors.push_back({{}, operands_.operand(column(shares_of(k), 2)), {}, 0});
      return add(instruction);
    }
    const Place gradient = place(terms_.operands[node(members_.front()).begin]);
    Instruction instruction = new_instruction(group, Instruction::Form::shares);
    instruction.in[0] = operands_.listed(column(members_, 2));
    instruction.in[1] = {gradient.rate, gradient.at, 0, none};
    add(instruction);
  }

  // ---- sums ----

  void emit_sums(const Group& group) {
    if (group.rate == Rate::varying)
      emit_varying_sums(group);
    else if (runs_along_terms())
      emit_dots(group);
    else
      emit_vertical(group);
  }

  // Whether vectors run along the terms of each sum, and not along the sums: more operands follow one another there.
  bool runs_along_terms() const {
    const std::size_t terms = node(members_[0]).count;
    for (const Id id : members_)
      if (node(id).count != terms) return true;
    if (terms < OperandWriter::short_run) return false;
    if (members_.size() < OperandWriter::short_run) return true;
    std::size_t along_terms = 0, along_members = 0, sampled = 0;
    const auto follows = [](Place x, Place y) -> std::size_t { return x.rate == y.rate && y.at - x.at <= 1 ? 1 : 0; };
    const std::size_t step = std::max<std::size_t>(1, members_.size() / 16);
    for (std::size_t m = 0; m + 1 < members_.size(); m += step) {
      const auto here = products(members_[m]), next = products(members_[m + 1]);
      for (std::size_t t = 0; t + 1 < terms; ++t)
        for (Id Product::* const operand : {&Product::a, &Product::b}) {
          if (here[t].*operand == none) continue;
          ++sampled;
          along_terms += follows(place(here[t].*operand), place(here[t + 1].*operand));
          along_members += follows(place(here[t].*operand), place(next[t].*operand));
        }
    }
    // Side by side, many sums gather a column even if only some members of it are out of step.
    constexpr std::size_t many = 4096;  // terms
    const bool is_mixed =
        members_.size() * terms >= many && 2 * along_terms > along_members && 10 * along_members < 9 * sampled;
    return along_terms > along_members || is_mixed;
  }

  void emit_vertical(const Group& group) {
    const std::span<Column> columns = read_terms(0, members_.size());
    close_up(columns);
    const std::vector<std::size_t> pieces = operands_.cuts(columns, members_.size());
    for (std::size_t p = 0; p + 1 < pieces.size(); ++p) {
      if (are_few(group, pieces[p], pieces[p + 1]) && group.count <= few_terms)
        for (std::size_t i = pieces[p]; i < pieces[p + 1]; ++i) emit_step(members_[i]);
      else
        add_sums(group, Instruction::Form::sums, pieces[p], pieces[p + 1], 0);
    }
  }
  // Reads the members begin ... end: two columns of operands for each of their terms, and in factors_, term by term,
  // the factors.
  std::span<Column> read_terms(std::size_t begin, std::size_t end) {
    const std::size_t terms = products(members_[begin]).size();
    const std::span<Column> columns = empty_columns(2 * terms);
    factors_.resize(terms * (end - begin));
    for (std::size_t i = begin; i < end; ++i) {
      expect(terms_, members_, i);
      for (std::size_t k = 0; const Product& product : products(members_[i])) {
        factors_[k / 2 * (end - begin) + i - begin] = product.factor;
        columns[k++].push_back(place(product.a));
        columns[k++].push_back(place(product.b));
      }
    }
    return columns;
  }
  void close_up(std::span<Column> columns) {
    operands_.close_up(columns, [&](const Instruction& copies) { add(copies); });
  }
  // Adds sums, or row sums, for the members begin ... end, whose terms were read together with others from `first` on.
  void add_sums(const Group& group, Instruction::Form form, std::size_t begin, std::size_t end, std::size_t first) {
    Instruction instruction = new_instruction(group, form, begin, end);
    if (form == Instruction::Form::row_sums) {
      Column targets;
      for (std::size_t i = begin; i < end; ++i) targets.push_back(place_.places[node(members_[i]).target]);
      instruction.targets = operands_.operand(targets);
    } else {
      numbers_.clear();
      for (std::size_t i = begin; i < end; ++i) numbers_.push_back(node(members_[i]).number);
      instruction.start = operands_.start(numbers_);
    }
    instruction.begin = static_cast<std::uint32_t>(program_.factors.size());
    instruction.terms = node(members_[begin]).count;
    for (std::uint32_t t = 0; t < instruction.terms; ++t)
      program_.factors.push_back(
          {operands_.factor(std::span(factors_).subspan(t * columns_[0].size() + begin - first, end - begin)),
           operands_.operand(columns_[2 * t], begin - first, end - first),
           operands_.operand(columns_[2 * t + 1], begin - first, end - first), 0});
    add(instruction);
  }

  // Sums along their terms. In a sum over all pairs, the gradient of a point is the sum of a row of the triangle of
  // pairs and of a column, whose numbers lie in different rows. The column of the next point is beside it. So the
  // columns of neighbours are summed as one vector first, row by row, and each sum begins with its number of this
  // vector.
  void emit_dots(const Group& group) {
    begin_dots_.assign(members_.size(), {});
    for (const bool is_at_end : {true, false}) add_columns(group, is_at_end);
    for (std::size_t i = 0; i < members_.size(); ++i) emit_dot(group, members_[i], begin_dots_[i]);
  }
  struct Begin {              // of a sum
    std::uint32_t at = none;  // the place of the sum of its first or last terms
    std::uint32_t first_terms = 0, last_terms = 0;
  };
  struct Outermost {  // the first or last term of a member of the group
    std::uint32_t place, member;
    auto operator<=>(const Outermost&) const = default;
  };
  const Product& product_of(std::size_t member, std::size_t k, bool is_at_end) const {
    const std::span<const Product> all = products(members_[member]);
    return is_at_end ? all[all.size() - 1 - k] : all[k];
  }
  // Sums the columns at the end of the terms, or at the beginning.
  void add_columns(const Group& group, bool is_at_end) {
    constexpr std::size_t least = 16, most = 64;  // members side by side, and least of their terms
    std::vector<Outermost> order;
    for (std::uint32_t i = 0; i < members_.size(); ++i) {
      if (begin_dots_[i].at != none || node(members_[i]).count <= few_terms || node(members_[i]).number != 0) continue;
      const Product& product = product_of(i, 0, is_at_end);
      if (product.b == none && place(product.a).rate == Rate::uniform) order.push_back({place(product.a).at, i});
    }
    std::sort(order.begin(), order.end());
    for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
      end = begin + 1;
      while (end < order.size() && end - begin < most && are_beside(order[end - 1], order[end], least, is_at_end))
        ++end;
      if (end - begin >= least) add_columns(group, std::span(order).subspan(begin, end - begin), is_at_end);
    }
  }
  // Whether this many outermost terms of two members are side by side.
  bool are_beside(const Outermost& x, const Outermost& y, std::uint32_t terms, bool is_at_end) const {
    for (std::uint32_t k = 0; k < terms; ++k)
      if (!are_side_by_side(std::array{x, y}, k, is_at_end)) return false;
    return true;
  }
  // Whether the k-th terms of the members, counted from outside, are side by side, and each member has another term.
  bool are_side_by_side(std::span<const Outermost> order, std::size_t k, bool is_at_end) const {
    for (std::uint32_t r = 0; r < order.size(); ++r) {
      if (k + 1 >= products(members_[order[r].member]).size()) return false;
      const Product &first = product_of(order[0].member, k, is_at_end),
                    &own = product_of(order[r].member, k, is_at_end);
      const Place from = place(first.a), here = place(own.a);
      if (own.b != none || own.factor != first.factor || here.rate != from.rate || here.at != from.at + r) return false;
    }
    return true;
  }
  void add_columns(const Group& group, std::span<const Outermost> order, bool is_at_end) {
    std::uint32_t terms = 0;
    while (are_side_by_side(order, terms, is_at_end)) ++terms;
    const std::uint32_t out = operands_.uniform_places(static_cast<std::uint32_t>(order.size()), true);
    Instruction instruction = instruction_of(group, Instruction::Form::sums, out, order.size());
    instruction.begin = static_cast<std::uint32_t>(program_.factors.size());
    instruction.terms = terms;
    for (std::uint32_t k = 0; k < terms; ++k) {
      const Product& first = product_of(order[0].member, k, is_at_end);
      const Place column = place(first.a);
      program_.factors.push_back({operands_.factor({&first.factor, 1}), {column.rate, column.at, 1, none}, {}, 0});
    }
    add(instruction);
    for (std::uint32_t r = 0; r < order.size(); ++r)
      begin_dots_[order[r].member] = {out + r, is_at_end ? 0 : terms, is_at_end ? terms : 0};
  }

  void emit_dot(const Group& group, Id id, const Begin& begin) {
    if (node(id).count <= few_terms) return emit_step(id);
    // Products of two come before single terms, so that each kind is one long run.
    const std::span<const Product> all = products(id);
    const std::span<const Product> own =
        all.subspan(begin.first_terms, all.size() - begin.first_terms - begin.last_terms);
    sorted_.clear();
    for (const bool is_pair : {true, false})
      for (const Product& product : own)
        if ((product.b != none) == is_pair) sorted_.push_back(product);
    const std::span<Column> columns = empty_columns(2);
    for (const Product& product : sorted_) {
      columns[0].push_back(place(product.a));
      columns[1].push_back(place(product.b));
    }
    Instruction instruction = instruction_of(group, Instruction::Form::dot, place_.places[id].at, 1);
    const double first = node(id).number;
    instruction.start = begin.at == none ? operands_.start({&first, 1}) : Operand{Rate::uniform, begin.at, 0, none};
    instruction.begin = static_cast<std::uint32_t>(program_.factors.size());
    const std::vector<std::size_t> pieces = operands_.cuts(columns, sorted_.size());
    for (std::size_t p = 0; p + 1 < pieces.size(); ++p) {
      numbers_.clear();
      for (std::size_t i = pieces[p]; i < pieces[p + 1]; ++i) numbers_.push_back(sorted_[i].factor);
      program_.factors.push_back({operands_.factor(numbers_), operands_.operand(columns[0], pieces[p], pieces[p + 1]),
                                  operands_.operand(columns[1], pieces[p], pieces[p + 1]),
                                  static_cast<std::uint32_t>(pieces[p + 1] - pieces[p])});
    }
    instruction.terms = static_cast<std::uint32_t>(pieces.size() - 1);
    add(instruction);
  }

  // Sums, or row sums, of different lengths or with operands of different rates are separate instructions.
  void emit_varying_sums(const Group& group) {
    const bool is_row_sum = group.form == Group::Form::row_sum;
    const auto are_alike = [&](Id x, Id y) {
      const auto first = products(x), second = products(y);
      return first.size() == second.size() &&
             std::equal(first.begin(), first.end(), second.begin(), [&](const Product& a, const Product& b) {
               return place(a.a).rate == place(b.a).rate && place(a.b).rate == place(b.b).rate &&
                      (a.b == none) == (b.b == none);
             });
    };
    for (std::size_t begin = 0, end = 0; begin < members_.size(); begin = end) {
      end = begin + 1;
      while (end < members_.size() && are_alike(members_[begin], members_[end])) ++end;
      read_terms(begin, end);
      add_sums(group, is_row_sum ? Instruction::Form::row_sums : Instruction::Form::sums, begin, end, begin);
    }
  }

  const Terms& terms_;
  const Groups& groups_;
  Instructions program_;
  OperandWriter operands_{program_};
  Placement place_;
  LayerWriter layers_;
  std::unordered_map<Id, TablePlaces> tables_;  // of picks
  std::vector<Id> members_;                     // of the group at hand
  bool is_backward_ = false;
  std::vector<Column> columns_;
  std::vector<double> numbers_, factors_;
  std::vector<Product> sorted_;
  std::vector<Begin> begin_dots_;  // of the members of the group at hand
  StepWriter step_writer_{program_.steps, none};
};

}  // namespace

Instructions schedule(const Terms& terms, const Groups& groups, std::uint64_t hash_mask) {
  return Scheduler(terms, groups, hash_mask).run();
}

}  // namespace gradwalk::compiler
