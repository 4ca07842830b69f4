// SPDX-License-Identifier: MIT
// Finds the nearest word by edit distance.
#include "nearest.hpp"

#include <algorithm>
#include <numeric>

namespace gradwalk::cli {
namespace {

// The edit distance of two words: the number of letters to insert, delete, change or swap with their neighbour
// (Damerau-Levenshtein).
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before, last(to.size() + 1), here(to.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= from.size(); ++i) {
    here[0] = i;
    for (std::size_t k = 1; k <= to.size(); ++k) {
      here[k] = std::min({last[k] + 1, here[k - 1] + 1, last[k - 1] + (from[i - 1] == to[k - 1] ? 0 : 1)});
      if (i > 1 && k > 1 && from[i - 1] == to[k - 2] && from[i - 2] == to[k - 1])
        here[k] = std::min(here[k], before[k - 2] + 1);
    }
    before = last;
    last = here;
  }
  return last.back();
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t longest = 64;
  if (word.empty() || word.size() > longest) return "";
  std::string best;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : known)
    if (const std::size_t edits = distance(word, candidate);
        edits < least || (candidate.starts_with(word) && best.empty())) {
      best = candidate;
      least = std::min(least, edits);
    }
  return best;
}

}  // namespace gradwalk::cli
