// SPDX-License-Identifier: MIT
// The stage of a film: the places of cards and edges. They are laid out once, for the widest text of the whole walk.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "canvas.hpp"
#include "gradwalk/walk.hpp"

namespace gradwalk::detail {

// Returns a number with five digits and a real minus sign.
std::string film_number(double number);
// Returns a gradient, with + if it is positive.
std::string signed_number(double number);
// Returns a factor of a product, in parentheses if it is negative.
std::string factor(double number);
// Returns a formula with the signs of mathematics: a·b, a − b, a^2.
std::string with_real_signs(std::string formula);

// A box with the numbers of one node.
struct FilmCard {
  std::size_t node;
  Box box;
  std::string head;  // the heading: e = a + b
};

// An edge from an operand to its user. Constants have none.
struct FilmEdge {
  std::size_t user;
  std::size_t operand;       // which operand of the user
  std::vector<Point> curve;  // 1 + 3n points: cubic pieces, each of which begins where the last one ends
  double words;              // the place of its words along the curve, 0 to 1
  // Returns the point at a part of the curve, 0 to 1.
  Point at(double part) const;
};

struct FilmStage {
  double width, height;
  std::vector<FilmCard> cards;
  std::vector<FilmEdge> edges;
  const FilmCard& card_of(std::size_t node) const;
  const FilmEdge& edge_of(std::size_t user, std::size_t operand) const;
};

// Lays out the graph of a walk.
FilmStage lay_out(const Walk& walk);

namespace film {  // sizes in pixels, and the colours of the lesson
inline constexpr Rgb stage{243, 240, 231}, card{255, 254, 251}, leaf{234, 241, 249}, ink{35, 34, 30}, soft{95, 91, 81};
inline constexpr Rgb line{205, 199, 184}, wire{139, 133, 118}, data{31, 85, 150}, ok{29, 107, 87};
inline constexpr Rgb plus{173, 66, 9}, plus_wash{251, 230, 214}, minus{139, 42, 120}, minus_wash{245, 223, 240};
inline constexpr Rgb wrong{179, 32, 44}, wrong_wash{249, 220, 220};

inline constexpr double value_size = 16, head_size = 14, word_size = 12, note_size = 11;
inline constexpr double pad = 12, card_height = 104, coin_height = 20, pill_height = 24, caption_height = 58,
                        margin = 16;
inline constexpr double least_width = 590;    // fits the longest caption
inline constexpr std::size_t most_coins = 4;  // of more coins, the last four are shown
}  // namespace film

}  // namespace gradwalk::detail
