// SPDX-License-Identifier: MIT
// Draws decision regions in a terminal. With colour, a cell shows two pixels, one above the other, in light colours of
// the classes, and dots for points. Without colour, each class has a character, which is blank where the model is in
// doubt, and a letter for its points, so that the output is readable in a file, too.
#include "gradwalk/plot_text.hpp"

#include <algorithm>

#include "labels.hpp"
#include "regions.hpp"

namespace gradwalk {
namespace {

using namespace detail;

constexpr std::string_view region_characters = ".-+:=~*^%#";
constexpr double doubt = 0.2;  // below this certainty a cell is blank; for two classes, this is a score below 0.4
constexpr std::size_t longest_name = 20;

// The colours of a class: its region where the model leans to it, its region where the model is sure, and its points.
// They are among the colours 16 to 255, which all terminals show alike, and were chosen by eye, because the nearest
// ones to the pictures' light colours have other hues.
struct TerminalColours {
  int leaning, sure, point;
};
constexpr std::array<TerminalColours, class_colours.size()> terminal_colours{{{153, 110, 25},
                                                                              {223, 222, 130},
                                                                              {151, 115, 22},
                                                                              {225, 218, 162},
                                                                              {195, 117, 31},
                                                                              {217, 209, 124},
                                                                              {147, 104, 18},
                                                                              {187, 143, 58},
                                                                              {182, 139, 89},
                                                                              {250, 246, 236}}};
constexpr int in_doubt = 255, no_number = 240;
constexpr double sure = 0.6;

const TerminalColours& colours_of(std::size_t label) { return terminal_colours[label % terminal_colours.size()]; }

int background_of(const Verdict& verdict) {
  if (verdict.label == no_class) return no_number;
  if (verdict.certainty < doubt) return in_doubt;
  return verdict.certainty < sure ? colours_of(verdict.label).leaning : colours_of(verdict.label).sure;
}

// Returns an upper bound of the columns that a text takes: every character above U+07FF counts as wide.
std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0) != 0x80) columns += byte >= 0xE0 ? 2 : 1;
  }
  return columns;
}

class TextPlot {
 public:
  TextPlot(const TrainingPlot& plot, const TextPlotOptions& options)
      : plot_(plot), options_(options), plane_("plot_text", plot) {
    top_ = short_number(plane_.y().high, 3), foot_ = short_number(plane_.y().low, 3);
    left_ = short_number(plane_.x().low, 3), right_ = short_number(plane_.x().high, 3);
    gutter_ = std::max(top_.size(), foot_.size()) + 1;
    across_ = options.width - gutter_;
    place_points();
  }

  std::string draw() {
    std::string text;
    for (std::size_t row = 0; row < options_.height; ++row) {
      const std::string label = row == 0 ? top_ : row + 1 == options_.height ? foot_ : "";
      text += std::string(gutter_ - 1 - label.size(), ' ') + label + ' ';
      text += options_.colour ? colour_row(row) : plain_row(row);
    }
    return text + axis_line() + legend();
  }

 private:
  struct Cell {
    std::size_t label = no_class;  // the class of the point in it
    bool is_test = false;
  };

  // Places so few points that the regions are visible between them. A cell with several points shows the last one.
  void place_points() {
    cells_.resize(across_ * options_.height);
    const auto most = shares(plot_, std::max<std::size_t>(cells_.size() / 4, 2));
    for (const auto& [data, share] : {std::pair{&plot_.train, most[0]}, std::pair{&plot_.test, most[1]}}) {
      for (const std::size_t i : thinned(*data, share)) {
        const auto cell = [](double part, std::size_t count) {
          const double at = part * static_cast<double>(count);
          return at > 0 ? std::min(static_cast<std::size_t>(at), count - 1) : 0;
        };
        const std::size_t column = cell(plane_.x().part(data->row(i)[0]), across_);
        const std::size_t row = cell(1 - plane_.y().part(data->row(i)[1]), options_.height);
        cells_[row * across_ + column] = {data->labels[i], data == &plot_.test};
        ++drawn_;
      }
    }
  }

  // Returns the verdict in a cell; `down` is 0.5 for its middle, 0.25 or 0.75 for its upper or lower half.
  Verdict at(std::size_t column, std::size_t row, double down) {
    return plane_.at(plane_.x().at((static_cast<double>(column) + 0.5) / static_cast<double>(across_)),
                     plane_.y().at(1 - (static_cast<double>(row) + down) / static_cast<double>(options_.height)));
  }

  std::string dot(bool is_test) const {
    if (!options_.unicode) return is_test ? "x" : "o";
    return is_test ? "\xE2\x97\x86" : "\xE2\x97\x8F";
  }
  static char letter(std::size_t label, bool is_test) { return static_cast<char>((is_test ? 'a' : 'A') + label % 26); }
  static char region_character(std::size_t label) { return region_characters[label % region_characters.size()]; }

