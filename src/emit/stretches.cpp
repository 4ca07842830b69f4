// SPDX-License-Identifier: MIT
#include "stretches.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>

#include "compile/steps.hpp"

namespace gradwalk::emit {
namespace {

using namespace compiler;

// An instruction with the columns that it reads.
struct VectorLine {
  Kind kind = Kind::function;  // or local, sum, extreme or share
  Op op = Op::leaf;
  std::uint8_t by = 0;
  Rate rate = Rate::varying;
  std::uint32_t count = 0;
  std::vector<std::uint32_t> outs;  // the first place of each result: one, or for shares as many as operands
  std::array<std::optional<Column>, local_operands> in;
  std::optional<Column> start;
  struct Term {
    std::optional<Column> factor, a, b;
  };
  std::vector<Term> terms;  // of a sum; of an extreme or shares in it, the operands are their `a`
};

// Collects lines of one loop.
class LoopOfLines {
 public:
  LoopOfLines(const Instructions& program, bool is_backward) : program_(program), is_backward_(is_backward) {}

  bool is_empty() const { return lines_.empty(); }
  // Whether the loop can compute this line, too: it must not read or change what another iteration computes or reads.
  bool takes(const VectorLine& line) const {
    if (is_empty()) return true;
    if (line.count != lines_[0].count || line.rate != lines_[0].rate) return false;
    bool is_free = true;
    each_column(line, [&](const Column& column) {
      if (column.rate != line.rate) return;
      const bool is_whole = is_stored(column);
      for (const std::uint32_t place : column.places) is_free = is_free && (is_whole || !writes_.contains(place));
    });
    for (const std::uint32_t out : line.outs)
      for (std::uint32_t i = 0; i < line.count; ++i) {
        const auto read = reads_.find(out + i);
        is_free = is_free && (read == reads_.end() || read->second == i);
        const auto write = writes_.find(out + i);
        is_free = is_free && (write == writes_.end() || write->second == i);
      }
    return is_free;
  }
  void add(VectorLine line) {
    each_column(line, [&](const Column& column) {
      if (column.rate != line.rate) return;
      if (is_stored(column)) return;
      for (std::uint32_t i = 0; i < line.count; ++i) {
        const auto [known, is_new] = reads_.try_emplace(column.places[i], i);
        if (!is_new && known->second != i) known->second = several;
      }
    });
    for (const std::uint32_t out : line.outs) {
      for (std::uint32_t i = 0; i < line.count; ++i) writes_[out + i] = i;
      stored_.insert(out);
    }
    lines_.push_back(std::move(line));
  }

  Stretch finish() {
    Stretch made;
    made.count = lines_[0].count;
    made.rate = lines_[0].rate;
    // Leaves come first. The result of a line stands for its places until another line of the loop writes there.
    std::set<std::uint32_t> made_places;  // the first place of each line so far
    const auto number = [&](const Column& column) {
      if (column.rate == made.rate && made_places.contains(column.places[0])) return;
      if (column.rate == Rate::constant && is_one_number(column)) return;
      leaf(made, column);
    };
    for (const VectorLine& line : lines_) {
      each_column(line, number);
      made_places.insert(line.outs.begin(), line.outs.end());
    }
    Terms& terms = made.terms;
    terms.parameters = made.leaves.size();
    for (std::size_t i = 0; i < made.leaves.size(); ++i) terms.nodes.push_back({Kind::parameter});
    std::map<std::uint64_t, Id> constants;  // by their bits
    for (const VectorLine& line : lines_)
      each_column(line, [&](const Column& column) {
        if (column.rate != Rate::constant || !is_one_number(column)) return;
        if (!constants.try_emplace(bits_of(column.places[0]), static_cast<Id>(terms.nodes.size())).second) return;
        const double value = program_.constants[column.places[0]];
        terms.nodes.push_back({Kind::constant, Op::leaf, Rate::constant, 0, 0, 0, none, value});
        ++terms.constants;
      });
    terms.backward = is_backward_ ? static_cast<Id>(terms.nodes.size()) : none;
    std::map<std::uint32_t, Id> nodes;  // by the place of the first iteration
    const auto id_of = [&](const std::optional<Column>& column) {
      if (!column) return none;
      if (column->rate == made.rate)
        if (const auto known = nodes.find(column->places[0]); known != nodes.end()) return known->second;
      if (column->rate == Rate::constant && is_one_number(*column)) return constants.at(bits_of(column->places[0]));
      return leaf_numbers_.at(*column);
    };
    for (const VectorLine& line : lines_) {
      if (line.kind == Kind::extreme || line.kind == Kind::share) {
        const std::vector<Id> ids = extreme(terms, line, id_of);
        for (std::size_t k = 0; k < ids.size(); ++k) nodes[line.outs[k]] = ids[k];
      } else {
        nodes[line.outs[0]] = line.kind == Kind::sum ? sum(terms, line, id_of) : call(terms, line, id_of);
      }
    }
    for (const auto& [place, id] : nodes) made.stores.push_back({place, id});
    return made;
  }

