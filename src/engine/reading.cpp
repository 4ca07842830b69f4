// SPDX-License-Identifier: MIT
// Reading a graph. If its records are in order on the tape, one scan downwards finds them: each record marks its
// operands, and the scan meets them further down. Otherwise, or if records were expanded, a search finds them.
#include "gradwalk/reading.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <unordered_map>

#include "picks.hpp"
#include "search.hpp"
#include "written_nodes.hpp"

namespace gradwalk {

using namespace detail;

namespace detail {

// A set of Refs: one bit per word of the tape, in blocks that are allocated when a Ref is put into them. After count(),
// the set numbers its Refs in order.
class RefSet {
 public:
  struct Block {
    std::array<std::uint64_t, chunk_words / 64> bits{};
    std::array<std::uint16_t, chunk_words / 64> below{};  // number of Refs in the block below each word of bits
    std::uint32_t before = 0;                             // number of Refs in the blocks before
  };

  RefSet(Ref begin, Ref end) : begin_(begin), blocks_((end - begin) / chunk_words + 1) {}

  std::size_t blocks() const { return blocks_.size(); }
  Block* block(std::size_t i) const { return blocks_[i].get(); }

  // A bit that is set is not stored again: a load of the same word would have to wait for the store.
  static void put(Block& block, Ref word) {
    const std::uint64_t bit = std::uint64_t{1} << word % 64;
    if ((block.bits[word / 64] & bit) == 0) block.bits[word / 64] |= bit;
  }
  void put(Ref ref) {
    const Ref word = ref - begin_;
    if (word - last_ >= chunk_words) [[unlikely]]
      turn_to(word);
    put(*last_block_, word - last_);
  }

  std::size_t count() {
    std::uint32_t count = 0;
    for (const std::unique_ptr<Block>& block : blocks_) {
      if (block == nullptr) continue;
      block->before = count;
      std::uint32_t here = 0;
      for (std::size_t i = 0; i < block->bits.size(); ++i) {
        block->below[i] = static_cast<std::uint16_t>(here);
        here += static_cast<std::uint32_t>(std::popcount(block->bits[i]));
      }
      count += here;
      counted_.push_back(static_cast<std::uint32_t>(&block - blocks_.data()));
    }
    return count;
  }

  template <class Visit> void each(Visit visit) const {  // in ascending order
    for (const std::uint32_t i : counted_)
      for (std::size_t word = 0; word < chunk_words / 64; ++word)
        for (std::uint64_t bits = blocks_[i]->bits[word]; bits != 0; bits &= bits - 1)
          visit(begin_ + static_cast<Ref>(i * chunk_words + word * 64) + static_cast<Ref>(std::countr_zero(bits)));
  }

  std::optional<std::uint32_t> number(Ref ref) const {
    const std::size_t i = (ref - begin_) / chunk_words, word = (ref - begin_) % chunk_words;
    if (ref < begin_ || i >= blocks_.size() || blocks_[i] == nullptr) return std::nullopt;
    const std::uint64_t bits = blocks_[i]->bits[word / 64], bit = std::uint64_t{1} << word % 64;
    if ((bits & bit) == 0) return std::nullopt;
    return blocks_[i]->before + blocks_[i]->below[word / 64] +
           static_cast<std::uint32_t>(std::popcount(bits & (bit - 1)));
  }

  Ref at(std::uint32_t number) const {
    const auto is_after = [&](std::uint32_t n, std::uint32_t i) { return n < blocks_[i]->before; };
    const std::uint32_t i = *std::prev(std::upper_bound(counted_.begin(), counted_.end(), number, is_after));
    const Block& block = *blocks_[i];
    number -= block.before;
    const auto word = std::prev(std::upper_bound(block.below.begin(), block.below.end(), number)) - block.below.begin();
    std::uint64_t bits = block.bits[static_cast<std::size_t>(word)];
    for (std::uint32_t k = block.below[static_cast<std::size_t>(word)]; k < number; ++k) bits &= bits - 1;
    return begin_ + static_cast<Ref>(i * chunk_words + static_cast<std::size_t>(word) * 64) +
           static_cast<Ref>(std::countr_zero(bits));
  }

