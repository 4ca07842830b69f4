// SPDX-License-Identifier: MIT
// Paints a scene of a film with cairo: first edges, then cards, then moving numbers. Data is blue and moves forward.
// Gradients have warm colours and move back; the edge of a negative gradient is dashed.
#include "film_paint.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "panels.hpp"

namespace gradwalk::detail {
namespace {

struct Tone {
  Rgb ink, wash;
};
Tone tone_of(double amount) {
  if (amount > 0) return {film::plus, film::plus_wash};
  if (amount < 0) return {film::minus, film::minus_wash};
  return {film::soft, film::card};
}

class Painter {
 public:
  Painter(cairo_t* context, const Walk& walk, const FilmStage& stage) : context_(context), walk_(walk), stage_(stage) {}

  void paint(const FilmScene& scene) {
    use(context_, film::stage);
    cairo_paint(context_);
    for (std::size_t i = 0; i < stage_.edges.size(); ++i) line(stage_.edges[i], scene.edges[i]);
    for (std::size_t i = 0; i < stage_.edges.size(); ++i) words(stage_.edges[i], scene.edges[i]);
    for (const FilmCard& card : stage_.cards) this->card(card, scene.cards[card.node]);
    for (const FilmScene::Token& token : scene.tokens) this->token(token);
    caption(scene);
  }

 private:
  void round_box(const Box& box, double radius) {
    const double right = box.right() - radius, bottom = box.bottom() - radius, quarter = std::numbers::pi / 2;
    cairo_new_sub_path(context_);
    cairo_arc(context_, right, box.top + radius, radius, -quarter, 0);
    cairo_arc(context_, right, bottom, radius, 0, quarter);
    cairo_arc(context_, box.left + radius, bottom, radius, quarter, 2 * quarter);
    cairo_arc(context_, box.left + radius, box.top + radius, radius, 2 * quarter, 3 * quarter);
    cairo_close_path(context_);
  }
  void stroke(Rgb colour, double width) {
    use(context_, colour);
    cairo_set_line_width(context_, width);
    cairo_stroke(context_);
  }
  void filled(const Box& box, double radius, Rgb ground, Rgb border, double width) {
    round_box(box, radius);
    use(context_, ground);
    cairo_fill_preserve(context_);
    stroke(border, width);
  }
  void straight(Point from, Point to, Rgb colour, double width) {
    cairo_move_to(context_, from.x, from.y);
    cairo_line_to(context_, to.x, to.y);
    stroke(colour, width);
  }
  void letters(Point at, const std::string& text, double size, Rgb colour, bool bold = false,
               Anchor anchor = Anchor::start) {
    show_text(context_, at, text, {.size = size, .colour = colour, .bold = bold, .anchor = anchor});
  }

  double width_of(const std::string& text, const Lettering& lettering) {
    set_font(context_, lettering);
    return advance(context_, text);
  }

  void line(const FilmEdge& edge, const FilmScene::Edge& now) {
    const bool is_paid = now.paid.has_value();
    const Rgb colour = now.is_late ? film::wrong : is_paid && *now.paid != 0 ? tone_of(*now.paid).ink : film::wire;
    const std::array<double, 2> dashes{8, 5};
    cairo_move_to(context_, edge.curve[0].x, edge.curve[0].y);
    for (std::size_t i = 1; i + 2 < edge.curve.size(); i += 3)
      cairo_curve_to(context_, edge.curve[i].x, edge.curve[i].y, edge.curve[i + 1].x, edge.curve[i + 1].y,
                     edge.curve[i + 2].x, edge.curve[i + 2].y);
    if (is_paid && *now.paid < 0) cairo_set_dash(context_, dashes.data(), 2, 0);
    stroke(colour, is_paid ? now.is_active ? 3 : 2 : 1.4);
    cairo_set_dash(context_, nullptr, 0, 0);
    const Point end = edge.curve.back();
    cairo_move_to(context_, end.x - 7, end.y - 4.5);
    cairo_line_to(context_, end.x - 1, end.y);
    cairo_line_to(context_, end.x - 7, end.y + 4.5);
    stroke(colour, 1.5);
    if (!is_paid) return;
    const Point tip = edge.curve.front();
    cairo_move_to(context_, tip.x, tip.y);
    cairo_line_to(context_, tip.x + 11, tip.y - 6);
    cairo_line_to(context_, tip.x + 11, tip.y + 6);
    cairo_close_path(context_);
    use(context_, colour);
    cairo_fill(context_);
  }

