// SPDX-License-Identifier: MIT
// Where the cards and edges of a film stand: laid out once, for the widest text each shows in the whole walk.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "canvas.hpp"
#include "gradwalk/walk.hpp"

namespace gradwalk::detail {

// How a film writes numbers: five digits, a real minus sign; a gradient with its sign, a factor in parentheses if below
// 0.
std::string film_number(double number);
std::string signed_number(double number);
std::string factor(double number);
std::string with_real_signs(std::string formula);  // a·b, a − b, a^2

struct FilmCard {
  std::size_t node;
  Box box;
  std::string head;  // e = a + b
};

// From an operand to its user; constants have none.
struct FilmEdge {
  std::size_t user, operand;  // of the user: which
  std::vector<Point> curve;   // cubic pieces, each beginning where the last ends: 1 + 3n points
  double words;               // where along it its words stand, 0 to 1
  Point at(double part) const;
};

struct FilmStage {
  double width, height;
  std::vector<FilmCard> cards;
  std::vector<FilmEdge> edges;
  const FilmCard& card_of(std::size_t node) const;
  const FilmEdge& edge_of(std::size_t user, std::size_t operand) const;
};

FilmStage laid_out(const Walk& walk);

namespace film {  // the look of it; colours are the lesson's
inline constexpr Rgb stage{243, 240, 231}, card{255, 254, 251}, leaf{234, 241, 249}, ink{35, 34, 30}, soft{95, 91, 81};
inline constexpr Rgb line{205, 199, 184}, wire{139, 133, 118}, data{31, 85, 150}, ok{29, 107, 87};
inline constexpr Rgb plus{173, 66, 9}, plus_wash{251, 230, 214}, minus{139, 42, 120}, minus_wash{245, 223, 240};
inline constexpr Rgb wrong{179, 32, 44}, wrong_wash{249, 220, 220};

inline constexpr double value_size = 16, head_size = 14, word_size = 12, note_size = 11;
inline constexpr double pad = 12, card_height = 104, coin_height = 20, pill_height = 24, caption_height = 58,
                        margin = 16;
inline constexpr double least_width = 590;    // for the longest sentence
inline constexpr std::size_t most_coins = 4;  // of more, the last are shown
}  // namespace film

}  // namespace gradwalk::detail