 private:
  [[gnu::noinline]] void turn_to(Ref word) {
    std::unique_ptr<Block>& block = blocks_[word / chunk_words];
    if (block == nullptr) block = std::make_unique<Block>();
    last_block_ = block.get();
    last_ = word - word % chunk_words;
  }

  Ref begin_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<std::uint32_t> counted_;  // the blocks that exist
  Block* last_block_ = nullptr;         // the block of the last put(); the next Ref is often near
  Ref last_ = 1u << 31;                 // its first word; at first, a word that no Ref is near
};

static bool are_leaves(Word operands) {
  return are_nodes(operands) && in_leaf_region(first(operands)) && in_leaf_region(second(operands));
}

static Ref end_of_records() {
  Ref end = tape.top;
  for (std::uint32_t index = tape.store->current; index != no_chunk; index = tape.store->chunks[index].previous)
    end = std::max(end, chunk_at(index + 1));
  return end;
}

}  // namespace detail

// If every operand lies below its user, Refs are in topological order, and two sets number them. Otherwise a list does.
struct Reading::Numbering {
  RefSet leaves{first_leaf, tape.store->next_leaf}, records{0, end_of_records()};
  std::vector<Ref> list;  // leaves, then records
  std::unordered_map<Ref, std::uint32_t> in_list;
  struct KnownTable {
    std::shared_ptr<const SharedTable> table;
    Ref highest = 0;  // of its values that are records
  };
  std::map<std::pair<Word, Ref>, KnownTable> tables;  // columns of LookupTables, by number and column
  const char* call;

  explicit Numbering(const char* caller) : call(caller) {}