 private:
  static constexpr std::uint32_t several = none;
  template <class Meet> static void each_column(const VectorLine& line, Meet meet) {
    for (const auto& one : line.in)
      if (one) meet(*one);
    if (line.start) meet(*line.start);
    for (const VectorLine::Term& term : line.terms)
      for (const auto* one : {&term.factor, &term.a, &term.b})
        if (*one) meet(**one);
  }
  // Whether a line of the loop has computed this column.
  bool is_stored(const Column& column) const {
    if (!stored_.contains(column.places[0])) return false;
    for (std::uint32_t i = 0; i < column.places.size(); ++i)
      if (column.places[i] != column.places[0] + i) return false;
    return true;
  }
  std::uint64_t bits_of(std::uint32_t place) const { return std::bit_cast<std::uint64_t>(program_.constants[place]); }
  bool is_one_number(const Column& column) const {
    return std::ranges::all_of(column.places,
                               [&](std::uint32_t place) { return bits_of(place) == bits_of(column.places[0]); });
  }
  void leaf(Stretch& made, const Column& column) {
    const auto [known, is_new] = leaf_numbers_.try_emplace(column, static_cast<Id>(made.leaves.size()));
    if (is_new) made.leaves.push_back(column);
  }
  template <class IdOf> Id call(Terms& terms, const VectorLine& line, IdOf id_of) const {
    Node node{line.kind, line.op, Rate::uniform, line.by, static_cast<std::uint32_t>(terms.operands.size())};
    const std::size_t operands =
        line.kind == Kind::local ? local_operands : static_cast<std::size_t>(info(line.op).operands);
    for (std::size_t k = 0; k < operands; ++k) terms.operands.push_back(id_of(line.in[k]));
    node.count = static_cast<std::uint32_t>(operands);
    terms.nodes.push_back(node);
    return static_cast<Id>(terms.nodes.size() - 1);
  }
  // A max/min reduction, or the shares in it of all operands. The backward pass computes the reduction again.
  template <class IdOf> std::vector<Id> extreme(Terms& terms, const VectorLine& line, IdOf id_of) const {
    const auto add = [&](Kind kind, const std::vector<Id>& operands) {
      terms.nodes.push_back({kind, line.op, Rate::uniform, 0, static_cast<std::uint32_t>(terms.operands.size()),
                             static_cast<std::uint32_t>(operands.size())});
      terms.operands.insert(terms.operands.end(), operands.begin(), operands.end());
      return static_cast<Id>(terms.nodes.size() - 1);
    };
    std::vector<Id> operands;
    for (const VectorLine::Term& term : line.terms) operands.push_back(id_of(term.a));
    const Id whole = add(Kind::extreme, operands);
    if (line.kind == Kind::extreme) return {whole};
    std::vector<Id> shares;
    for (const Id operand : operands) shares.push_back(add(Kind::share, {id_of(line.in[0]), whole, operand}));
    return shares;
  }
  template <class IdOf> Id sum(Terms& terms, const VectorLine& line, IdOf id_of) const {
    std::vector<Product> products;
    const auto add = [&](const std::vector<Product>& all) {
      Node node{Kind::sum, Op::leaf, Rate::uniform, 0, static_cast<std::uint32_t>(terms.products.size())};
      node.count = static_cast<std::uint32_t>(all.size());
      terms.products.insert(terms.products.end(), all.begin(), all.end());
      terms.nodes.push_back(node);
      return static_cast<Id>(terms.nodes.size() - 1);
    };
    if (line.start) products.push_back({1, id_of(line.start), none});
    for (const VectorLine::Term& term : line.terms) {
      Product product{1, id_of(term.a), id_of(term.b)};
      if (product.a == none) std::swap(product.a, product.b);
      if (term.factor && is_one_number(*term.factor)) {
        product.factor = program_.constants[term.factor->places[0]];
      } else if (term.factor) {
        const Id factor = id_of(term.factor);
        if (product.b != none) product.a = add({{1, product.a, factor}});
        if (product.b == none) product.b = factor;
      }
      if (product.a == none)  // a constant alone
        product = {1, id_of(term.factor), none};
      products.push_back(product);
    }
    return add(products);
  }

