// SPDX-License-Identifier: MIT
// The interactive walk, drawn with ncurses: the nodes with their numbers at the current step, the step in words, and
// the keys. It fits any window size: long lines are cut with an ellipsis, and long lists of nodes scroll.
#include "interactive.hpp"

// ncurses defines common words as macros, so it is included last.
#include <fmt/format.h>
#include <langinfo.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdlib>
#include <string_view>

#include "gradwalk/error.hpp"
#include "show.hpp"
#include "table.hpp"

#define NCURSES_NOMACROS
#include <ncurses.h>

namespace gradwalk::cli {
namespace {

enum Colour : short { accent = 1, good };

attr_t coloured(Colour colour) { return static_cast<attr_t>(COLOR_PAIR(colour)) | A_BOLD; }

class Screen {
 public:
  explicit Screen(bool colour) {
    if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0)
      throw Error("walk --interactive", "a terminal", "a pipe or a file", "omit --interactive to print the steps");
    if (const char* name = std::getenv("TERM"); name != nullptr && std::string_view(name) == "dumb")
      throw Error("walk --interactive", "a terminal that can move its cursor", "TERM=dumb",
                  "omit --interactive to print the steps");
    std::setlocale(LC_CTYPE, "");
    if (std::string_view(nl_langinfo(CODESET)) != "UTF-8") std::setlocale(LC_CTYPE, "C.UTF-8");
    // The size is that of the terminal, also where a program above exported LINES and COLUMNS.
    ::unsetenv("LINES");
    ::unsetenv("COLUMNS");
    screen_ = newterm(nullptr, stdout, stdin);
    if (screen_ == nullptr)
      throw Error("walk --interactive", "a terminal that ncurses knows", "another one", "set TERM, such as TERM=xterm");
    cbreak();
    noecho();
    keypad(stdscr, true);
    curs_set(0);
    set_escdelay(50);
    if (colour && has_colors()) {
      start_color();
      use_default_colors();
      init_pair(accent, COLOR_CYAN, -1);
      init_pair(good, COLOR_GREEN, -1);
    }
  }
  ~Screen() {
    endwin();
    delscreen(screen_);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  static std::size_t width() { return static_cast<std::size_t>(std::max(1, getmaxx(stdscr))); }
  static std::size_t height() { return static_cast<std::size_t>(std::max(1, getmaxy(stdscr))); }

  static void line(std::size_t row, std::string_view text, attr_t attributes = A_NORMAL) {
    if (row >= height()) return;
    attr_on(attributes, nullptr);
    mvaddstr(static_cast<int>(row), 0, shorten(text, width()).c_str());
    attr_off(attributes, nullptr);
  }

 private:
  SCREEN* screen_;
};

class Interactive {
 public:
  Interactive(Walk& walk, int digits) : walk_(walk), show_(walk.graph(), digits, walk.options().rule) {}

  void run() {
    for (;;) {
      draw();
      const int key = getch();
      if (asking_) {
        answer(key);
      } else if (!move(key)) {
        return;
      }
    }
  }

 private:
  // Reacts to a key. Returns false to quit.
  bool move(int key) {
    const std::size_t at = walk_.position(), last = walk_.steps().size();
    message_.clear();
    switch (key) {
      case KEY_RIGHT:
      case ' ':
      case 'n':
      case 'l':
      case '\n': go(at + 1, "this is the last step"); break;
      case KEY_LEFT:
      case 'p':
      case 'h': at == 0 ? void(message_ = "this is the beginning") : go(at - 1, ""); break;
      case KEY_HOME:
      case 'r':
      case '0': go(0, ""); break;
      case KEY_END:
      case '$': go(last, ""); break;
      case 'b': go(backward_start(), ""); break;
      case 'u': undo(); break;
      case 'g':
      case 'j':
        asking_ = true;
        typed_.clear();
        break;
      case KEY_RESIZE:
      case ERR: return key == KEY_RESIZE;
      case 'q':
      case 27: return false;  // escape
      default: message_ = "this key does nothing";
    }
    return true;
  }

  void answer(int key) {
    if (key >= '0' && key <= '9' && typed_.size() < 9) {
      typed_ += static_cast<char>(key);
    } else if (key == KEY_BACKSPACE || key == 127 || key == 8) {
      if (!typed_.empty()) typed_.pop_back();
    } else if (key == '\n' || key == KEY_ENTER) {
      asking_ = false;
      const std::size_t to = typed_.empty() ? walk_.position() : std::stoul(typed_);
      if (to > walk_.steps().size()) {
        message_ = fmt::format("there are {} steps", walk_.steps().size());
      } else {
        go(to, "");
      }
    } else if (key == 27) {
      asking_ = false;
    }
  }

  void go(std::size_t position, const char* at_the_end) {
    if (position > walk_.steps().size()) {
      message_ = at_the_end;
    } else if (position != walk_.position()) {
      history_.push_back(walk_.position());
      walk_.go_to(position);
    }
  }

  void undo() {
    if (history_.empty()) {
      message_ = "nothing to undo";
    } else {
      walk_.go_to(history_.back());
      history_.pop_back();
    }
  }

  std::size_t backward_start() const {
    const auto seed = std::find_if(walk_.steps().begin(), walk_.steps().end(),
                                   [](const Walk::Step& step) { return step.kind == Walk::Step::Kind::seed; });
    return static_cast<std::size_t>(seed - walk_.steps().begin()) + 1;
  }