  std::string colour_row(std::size_t row) {
    std::string text;
    int foreground = -1, background = -1;
    const auto use = [&text](int& present, int wanted, const char* what) {
      if (present != wanted) text += std::string("\x1b[") + what + ";5;" + std::to_string(wanted) + "m";
      present = wanted;
    };
    for (std::size_t column = 0; column < across_; ++column) {
      const Cell& cell = cells_[row * across_ + column];
      if (cell.label == no_class && options_.unicode) {
        use(foreground, background_of(at(column, row, 0.25)), "38");
        use(background, background_of(at(column, row, 0.75)), "48");
        text += "\xE2\x96\x80";
        continue;
      }
      use(background, background_of(at(column, row, 0.5)), "48");
      if (cell.label != no_class) use(foreground, colours_of(cell.label).point, "38");
      text += cell.label == no_class ? " " : dot(cell.is_test);
    }
    return text + "\x1b[0m\n";
  }

  std::string plain_row(std::size_t row) {
    std::string text;
    for (std::size_t column = 0; column < across_; ++column) {
      const Cell& cell = cells_[row * across_ + column];
      const Verdict verdict = at(column, row, 0.5);
      if (cell.label != no_class)
        text += letter(cell.label, cell.is_test);
      else if (verdict.label == no_class)
        text += '?';
      else
        text += verdict.certainty < doubt ? ' ' : region_character(verdict.label);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  }

  // Returns a name as this terminal can show it.
  std::string shown(std::string_view name, std::size_t longest) const {
    std::string text = shown_text(name, longest);
    if (options_.unicode) return text;
    std::string ascii;
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x80)
        ascii += c;
      else if ((byte & 0xC0) != 0x80)
        ascii += '?';
    }
    return ascii;
  }

  // Returns the line below the picture: "-1.2        height against weight        2.3".
  std::string axis_line() const {
    const std::size_t room = across_ > left_.size() + right_.size() ? across_ - left_.size() - right_.size() : 0;
    if (room == 0) return std::string(gutter_, ' ') + left_ + "\n";
    std::string name =
        shown(plane_.feature_name(1), longest_name) + " against " + shown(plane_.feature_name(0), longest_name);
    if (columns_of(name) + 2 > room) name.clear();
    const std::size_t space = room - columns_of(name), before = space / 2;
    return std::string(gutter_, ' ') + left_ + std::string(before, ' ') + name + std::string(space - before, ' ') +
           right_ + "\n";
  }

  // Returns the legend. Entries that do not fit into two lines are left out.
  std::string legend() const {
    std::vector<std::pair<std::string, std::string>> entries;  // each without and with colour codes
    const std::size_t classes = plane_.classes(), named = std::min<std::size_t>(classes, 26);
    for (std::size_t label = 0; label < named; ++label) {
      const std::string name = " " + shown(plane_.class_name(label), longest_name);
      if (options_.colour) {
        const TerminalColours& colours = colours_of(label);
        entries.emplace_back(" " + dot(false) + " " + name, "\x1b[38;5;" + std::to_string(colours.point) + ";48;5;" +
                                                                std::to_string(colours.sure) + "m " + dot(false) +
                                                                " \x1b[0m" + name);
      } else {
        const std::string text = std::string{letter(label, false), ' ', region_character(label)} + name;
        entries.emplace_back(text, text);
      }
    }
    std::string note;
    const std::size_t points = plot_.train.rows() + plot_.test.rows();
    if (plot_.test.rows() > 0) note = options_.colour ? dot(true) + " test" : "small letters: test";
    if (!note.empty()) entries.emplace_back(note, note);
    note = shown_count(drawn_) + " of " + shown_count(points) + " points";
    if (drawn_ < points) entries.emplace_back(note, note);

    std::string text;
    std::size_t used = 0, lines = 0;
    for (const auto& [plain, coloured] : entries) {
      const std::size_t needed = columns_of(plain) + (used == 0 ? 0 : 3);
      if (used > 0 && gutter_ + used + needed > options_.width) {
        if (++lines == 2) break;
        text += "\n";
        used = 0;
      }
      if (used == 0 && gutter_ + columns_of(plain) > options_.width) continue;
      text += used == 0 ? std::string(gutter_, ' ') + coloured : "   " + coloured;
      used += used == 0 ? columns_of(plain) : needed;
    }
    return text.empty() ? "" : text + "\n";
  }

  const TrainingPlot& plot_;
  const TextPlotOptions& options_;
  Plane plane_;
  std::string top_, foot_, left_, right_;  // the ends of the axes
  std::size_t gutter_, across_, drawn_ = 0;
  std::vector<Cell> cells_;
};

}  // namespace

std::string plot_text(const TrainingPlot& plot, const TextPlotOptions& options) {
  if (!plot.scores)
    throw Error("plot_text", "scores to ask about points", "none", "fill in scores, or draw the curve with plot_svg");
  if (options.width < 20 || options.width > 1000 || options.height < 2 || options.height > 1000)
    throw Error("plot_text", "20 to 1000 columns and 2 to 1000 rows",
                std::to_string(options.width) + " and " + std::to_string(options.height),
                "72 and 20 suit most terminals");
  return TextPlot(plot, options).draw();
}

}  // namespace gradwalk