  const Instructions& program_;
  bool is_backward_;
  std::vector<VectorLine> lines_;
  std::map<std::uint32_t, std::uint32_t> reads_, writes_;  // by place: in which iteration
  std::set<std::uint32_t> stored_;                         // the first place of each line
  std::map<Column, Id> leaf_numbers_;
};

class PieceCutter {
 public:
  PieceCutter(const Instructions& program, const StretchOptions& options)
      : program_(program),
        options_(options),
        next_sum_(options.first_sum),
        loop_(std::in_place, program, options.is_backward) {}

  std::vector<Piece> run(std::span<const Instruction> list) {
    for (const Instruction& one : list) {
      if (one.for_inputs && !options_.for_inputs) continue;
      switch (one.form) {
        case Instruction::Form::function:
        case Instruction::Form::local:
        case Instruction::Form::sums:
        case Instruction::Form::row_sums: add(line_of(one)); break;
        case Instruction::Form::extreme:
        case Instruction::Form::shares: add(extreme_line(one)); break;
        case Instruction::Form::steps: add_steps(one); break;
        case Instruction::Form::layer:
          finish();
          pieces_.push_back(Layer{one, 1, 0});
          break;
        case Instruction::Form::dot:
          finish();
          pieces_.push_back(Dot{one});
          break;
        case Instruction::Form::outer:
        case Instruction::Form::pick:
        case Instruction::Form::scatter: break;  // emit_cuda() refuses picks, and writes outer products by itself
      }
    }
    finish();
    return std::move(pieces_);
  }

 private:
  void add(VectorLine line) {
    if (!loop_->takes(line)) finish();
    loop_->add(std::move(line));
  }
  void finish() {
    if (loop_->is_empty()) return;
    pieces_.push_back(loop_->finish());
    loop_.emplace(program_, options_.is_backward);
  }

  std::optional<Column> column(const compiler::Operand& operand, std::uint32_t count) const {
    if (!operand.exists()) return std::nullopt;
    return column_of(program_, operand, count);
  }
  VectorLine line_of(const Instruction& one) {
    VectorLine made;
    const bool is_row_sum = one.form == Instruction::Form::row_sums;
    const bool is_sum = is_row_sum || one.form == Instruction::Form::sums;
    made.kind = is_sum ? Kind::sum : one.form == Instruction::Form::local ? Kind::local : Kind::function;
    made.op = one.op;
    made.by = one.by;
    made.rate = is_row_sum ? Rate::varying : one.rate;
    made.count = one.count;
    made.outs = {is_row_sum ? std::exchange(next_sum_, next_sum_ + one.count) : one.out};
    if (!is_sum)
      for (std::size_t k = 0; k < made.in.size(); ++k) made.in[k] = column(one.in[k], one.count);
    made.start = column(one.start, one.count);
    for (std::uint32_t t = one.begin; is_sum && t < one.begin + one.terms; ++t) {
      const Factors& factors = program_.factors[t];
      made.terms.push_back(
          {column(factors.factor, one.count), column(factors.a, one.count), column(factors.b, one.count)});
    }
    return made;
  }

