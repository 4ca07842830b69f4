// SPDX-License-Identifier: MIT
// roll: finds loops in straight code. Neighbouring blocks of statements with the same shape become one block in a loop,
// with the operands of all of them as lists. This is done again on the result, so loops nest: the products of a
// matrix and a vector, and the rounds of a simulation, are found in the same way.
//
// Only the text changes. The statements run in the same order, whatever their operands are.
#include <algorithm>
#include <functional>
#include <span>

#include "code.hpp"

namespace gradwalk::emit {
namespace {

constexpr std::size_t least_blocks = 4;      // in a loop
constexpr std::size_t least_single = 8;      // in a loop of one statement; shorter ones are faster as they are
constexpr std::size_t longest_block = 4096;  // items of one iteration
constexpr std::size_t most_candidates = 24;  // lengths of a block that are tried

std::uint64_t mixed(std::uint64_t hash, std::uint64_t with) {
  hash = (hash ^ with) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

std::uint64_t shape_of(const Expression& expression, std::uint64_t hash) {
  hash = mixed(hash, expression.pattern);
  for (const Operands& operands : expression.operands)
    hash = mixed(hash, static_cast<std::uint64_t>(operands[0].array));
  return hash;
}

void set_shape(Item& item) {
  std::uint64_t hash = mixed(1, item.count);
  if (item.is_loop()) {
    for (const Item& inside : item.body) hash = mixed(hash, inside.shape);
  } else {
    const Statement& statement = item.statement;
    hash = shape_of(statement.value, mixed(hash, static_cast<std::uint64_t>(statement.target[0].array)));
    for (const Run& run : statement.runs) hash = shape_of(run.term, mixed(hash, run.count));
  }
  item.shape = hash;
}

bool have_same_shape(const Expression& x, const Expression& y) {
  return x.pattern == y.pattern && std::ranges::equal(x.operands, y.operands, [](const Operands& a, const Operands& b) {
           return a.size() == b.size() && a[0].array == b[0].array;
         });
}
bool have_same_shape(const Item& x, const Item& y) {
  if (x.shape != y.shape || x.count != y.count || x.body.size() != y.body.size()) return false;
  if (x.is_loop())
    return std::ranges::equal(x.body, y.body, [](const Item& a, const Item& b) { return have_same_shape(a, b); });
  const Statement &p = x.statement, &q = y.statement;
  return p.target[0].array == q.target[0].array && have_same_shape(p.value, q.value) &&
         std::ranges::equal(p.runs, q.runs, [](const Run& a, const Run& b) {
           return a.count == b.count && have_same_shape(a.term, b.term);
         });
}

// Calls visit(operands) for each list of operands in a block.
template <class Block, class Visit> void for_each_list(Block&& block, const Visit& visit) {
  for (auto& item : block) {
    if (item.is_loop()) {
      for_each_list(item.body, visit);
      continue;
    }
    visit(item.statement.target);
    for (auto& operands : item.statement.value.operands) visit(operands);
    for (auto& run : item.statement.runs)
      for (auto& operands : run.term.operands) visit(operands);
  }
}

// The indices of all operands of a block. Numbers count as equal: a loop takes them from a table.
std::vector<std::int64_t> indices_of(std::span<const Item> block) {
  std::vector<std::int64_t> indices;
  for_each_list(block, [&](const Operands& operands) {
    for (const Operand& operand : operands) indices.push_back(operand.array == Array::number ? 0 : operand.index);
  });
  return indices;
}

class Roller {
 public:
  explicit Roller(std::vector<Item>& items) : items_(items) {}

  // Makes loops of blocks of one item, or of any length. Returns whether it found one.
  bool run(bool of_one_item) {
    of_one_item_ = of_one_item;
    link_equal_shapes();
    std::vector<Item> made;
    bool has_found = false;
    for (std::size_t at = 0; at < items_.size();) {
      const Repeat repeat = best_repeat(at);
      if (repeat.blocks == 0) {
        made.push_back(std::move(items_[at++]));
        continue;
      }
      has_found |= add_loops(at, repeat, made);
      at += repeat.length * repeat.blocks;
    }
    items_ = std::move(made);
    return has_found;
  }

 private:
  struct Repeat {
    std::size_t length = 0, blocks = 0;
  };

  // next_[i] is the next item with the shape of item i.
  void link_equal_shapes() {
    next_.assign(items_.size(), items_.size());
    std::map<std::uint64_t, std::size_t> last;
    for (std::size_t i = items_.size(); i-- > 0;) {
      const auto [known, is_new] = last.try_emplace(items_[i].shape, i);
      if (is_new) continue;
      next_[i] = known->second;
      known->second = i;
    }
  }

  // The length of block from this item on that saves most.
  Repeat best_repeat(std::size_t at) const {
    Repeat best;
    std::size_t most = 0, tried = 0;
    for (std::size_t other = next_[at]; other < items_.size() && tried < most_candidates;
         other = next_[other], ++tried) {
      const std::size_t length = other - at;
      if (length > longest_block || (of_one_item_ && length > 1)) break;
      std::size_t equal = 0;
      while (other + equal < items_.size() && have_same_shape(items_[at + equal], items_[other + equal])) ++equal;
      const std::size_t blocks = equal / length + 1;
      if (blocks < (length == 1 && !items_[at].is_loop() ? least_single : least_blocks)) continue;
      const std::size_t saved = (blocks - 1) * length;
      if (saved > most) most = saved, best = {length, blocks};
    }
    return best;
  }

  std::span<const Item> block(std::size_t at, std::size_t length) const {
    return std::span(items_).subspan(at, length);
  }

  // Cuts the blocks where their indices stop to grow evenly. Even parts become loops, two nested ones where parts
  // follow each other evenly. Several blocks that follow no rule become a loop with tables.
  bool add_loops(std::size_t at, const Repeat& repeat, std::vector<Item>& made) {
    std::vector<std::vector<std::int64_t>> indices;
    for (std::size_t b = 0; b < repeat.blocks; ++b)
      indices.push_back(indices_of(block(at + b * repeat.length, repeat.length)));
    const auto step = [&](std::size_t from, std::size_t to) {
      std::vector<std::int64_t> steps(indices[from].size());
      for (std::size_t i = 0; i < steps.size(); ++i) steps[i] = indices[to][i] - indices[from][i];
      return steps;
    };
    bool has_found = false;
    std::size_t uneven = 0;  // blocks before b that are in no loop yet
    const auto move = [&](std::size_t b, std::size_t blocks, std::vector<Item>& to) {
      for (std::size_t i = 0; i < blocks * repeat.length; ++i)
        to.push_back(std::move(items_[at + b * repeat.length + i]));
    };
    const auto add_uneven = [&](std::size_t end) {
      if (uneven >= 2 * least_blocks) {
        made.push_back(loop(at + (end - uneven) * repeat.length, repeat.length, uneven));
        has_found = true;
      } else {
        move(end - uneven, uneven, made);
      }
      uneven = 0;
    };
    for (std::size_t b = 0; b < repeat.blocks;) {
      std::size_t even = std::min<std::size_t>(2, repeat.blocks - b);
      if (even == 2) {
        const auto first = step(b, b + 1);
        while (b + even < repeat.blocks && step(b + even - 1, b + even) == first) ++even;
      }
      std::size_t parts = 1;
      if (even >= 2 && b + 2 * even <= repeat.blocks) {
        const auto first = step(b, b + 1), across = step(b, b + even);
        const auto is_like_first = [&](std::size_t part) {
          for (std::size_t i = 1; i < even; ++i)
            if (step(part + i - 1, part + i) != first) return false;
          return step(part - even, part) == across;
        };
        while (b + (parts + 1) * even <= repeat.blocks && is_like_first(b + parts * even)) ++parts;
      }
      if (even < least_blocks && even * parts < 2 * least_blocks) {
        ++uneven, ++b;
        continue;
      }
      add_uneven(b);
      has_found = true;
      if (parts == 1) {
        made.push_back(loop(at + b * repeat.length, repeat.length, even));
      } else {
        std::vector<Item> loops;
        for (std::size_t part = 0; part < parts; ++part)
          loops.push_back(loop(at + (b + part * even) * repeat.length, repeat.length, even));
        made.push_back(merged(loops, 1));
      }
      b += even * parts;
    }
    add_uneven(repeat.blocks);
    return has_found;
  }

  Item loop(std::size_t at, std::size_t length, std::size_t blocks) {
    return merged(std::span(items_).subspan(at, length * blocks), length);
  }

  // One block in a loop for several of the same shape.
  static Item merged(std::span<Item> blocks, std::size_t length) {
    Item made;
    made.count = static_cast<std::uint32_t>(blocks.size() / length);
    for (std::size_t i = 0; i < length; ++i) made.body.push_back(std::move(blocks[i]));
    std::vector<Operands*> lists;
    for_each_list(made.body, [&](Operands& operands) { lists.push_back(&operands); });
    for (std::size_t b = length; b < blocks.size(); b += length) {
      std::size_t k = 0;
      for_each_list(blocks.subspan(b, length), [&](const Operands& operands) {
        lists[k]->insert(lists[k]->end(), operands.begin(), operands.end());
        ++k;
      });
    }
    set_shape(made);
    return made;
  }

  std::vector<Item>& items_;
  std::vector<std::size_t> next_;
  bool of_one_item_ = false;
};

}  // namespace

std::size_t size_of(const Code& code) {
  std::size_t size = 0;
  const std::function<void(const Item&)> count = [&](const Item& item) {
    for (const Item& inside : item.body) count(inside);
    if (item.is_loop()) return;
    size += 1 + item.statement.value.operands.size() / 2;
    for (const Run& run : item.statement.runs) size += 1 + run.term.operands.size() / 2;
  };
  for (const Item& item : code.items) count(item);
  return size;
}

void roll(Code& code) {
  if (code.items.empty()) return;
  for (Item& item : code.items) set_shape(item);
  constexpr int most_rounds = 6;
  Roller roller(code.items);
  roller.run(true);
  for (int i = 0; i < most_rounds && roller.run(false); ++i) {
  }
}

}  // namespace gradwalk::emit