  // The current step, or none at the beginning.
  const Walk::Step* present() const { return walk_.position() == 0 ? nullptr : &walk_.steps()[walk_.position() - 1]; }

  // Draws the heading, the nodes, an empty line, the step in words, and the keys in the last line.
  void draw() const {
    erase();
    const std::size_t height = Screen::height(), body = height > 2 ? height - 2 : 0;
    const std::size_t wanted = rows().size() + 2;  // lines for the nodes, their heading and the empty line
    std::vector<std::string> words = text();
    const std::size_t room_for_words = std::max(body > wanted ? body - wanted : 0, (body + 1) / 2);
    if (words.size() > room_for_words) words.resize(room_for_words);
    const std::size_t room = body - words.size();  // lines left for the nodes
    Screen::line(0, heading(), A_BOLD);
    if (room > 2) draw_nodes(1, room - 2);
    const std::size_t from = 1 + std::min(room, wanted);
    for (std::size_t i = 0; i < words.size(); ++i)
      Screen::line(from + i, words[i], i == 0 ? coloured(accent) : A_NORMAL);
    if (height > 1) Screen::line(height - 1, footer(), A_DIM);
    refresh();
  }

  std::string heading() const {
    const std::string rule = walk_.options().rule == WalkRule::right
                                 ? (walk_.options().order.empty() ? "" : "  your order")
                                 : fmt::format("  broken: {}", info(walk_.options().rule).name);
    return fmt::format("step {} of {}  {}{}", walk_.position(), walk_.steps().size(),
                       present() == nullptr ? "start: only the leaves have data" : Show::phase(*present()), rule);
  }

  // The current step in words, wrapped to the width of the window.
  std::vector<std::string> text() const {
    std::vector<std::string> result;
    const auto add = [&](const std::string& line, const char* indent) {
      for (const std::string& part : wrap(line, Screen::width() > 4 ? Screen::width() - 4 : 1)) {
        result.push_back(indent + part);
        indent = "    ";
      }
    };
    if (const Walk::Step* step = present()) {
      const std::vector<std::string> lines = show_.step(*step);
      for (std::size_t i = 0; i < lines.size(); ++i) add(lines[i], i == 0 ? "" : "  ");
    } else {
      add("press the right arrow to go forward", "");
    }
    if (walk_.parting() && walk_.parting()->step + 1 == walk_.position())
      add("the first error: " + walk_.parting()->reason, "");
    if (walk_.position() == walk_.steps().size() && !walk_.is_complete()) add("stopped: too many visits", "");
    return result;
  }

  std::string footer() const {
    if (asking_) return "go to step: " + typed_ + "_";
    if (!message_.empty()) return message_;
    const std::string_view keys = "→ forward  ← back  u undo  g jump  r reset  q quit";
    return characters(keys) <= Screen::width() ? std::string(keys) : "→ ←  u undo  g jump  q quit";
  }

  // The nodes to list: all but the constants.
  std::vector<std::size_t> rows() const {
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < walk_.graph().nodes.size(); ++i)
      if (!walk_.graph().nodes[i].is_constant()) result.push_back(i);
    return result;
  }

  bool takes_a_deposit(std::size_t node) const {
    const Walk::Step* step = present();
    return step != nullptr && std::any_of(step->deposits.begin(), step->deposits.end(),
                                          [&](const Walk::Deposit& deposit) { return deposit.to == node; });
  }

  void draw_nodes(std::size_t top, std::size_t room) const {
    const std::vector<std::size_t> nodes = rows();
    std::vector<std::vector<std::string>> cells{{"", "name", "data", "grad", ""}};
    std::size_t current = 0;
    const std::size_t name_width = std::max<std::size_t>(8, Screen::width() / 3);
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      const Walk::State& state = walk_.state()[nodes[k]];
      const bool here = present() != nullptr && present()->node == nodes[k];
      if (here) current = k;
      const bool backward = walk_.position() >= backward_start();
      cells.push_back({here ? ">" : " ", shorten(show_.name(nodes[k]), name_width),
                       state.has_data ? show_.number(state.data) : "?", backward ? show_.number(state.grad) : "",
                       state.visits > 1    ? fmt::format("visited {} times", state.visits)
                       : state.visits == 1 ? "visited"
                                           : ""});
    }
    const std::string text = table(cells, "llrrl");
    std::vector<std::string_view> lines;
    for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(rest.find('\n') + 1))
      lines.push_back(rest.substr(0, rest.find('\n')));
    Screen::line(top, lines[0], A_DIM);
    const std::size_t first =
        nodes.size() <= room || current < room / 2 ? 0 : std::min(current - room / 2, nodes.size() - room);
    for (std::size_t k = first; k < nodes.size() && k - first < room; ++k) {
      const bool here = present() != nullptr && present()->node == nodes[k];
      const attr_t look = here ? coloured(accent) : takes_a_deposit(nodes[k]) ? coloured(good) : A_NORMAL;
      Screen::line(top + 1 + k - first, lines[k + 1], look);
    }
  }

  Walk& walk_;
  Show show_;
  std::vector<std::size_t> history_;  // positions before each move
  bool asking_ = false;               // whether the user is typing the number of a step
  std::string typed_, message_;
};

}  // namespace

void walk_interactively(Walk& walk, int digits, bool colour) {
  const Screen screen(colour);
  Interactive(walk, digits).run();
}

}  // namespace gradwalk::cli