  // The operands of a single max/min reduction follow each other. Several reductions side by side have a column per
  // operand.
  VectorLine extreme_line(const Instruction& one) const {
    VectorLine made;
    const bool is_single = one.terms == 0, has_shares = one.form == Instruction::Form::shares;
    made.kind = has_shares ? Kind::share : Kind::extreme;
    made.op = one.op;
    made.rate = one.rate;
    made.count = is_single ? 1 : one.count;
    for (std::uint32_t t = 0; t < (is_single ? one.count : one.terms); ++t) {
      const Column single{one.in[0].rate, is_single ? std::vector{program_.place(one.in[0], t)} : std::vector{t}};
      made.terms.push_back({{}, is_single ? single : column(program_.factors[one.begin + t].a, one.count), {}});
      if (has_shares || t == 0) made.outs.push_back(one.out + t * made.count);
    }
    if (has_shares) made.in[0] = column(one.in[1], made.count);
    return made;
  }

  // Each step is a loop of one iteration.
  void add_steps(const Instruction& steps) {
    each_step(
        std::span(program_.steps).subspan(steps.begin, steps.count), [&](StepHead head, const std::uint32_t* words) {
          VectorLine made;
          made.rate = Rate::uniform;
          made.count = 1;
          made.outs = {words[0]};
          if (head.is_sum()) {
            made.kind = Kind::sum;
            std::uint32_t k = 1;
            if (head.has_start()) made.start = at(words[k++]);
            for (; k < head.words(); k += head.has_factors() ? 3 : 2) {
              const std::uint32_t a = k + (head.has_factors() ? 1 : 0);
              VectorLine::Term term{head.has_factors() ? at(words[k]) : std::nullopt, at(words[a]), at(words[a + 1])};
              made.terms.push_back(std::move(term));
            }
          } else {
            made.kind = head.is_local() ? Kind::local : Kind::function;
            made.op = head.op();
            made.by = static_cast<std::uint8_t>(head.is_local() ? head.by() : 0);
            const auto operands = static_cast<std::size_t>(info(made.op).operands);
            if (head.is_local()) {
              made.in[0] = at(words[1]);
              if (operands == 2) made.in[1] = at(words[2]);
              if (operands < 3) made.in[3] = at(words[head.words() - 2]);
              made.in[4] = at(words[head.words() - 1]);
            } else {
              for (std::size_t q = 0; q < operands; ++q) made.in[q] = at(words[q + 1]);
            }
          }
          add(std::move(made));
        });
  }
  // The number at an address of steps, or nothing for the 1 that stands for a missing operand.
  std::optional<Column> at(std::uint32_t address) const {
    const Addresses all(program_);
    if (address == all.one()) return std::nullopt;
    if (address >= all.gradients())
      return Column{Rate::row_gradient, {address - static_cast<std::uint32_t>(all.gradients())}};
    if (address >= all.constants())
      return Column{Rate::constant, {address - static_cast<std::uint32_t>(all.constants())}};
    return Column{Rate::uniform, {address}};
  }

  const Instructions& program_;
  const StretchOptions& options_;
  std::uint32_t next_sum_;
  std::optional<LoopOfLines> loop_;
  std::vector<Piece> pieces_;
};

}  // namespace

Column column_of(const Instructions& program, const compiler::Operand& operand, std::uint32_t count) {
  Column made{operand.rate, {}};
  made.places.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) made.places.push_back(program.place(operand, i));
  return made;
}

std::vector<Piece> pieces_of(const Instructions& program, std::span<const Instruction> list,
                             const StretchOptions& options) {
  return PieceCutter(program, options).run(list);
}

}  // namespace gradwalk::emit
