// SPDX-License-Identifier: MIT
// Replays a walk up to a moment, as docs/walk-format.md describes, and places the numbers that are moving then.
#include "film_scene.hpp"

#include <algorithm>

namespace gradwalk::detail {
namespace {

using Kind = Walk::Step::Kind;
using Beat = FilmMoment::Beat;

// Durations in milliseconds.
constexpr double frame = 60, opening = 1'100, still = 550, seeding = 900, meeting = 320, product = 480, landing = 300,
                 closing = 250, brief = 450, ending = 2'800;
constexpr int flow_frames = 8, carry_frames = 7, arrive_frames = 7;
constexpr std::string_view times = " \xC3\x97 ";

// Returns the part of a movement that is done after a part of its time: slow, fast, slow.
double eased(double part) { return part < 0.5 ? 4 * part * part * part : 1 - 4 * (1 - part) * (1 - part) * (1 - part); }

class Replay {
 public:
  Replay(const Walk& walk, const FilmStage& stage) : walk_(walk), stage_(stage) {
    scene_.cards.resize(walk.graph().nodes.size());
    scene_.edges.resize(stage.edges.size());
    for (std::size_t i = 0; i < scene_.cards.size(); ++i)
      if (walk.graph().nodes[i].operands.empty()) scene_.cards[i].data = walk.graph().nodes[i].data;
  }

  FilmScene at(const FilmMoment& moment) {
    for (std::size_t i = 0; i < moment.step; ++i) apply(walk_.steps()[i], ~std::size_t{0});
    const bool is_over = moment.step == walk_.steps().size();
    if (!is_over) apply(walk_.steps()[moment.step], moment.landed);
    const bool is_started = !is_over && (moment.landed > 0 || moment.beat != Beat::rest);
    if (is_started) scene_.cards[walk_.steps()[moment.step].node].is_current = true;
    words(is_started ? &walk_.steps()[moment.step] : nullptr, moment);
    if (is_started) move(walk_.steps()[moment.step], moment);
    describe(is_started ? &walk_.steps()[moment.step] : nullptr, is_over, moment);
    return std::move(scene_);
  }

 private:
  FilmScene::Edge& edge(const Walk::Deposit& deposit) {
    return scene_.edges[static_cast<std::size_t>(&stage_.edge_of(deposit.from, deposit.operand) - stage_.edges.data())];
  }

  // Applies the first `landed` effects of a step.
  void apply(const Walk::Step& step, std::size_t landed) {
    FilmScene::Card& card = scene_.cards[step.node];
    if (landed == 0) return;
    switch (step.kind) {
      case Kind::forward:
        card.data = step.after;
        if (!card.grad) return;
        card.grad = 0;
        card.coins.clear();
        card.paid.reset();
        return;
      case Kind::seed:
        for (std::size_t i = 0; i < scene_.cards.size(); ++i) {
          if (!scene_.cards[i].grad && !walk_.graph().nodes[i].is_constant()) scene_.cards[i].grad = 0;
          scene_.cards[i].paid.reset();
        }
        for (FilmScene::Edge& edge : scene_.edges) edge.paid.reset();
        card.grad = step.after;
        card.coins = {{"seed " + signed_number(step.after), step.after}};
        return;
      case Kind::update: card.data = step.after; return;
      case Kind::visit:
      case Kind::deposit: break;
    }
    for (std::size_t k = 0; k < std::min(landed, step.deposits.size()); ++k) land(step.deposits[k]);
    // In a walk by recursion, visits come first and deposits one by one. The card closes with the first deposit.
    const bool pays =
        !step.deposits.empty() || (step.kind == Kind::visit && walk_.options().rule != WalkRule::recursion);
    if (landed > step.deposits.size() && pays && !walk_.graph().nodes[step.node].operands.empty())
      card.paid = step.before;
  }

  void land(const Walk::Deposit& deposit) {
    FilmScene::Card& card = scene_.cards[deposit.to];
    if (walk_.options().rule == WalkRule::overwrite)
      for (FilmCoin& coin : card.coins) coin.is_wiped = true;
    card.coins.push_back(
        {signed_number(deposit.amount) + (deposit.late ? " late" : ""), deposit.amount, false, deposit.late});
    card.grad = deposit.after;
    card.is_late = card.is_late || deposit.late;
    edge(deposit).paid = deposit.amount;
    edge(deposit).is_late = deposit.late;
  }

  // Writes the local derivative on each edge whose user has data, and the product on the edges of the current step.
  void words(const Walk::Step* step, const FilmMoment& moment) {
    for (std::size_t i = 0; i < scene_.edges.size(); ++i) {
      const FilmEdge& at = stage_.edges[i];
      scene_.edges[i].has_words = scene_.cards[at.user].data.has_value();
      scene_.edges[i].words = "\xC3\x97" + film_number(walk_.graph().nodes[at.user].locals[at.operand]);
    }
    for (std::size_t i = 0; i < moment.step; ++i)  // a training step changes local derivatives
      for (const Walk::Deposit& deposit : walk_.steps()[i].deposits)
        edge(deposit).words = "\xC3\x97" + film_number(deposit.local);
    if (step == nullptr) return;
    for (std::size_t k = 0; k < std::min(moment.landed, step->deposits.size()); ++k) {
      const Walk::Deposit& deposit = step->deposits[k];
      FilmScene::Edge& paid_edge = edge(deposit);
      paid_edge.is_active = true;
      paid_edge.words.assign(factor(step->before)).append(times).append(factor(deposit.local)) += " = ";
      paid_edge.result = signed_number(deposit.amount);
    }
  }

