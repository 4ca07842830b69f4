// SPDX-License-Identifier: MIT
// What a film shows at a moment: a function of the walk and the moment, and of nothing else. Numbers are the record's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "film_stage.hpp"

namespace gradwalk::detail {

// A step, and how much of it has happened.
struct FilmMoment {
  enum class Beat {
    rest,     // nothing moves: `landed` effects of the step have come
    flow,     // of forward: the operands' data are on their way
    carry,    // a node's gradient on its way to the edge's words
    meet,     // 10 x 1
    product,  // 10 x 1 = +10
    arrive,   // +10 on its way to the operand
  };
  std::size_t step;        // made before it
  std::size_t landed = 0;  // of the next: effects that have come; all of its deposits and one more close the door
  Beat beat = Beat::rest;
  double part = 0;  // of the beat, 0 to 1
  double milliseconds = 0;
};

std::vector<FilmMoment> moments_of(const Walk& walk);

struct FilmCoin {
  std::string text;
  double amount;
  bool is_wiped = false, is_late = false;
};

struct FilmScene {
  struct Card {
    std::optional<double> data, grad;
    std::vector<FilmCoin> coins;
    std::optional<double> paid;  // what it had when its door closed
    bool is_current = false, is_late = false;
  };
  struct Edge {
    std::optional<double> paid;
    bool is_active = false, is_late = false, has_words = true;
    std::string words;   // of its local derivative; with what was paid in this step
    std::string result;  // the rest of them, in the gradient's colour
  };
  struct Token {
    Point at;
    std::string text, result;  // the second in the gradient's colour
    double tone;               // above 0, below, or data where there is none
    bool is_data = false;
  };
  std::vector<Card> cards;  // by node
  std::vector<Edge> edges;  // as on the stage
  std::vector<Token> tokens;
  std::string phase, caption;
};

FilmScene scene_at(const Walk& walk, const FilmStage& stage, const FilmMoment& moment);

}  // namespace gradwalk::detail