  // Paints a rounded box with a text and its result, which has its own colour.
  void pill(Point at, const std::string& text, const std::string& result, Rgb colour, Rgb ground, Rgb border,
            double width) {
    const Lettering bold{.size = film::word_size, .bold = true};
    const double first = text.empty() ? 0 : width_of(text, bold);
    const double whole = first + (result.empty() ? 0 : width_of(result, bold));
    const Box box{at.x - whole / 2 - 10, at.y - film::pill_height / 2, whole + 20, film::pill_height};
    filled(box, film::pill_height / 2, ground, border, width);
    letters({box.left + 10, at.y + 4.4}, text, film::word_size, film::ink, true);
    letters({box.left + 10 + first, at.y + 4.4}, result, film::word_size, colour, true);
  }
  void words(const FilmEdge& edge, const FilmScene::Edge& now) {
    if (!now.has_words) return;
    const Tone tone = tone_of(now.paid.value_or(0));
    const bool is_paid = !now.result.empty();
    pill(edge.at(edge.words), now.words, now.result, tone.ink, is_paid ? tone.wash : film::card,
         is_paid ? tone.ink : film::wire, 1.2);
  }
  void token(const FilmScene::Token& token) {
    const Tone tone = tone_of(token.tone);
    if (token.is_data)
      pill(token.at, "", token.text, film::data, film::leaf, film::data, 1.6);
    else
      pill(token.at, token.text, token.result, tone.ink, tone.wash, tone.ink, 1.6);
  }

  void card(const FilmCard& card, const FilmScene::Card& now) {
    const Box& box = card.box;
    const bool is_leaf = walk_.graph().nodes[card.node].is_leaf(), is_root = card.node == walk_.graph().root();
    const double radius = is_leaf ? 18 : 9, left = box.left + film::pad, right = box.right() - film::pad;
    if (now.is_current) {
      round_box({box.left - 5, box.top - 5, box.width + 10, box.height + 10}, radius + 5);
      stroke(film::ok, 2.4);
    }
    filled(box, radius, is_leaf ? film::leaf : film::card,
           now.is_late ? film::wrong
           : is_root   ? film::ink
                       : film::line,
           is_root || now.is_late ? 2 : 1.3);
    letters({left, box.top + 21}, card.head, film::head_size, film::ink, true);
    if (is_leaf) letters({right, box.top + 20}, "leaf", film::note_size, film::soft, false, Anchor::end);
    straight({box.left, box.top + 30}, {box.right(), box.top + 30}, film::line, 1);
    letters({left, box.top + 45}, "data", film::note_size, film::soft);
    letters({left, box.top + 65}, now.data ? film_number(*now.data) : "\xC2\xB7", film::value_size, film::data, true);
    letters({right, box.top + 45}, "grad", film::note_size, film::soft, false, Anchor::end);
    letters({right, box.top + 65}, now.grad ? signed_number(*now.grad) : "\xC2\xB7", film::value_size,
            now.grad ? tone_of(*now.grad).ink : film::soft, true, Anchor::end);
    straight({box.left, box.top + 74}, {box.right(), box.top + 74}, film::line, 1);
    coins(now.coins, left - 3, box.top + 79);
    if (now.paid)
      straight({box.left, box.top + 12}, {box.left, box.bottom() - 12}, now.is_late ? film::wrong : film::ink, 5);
  }

  void coins(const std::vector<FilmCoin>& coins, double left, double top) {
    for (std::size_t i = coins.size() - std::min(coins.size(), film::most_coins); i < coins.size(); ++i) {
      const FilmCoin& coin = coins[i];
      const Tone tone = coin.is_late ? Tone{film::wrong, film::wrong_wash} : tone_of(coin.amount);
      const double width = width_of(coin.text, {.size = film::word_size, .bold = true}) + 14;
      const Box box{left, top, width, film::coin_height};
      const bool is_plain = coin.is_wiped || coin.amount == 0;
      filled(box, film::coin_height / 2, coin.is_wiped ? film::card : tone.wash, is_plain ? film::line : tone.wash, 1);
      letters({left + 7, top + 14.4}, coin.text, film::word_size, coin.is_wiped ? film::soft : tone.ink, true);
      if (coin.is_wiped) straight({left + 4, top + 10}, {box.right() - 4, top + 10}, film::wrong, 2);
      left += width + 5;
    }
  }

  void caption(const FilmScene& scene) {
    const double top = stage_.height - film::caption_height;
    straight({0, top}, {stage_.width, top}, film::line, 1);
    const double room = stage_.width - 2 * film::margin;
    const Lettering soft{.size = film::note_size}, plain{.size = 14};
    letters({film::margin, top + 20}, fitted(scene.phase, room, soft), film::note_size, film::soft);
    letters({film::margin, top + 42}, fitted(scene.caption, room, plain), 14, film::ink);
  }

  cairo_t* context_;
  const Walk& walk_;
  const FilmStage& stage_;
};

}  // namespace

void paint(cairo_t* context, const Walk& walk, const FilmStage& stage, const FilmScene& scene) {
  Painter(context, walk, stage).paint(scene);
}

}  // namespace gradwalk::detail