  // Places the numbers that move in this moment.
  void move(const Walk::Step& step, const FilmMoment& moment) {
    const double part = eased(moment.part);
    if (moment.beat == Beat::flow) {
      const Snapshot::Node& node = walk_.graph().nodes[step.node];
      for (std::size_t k = 0; k < node.operands.size(); ++k)
        if (!walk_.graph().nodes[node.operands[k]].is_constant())
          scene_.tokens.push_back({stage_.edge_of(step.node, k).at(part), film_number(step.operands[k]), "", 0, true});
    }
    if (moment.beat == Beat::rest || moment.beat == Beat::flow || moment.landed >= step.deposits.size()) return;
    const Walk::Deposit& deposit = step.deposits[moment.landed];
    const FilmEdge& curve = stage_.edge_of(deposit.from, deposit.operand);
    const std::string factors = factor(step.before).append(times) + factor(deposit.local);
    if (moment.beat == Beat::carry) {
      scene_.tokens.push_back({curve.at(1 - (1 - curve.words) * part), "", signed_number(step.before), step.before});
      return;
    }
    if (moment.beat == Beat::arrive) {
      scene_.tokens.push_back({curve.at(curve.words * (1 - part)), "", signed_number(deposit.amount), deposit.amount});
      return;
    }
    edge(deposit).has_words = false;
    const bool is_known = moment.beat == Beat::product;
    scene_.tokens.push_back({curve.at(curve.words), is_known ? factors + " = " : factors,
                             is_known ? signed_number(deposit.amount) : "", is_known ? deposit.amount : step.before});
  }

  // Writes the caption: a sentence about the step that is in progress.
  void describe(const Walk::Step* step, bool is_over, const FilmMoment& moment) {
    const Snapshot& graph = walk_.graph();
    if (step == nullptr) {
      scene_.phase = is_over ? "done" : "ready";
      scene_.caption = is_over ? "Every card holds its data and its gradient." : "Only the leaves have values yet.";
      return;
    }
    const std::string name = with_real_signs(graph.nodes[step->node].name);
    scene_.phase = step->kind == Kind::forward ? "forward" : step->kind == Kind::update ? "training step" : "backward";
    switch (step->kind) {
      case Kind::forward: {
        std::vector<std::string> operands;
        operands.reserve(step->operands.size());
        for (const double operand : step->operands) operands.push_back(factor(operand));
        scene_.caption = with_real_signs(written_out(graph.nodes[step->node], operands));
        if (!graph.nodes[step->node].label.empty()) scene_.caption = name + " = " + scene_.caption;
        if (moment.landed > 0) scene_.caption += " = " + film_number(step->after);
        return;
      }
      case Kind::seed: scene_.caption = name + " moves one for one with itself: its gradient is the seed, 1."; return;
      case Kind::update: scene_.caption = name + " moves against its gradient, to " + film_number(step->after); return;
      case Kind::visit:
      case Kind::deposit: break;
    }
    if (graph.nodes[step->node].is_leaf()) {
      scene_.caption = name + " is a leaf: it keeps " + signed_number(step->before);
      return;
    }
    scene_.caption = name + " has " + signed_number(step->before) +
                     ", and pays its operands: what it has, times the number on the edge";
    const std::size_t landed = std::min(moment.landed, step->deposits.size());
    if (landed > 0 && walk_.options().rule == WalkRule::overwrite && step->deposits[landed - 1].before != 0)
      scene_.caption = "Wiped out: = forgets what was there before.";
    if (landed > 0 && step->deposits[landed - 1].late)
      scene_.caption = "Too late: the card has paid already. This sits on it, and is never passed on.";
  }

  const Walk& walk_;
  const FilmStage& stage_;
  FilmScene scene_;
};

}  // namespace

std::vector<FilmMoment> moments_of(const Walk& walk) {
  std::vector<FilmMoment> moments{{.step = 0, .milliseconds = opening}};
  const auto run = [&](std::size_t step, std::size_t landed, Beat beat, int frames) {
    for (int i = 1; i <= frames; ++i) moments.push_back({step, landed, beat, static_cast<double>(i) / frames, frame});
  };
  for (std::size_t i = 0; i < walk.steps().size(); ++i) {
    const Walk::Step& step = walk.steps()[i];
    if (step.kind == Kind::forward) run(i, 0, Beat::flow, flow_frames);
    for (std::size_t k = 0; k < step.deposits.size(); ++k) {
      run(i, k, Beat::carry, carry_frames);
      moments.push_back({i, k, Beat::meet, 1, meeting});
      moments.push_back({i, k, Beat::product, 1, product});
      run(i, k, Beat::arrive, arrive_frames);
      moments.push_back({i, k + 1, Beat::rest, 0, landing});
    }
    const double pause = step.kind == Kind::forward ? still
                         : step.kind == Kind::seed  ? seeding
                         : step.deposits.empty()    ? brief
                                                    : closing;
    moments.push_back({i, step.deposits.size() + 1, Beat::rest, 0, pause});
  }
  moments.push_back({.step = walk.steps().size(), .milliseconds = ending});
  return moments;
}

FilmScene scene_at(const Walk& walk, const FilmStage& stage, const FilmMoment& moment) {
  return Replay(walk, stage).at(moment);
}

}  // namespace gradwalk::detail
