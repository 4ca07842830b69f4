// SPDX-License-Identifier: MIT
// The scene that a film shows at a moment. It depends only on the walk and the moment. All numbers are those of the
// record.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "film_stage.hpp"

namespace gradwalk::detail {

// A moment of a film: a position in the walk, and how much of the next step has happened.
struct FilmMoment {
  enum class Beat {
    rest,     // nothing moves; `landed` effects of the step have happened
    flow,     // the operands' data move to the node, in a forward step
    carry,    // the node's gradient moves to the middle of the edge
    meet,     // the edge shows 10 x 1
    product,  // the edge shows 10 x 1 = +10
    arrive,   // +10 moves to the operand
  };
  std::size_t step;        // the number of steps that are complete
  std::size_t landed = 0;  // the effects of the next step that have happened: its deposits; one more closes its card
  Beat beat = Beat::rest;
  double part = 0;  // how much of the beat is over, 0 to 1
  double milliseconds = 0;
};

// Returns all moments of a film of the walk.
std::vector<FilmMoment> moments_of(const Walk& walk);

// A deposit that lies on a card.
struct FilmCoin {
  std::string text;
  double amount;
  bool is_wiped = false, is_late = false;
};

struct FilmScene {
  struct Card {
    std::optional<double> data, grad;
    std::vector<FilmCoin> coins;
    std::optional<double> paid;  // the gradient that it had when it paid
    bool is_current = false, is_late = false;
  };
  struct Edge {
    std::optional<double> paid;
    bool is_active = false, is_late = false, has_words = true;
    std::string words;   // its local derivative, or the product in the current step
    std::string result;  // the result of the product, in the colour of the gradient
  };
  struct Token {
    Point at;
    std::string text;
    std::string result;  // in the colour of the gradient
    double tone;         // its sign selects the colour of the gradient
    bool is_data = false;
  };
  std::vector<Card> cards;  // by node
  std::vector<Edge> edges;  // in the order of the stage
  std::vector<Token> tokens;
  std::string phase, caption;
};

// Returns the scene at a moment. Replays the walk from its beginning.
FilmScene scene_at(const Walk& walk, const FilmStage& stage, const FilmMoment& moment);

}  // namespace gradwalk::detail