  bool scan(std::span<const Ref> tops);
  bool put_operands(Ref ref);
  std::size_t search_for(std::span<const Ref> tops);  // the number of leaves
};

bool Reading::Numbering::put_operands(Ref ref) {
  bool in_order = true;
  const auto put = [&](Ref operand) {
    in_order &= in_leaf_region(operand) || operand < ref;
    (in_leaf_region(operand) ? leaves : records).put(operand);
  };
  if (op_of(*tape.node(ref)) == Op::pick && has_shared_table(ref)) {
    // Another pick from the same column may have put its values into the sets already.
    const auto [known, is_new] = tables.try_emplace({tape.word(ref - 2), first(tape.word(ref - 1))});
    if (is_new) {
      known->second.table = table_of_pick(ref, call);
      each_choice(ref, call, [&](Ref value) {
        if (!in_leaf_region(value)) known->second.highest = std::max(known->second.highest, value);
        put(value);
      });
    } else {
      in_order = known->second.highest < ref;
      each_operand(ref, put);
    }
    return in_order;
  }
  each_needed(ref, put);
  return in_order;
}

// Scans each chunk from its highest marked record down, like a pass. Returns false if an operand lies above its user,
// which happens after the tape went round.
bool Reading::Numbering::scan(std::span<const Ref> tops) {
  for (const Ref top : tops) (in_leaf_region(top) ? leaves : records).put(top);
  for (std::size_t chunk = records.blocks(); chunk-- > 0;) {
    if (records.block(chunk) == nullptr) continue;
    RefSet::Block& block = *records.block(chunk);
    const Ref begin = chunk_at(static_cast<std::uint32_t>(chunk));
    std::size_t word = block.bits.size() - 1;
    while (block.bits[word] == 0) --word;
    std::uint64_t* const bits = block.bits.data();
    const Word* const base = tape.base;
    Ref ref = begin + static_cast<Ref>(word * 64 + 63) - static_cast<Ref>(std::countl_zero(bits[word])), next = 0;
    // The bits of the records just below, where most operands are, stay in a register: storing a mark and loading it
    // again for the next record would be slow.
    std::size_t near = word;
    std::uint64_t near_bits = bits[near];
    for (; ref > begin; ref = next) {
      __builtin_prefetch(base + ref - 1024);  // two pages ahead
      const Word operands = base[ref], head = base[ref + 2];
      const Op op = static_cast<Op>(head & 0xff);
      const Ref extra = static_cast<Ref>(head >> 32), at = ref - begin;
      next = ref - 4;  // This does not depend on the head.
      if (extra != 0 && !has_third(op)) [[unlikely]] {
        next -= extra;
        asm("" : "+r"(next));  // Keep the branch: without it, the next record would wait for the head of this one.
      }
      if (at / 64 != near) {
        bits[near] = near_bits;
        near_bits = bits[near = at / 64];
      }
      if ((near_bits >> at % 64 & 1) == 0) continue;
      const auto meet = [&](Ref operand) __attribute__((always_inline)) {
        if (operand - begin < at) {
          if ((operand - begin) / 64 == near)
            near_bits |= std::uint64_t{1} << operand % 64;
          else
            RefSet::put(block, operand - begin);
        } else if (operand >= first_leaf) {
          if (is_node(operand)) leaves.put(operand);
        } else {
          records.put(operand);
          return operand < ref;
        }
        return true;
      };
      if (extra != 0) {
        if (op == sum_of_products) {
          bool in_order = true;
          each_term(ref, [&](Word term, Ref) {
            if (are_leaves(term)) {
              leaves.put(second(term));
              leaves.put(first(term));
            } else {
              in_order &= meet(second(term));
              in_order &= meet(first(term));
            }
          });
          if (!in_order) return false;
          continue;
        }
        if (op == Op::custom || op == Op::select || op == Op::pick) {
          bits[near] = near_bits;
          if (!put_operands(ref)) return false;
          near_bits = bits[near];
          continue;
        }
        if (has_third(op) && !meet(extra)) return false;
      }
      if (!meet(second(operands)) || !meet(first(operands))) return false;
    }
    bits[near] = near_bits;
  }
  return true;
}

std::size_t Reading::Numbering::search_for(std::span<const Ref> tops) {
  std::vector<Ref> others;
  for (const Ref top : tops) {
    const auto is_new = [&](Ref ref) { return !in_list.contains(ref); };
    const auto edges = [&](Ref ref, auto visit) { each_choice(ref, call, visit); };
    for (const Ref ref : search(top, is_new, edges)) {
      in_list.emplace(ref, 0);
      (is_leaf(ref) ? list : others).push_back(ref);
    }
  }
  const std::size_t leaf_count = list.size();
  list.insert(list.end(), others.begin(), others.end());
  for (std::size_t i = 0; i < list.size(); ++i) in_list[list[i]] = static_cast<std::uint32_t>(i);
  return leaf_count;
}

Reading::Reading(const Value& root) : Reading(std::span(&root, 1)) {}

Reading::Reading(std::span<const Value> roots, const char* call) {
  if (roots.empty()) throw Error(call, "at least one root", "none", "give the Values that are wanted");
  std::vector<Ref> tops;
  for (const Value& root : roots) tops.push_back(Handle::ref(root, call));
  roots_.assign(roots.begin(), roots.end());
  const auto numbering = std::make_shared<Numbering>(call);
  numbering_ = numbering;
  if (tape.store->expanded_parts.empty() && numbering->scan(tops)) {
    leaf_count_ = numbering->leaves.count();
    size_ = leaf_count_ + numbering->records.count();
  } else {
    leaf_count_ = numbering->search_for(tops);
    size_ = numbering->list.size();
  }
}

std::vector<Decision> Reading::decisions() const {
  std::vector<Decision> found;
  const std::vector<Store::NotedDecision>& all = tape.store->decisions;
  if (all.empty() || size_ == leaf_count_) return found;
  Ref first = ref(leaf_count_), last = ref(size_ - 1);
  if (!numbering_->list.empty()) {  // by its operands, not by its place
    const auto [least, most] = std::minmax_element(numbering_->list.begin() + static_cast<std::ptrdiff_t>(leaf_count_),
                                                   numbering_->list.end());
    first = *least;
    last = *most;
  }
  first -= words_below(*tape.node(first));  // where the record begins, and a comparison just before it was noted
  for (const Store::NotedDecision& one : all)
    if (first <= one.top && one.at <= last) found.push_back(one.decision);
  return found;
}

Ref Reading::ref(std::size_t i) const {
  Handle::ref(roots_.front(), "Reading");  // throws an Error on another thread
  if (i >= size_)
    throw Error("Reading", "a number below " + std::to_string(size_), std::to_string(i), "count from 0 to size()");
  if (!numbering_->list.empty()) return numbering_->list[i];
  return i < leaf_count_ ? numbering_->leaves.at(static_cast<std::uint32_t>(i))
                         : numbering_->records.at(static_cast<std::uint32_t>(i - leaf_count_));
}

std::optional<std::uint32_t> Reading::number_of(Ref ref) const {
  if (!numbering_->list.empty()) {
    const auto found = numbering_->in_list.find(ref);
    return found == numbering_->in_list.end() ? std::nullopt : std::optional(found->second);
  }
  if (in_leaf_region(ref)) return numbering_->leaves.number(ref);
  const std::optional<std::uint32_t> number = numbering_->records.number(ref);
  return number ? std::optional(*number + static_cast<std::uint32_t>(leaf_count_)) : std::nullopt;
}

Value Reading::node(std::size_t i) const { return Handle::share(ref(i)); }
Op Reading::op(std::size_t i) const { return shown_op(op_of(*tape.node(ref(i)))); }
double Reading::data(std::size_t i) const { return tape.node(ref(i))->data; }
double Reading::grad(std::size_t i) const { return tape.node(ref(i))->grad; }

bool Reading::is_held(std::size_t i) const { return detail::is_held(*tape.node(ref(i))); }

bool Reading::is_unrecorded(std::size_t i) const {
  return i < leaf_count_ && (tape.node(ref(i))->head & unrecorded) != 0;
}

std::optional<std::size_t> Reading::find(const Value& node) const {
  const Ref wanted = Handle::ref(node, "Reading::find");
  Handle::ref(roots_.front(), "Reading::find");
  return number_of(wanted);
}

std::vector<Reading::WrittenNode> Reading::read(std::size_t i) const {
  std::vector<WrittenNode> nodes;
  each_written_node(ref(i), [&](Op op, std::span<const WrittenOperand> operands) {
    WrittenNode& node = nodes.emplace_back(WrittenNode{op, {}});
    for (const auto& [x, index, number] : operands) {
      if (x == literal)
        node.operands.push_back({Operand::Kind::number, 0, number});
      else if (x == nothing)
        node.operands.push_back({Operand::Kind::earlier, index, 0});
      else
        node.operands.push_back({Operand::Kind::node, *number_of(x), op == Op::custom ? number : tape.node(x)->data});
    }
  });
  return nodes;
}

std::vector<std::size_t> Reading::choices(std::size_t i) const {
  const Ref pick = ref(i);
  std::vector<std::size_t> numbers;
  const auto add = [&](Ref value) { numbers.push_back(*number_of(value)); };
  if (op_of(*tape.node(pick)) == Op::pick) each_value_of_pick(pick, "Reading::choices", add);
  return numbers;
}

namespace detail {

// A number for each Ref, in blocks that are allocated when needed.
class RefNumbers {
 public:
  RefNumbers(Ref begin, Ref end) : begin_(begin), blocks_((end - begin) / chunk_words + 1) {}
  void set(Ref ref, std::uint32_t number) {
    std::unique_ptr<std::uint32_t[]>& block = blocks_[(ref - begin_) / chunk_words];
    if (block == nullptr)
      block.reset(new std::uint32_t[chunk_words]);  // not initialised: at() is called only for Refs that were set
    block[(ref - begin_) % chunk_words] = number;
  }
  std::uint32_t at(Ref ref) const { return blocks_[(ref - begin_) / chunk_words][(ref - begin_) % chunk_words]; }

