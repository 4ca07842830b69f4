// SPDX-License-Identifier: MIT
// Canvas: an interface to draw on, so that an SVG and a PNG come from the same code. Lengths are pixels of the SVG,
// measured from the top left.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sketch/regions.hpp"

namespace gradwalk::detail {

struct Point {
  double x, y;
};

struct Box {
  double left, top, width, height;
  double right() const { return left + width; }
  double bottom() const { return top + height; }
};

struct Pixels {
  std::size_t columns, rows;
  std::vector<Rgb> colours;  // row by row
};

struct Pen {
  Rgb colour;
  double width;
};

enum class Mark { circle, diamond };
enum class Anchor { start, middle, end };

struct Lettering {
  double size = 11.5;
  Rgb colour{};
  bool bold = false;
  Anchor anchor = Anchor::start;
  bool upwards = false;  // true writes from bottom to top
};

class Canvas {
 public:
  Canvas() = default;
  virtual ~Canvas() = default;
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;

  virtual void fill(const Box& box, Rgb colour) = 0;
  virtual void frame(const Box& box, const Pen& pen) = 0;
  virtual void lines(std::span<const std::vector<Point>> lines, const Pen& pen) = 0;
  virtual void marks(Mark mark, std::span<const Point> centres, double radius, Rgb colour, const Pen& outline) = 0;
  // Writes a text; `at` is on its base line.
  virtual void text(Point at, std::string_view text, const Lettering& lettering) = 0;
  // Draws pixels, smoothly enlarged and clipped to the box. The centres of the outermost pixels are on its edges.
  virtual void image(const Box& box, const Pixels& pixels) = 0;
  // Returns the bytes of the file.
  virtual std::string take() = 0;
};

std::unique_ptr<Canvas> svg_canvas(double width, double height, std::string_view title);
std::unique_ptr<Canvas> png_canvas(double width, double height);

// Returns the width of a text. The cairo library measures it.
double text_width(const std::string& text, const Lettering& lettering);
// Returns the bytes of a PNG file, written by the cairo library.
std::string png_of(const Pixels& pixels);

inline constexpr const char* plot_font = "DejaVu Sans";

}  // namespace gradwalk::detail