 private:
  Ref begin_;
  std::vector<std::unique_ptr<std::uint32_t[]>> blocks_;
};

}  // namespace detail

Listing Reading::list() const {
  Handle::ref(roots_.front(), "Reading::list");
  Listing listing;
  listing.leaves = leaf_count_;
  listing.nodes.reserve(2 * size_);
  RefNumbers leaves(first_leaf, tape.store->next_leaf), records(0, end_of_records());
  const auto index_of = [&](Ref ref) { return (in_leaf_region(ref) ? leaves : records).at(ref); };
  std::vector<Ref> terms;
  std::map<std::pair<Word, Ref>, std::uint32_t> tables;
  const auto table_of = [&](Ref pick) {
    const auto fresh = static_cast<std::uint32_t>(listing.tables.size());
    if (has_shared_table(pick)) {
      const auto [known, is_new] = tables.try_emplace({tape.word(pick - 2), first(tape.word(pick - 1))}, fresh);
      if (!is_new) return known->second;
    }
    std::vector<std::uint32_t>& table = listing.tables.emplace_back();
    each_value_of_pick(pick, "Reading::list", [&](Ref value) { table.push_back(index_of(value)); });
    return fresh;
  };
  const auto add_leaf = [&](Ref ref) {
    const auto i = static_cast<std::uint32_t>(listing.nodes.size());
    (in_leaf_region(ref) ? leaves : records).set(ref, i);
    listing.nodes.push_back({Op::leaf, {i, Listing::none, Listing::none}});
  };
  const auto add = [&](Ref ref) {
    if (is_constant(ref)) {  // A constant of an expanded record is a number again.
      (in_leaf_region(ref) ? leaves : records)
          .set(ref, Listing::number + static_cast<std::uint32_t>(listing.numbers.size()));
      listing.numbers.push_back(tape.node(ref)->data);
      return;
    }
    const auto begin = static_cast<std::uint32_t>(listing.nodes.size());
    const auto add_node = [&](Op op, std::span<const WrittenOperand> operands) {
      Listing::Node& node = listing.nodes.emplace_back();  // A copy of it would wait for its fields to be stored.
      node = {op, {Listing::none, Listing::none, Listing::none}};
      if (op == Op::pick) {
        listing.picks.push_back(table_of(ref));
        operands = operands.last(1);
      }
      for (std::size_t i = 0; op != Op::custom && i < operands.size(); ++i) {
        const auto& [x, index, number] = operands[i];
        if (x == nothing) {
          node.operands[i] = begin + index;
        } else if (x == literal) {
          node.operands[i] = Listing::number + static_cast<std::uint32_t>(listing.numbers.size());
          listing.numbers.push_back(number);
        } else {
          node.operands[i] = index_of(x);
        }
      }
    };
    each_written_node(ref, add_node, terms);
    (in_leaf_region(ref) ? leaves : records).set(ref, static_cast<std::uint32_t>(listing.nodes.size() - 1));
  };
  if (numbering_->list.empty()) {
    numbering_->leaves.each(add_leaf);
    numbering_->records.each(add);
  } else {
    for (std::size_t i = 0; i < size_; ++i) i < leaf_count_ ? add_leaf(numbering_->list[i]) : add(numbering_->list[i]);
  }
  for (const Value& root : roots_) listing.roots.push_back(index_of(Handle::ref(root, "Reading::list")));
  return listing;
}

}  // namespace gradwalk
