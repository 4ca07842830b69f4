// SPDX-License-Identifier: MIT
// Writes SVG. Text stays text, so that it can be searched and read aloud and is small; cairo's own SVG would contain
// outlines. There are no ids, so that one page can contain several pictures.
#include <charconv>

#include "canvas.hpp"
#include "sketch/labels.hpp"

namespace gradwalk::detail {
namespace {

// Returns a number with at most two decimals, which are enough even for an enlarged picture.
std::string number(double value) {
  char text[400];
  std::string result(text, std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, 2).ptr);
  result.erase(result.find_last_not_of('0') + 1);
  if (result.back() == '.') result.pop_back();
  return result == "-0" ? "0" : result;
}

std::string hex(Rgb colour) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text = "#";
  for (const unsigned part : {colour.r, colour.g, colour.b}) {
    text += digits[part / 16];
    text += digits[part % 16];
  }
  return text;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t k) { return k < bytes.size() ? static_cast<unsigned char>(bytes[k]) : 0u; };
    const unsigned three = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    text += digits[three >> 18];
    text += digits[three >> 12 & 63];
    text += i + 1 < bytes.size() ? digits[three >> 6 & 63] : '=';
    text += i + 2 < bytes.size() ? digits[three & 63] : '=';
  }
  return text;
}

class SvgCanvas : public Canvas {
 public:
  SvgCanvas(double width, double height, std::string_view title) {
    add("<svg xmlns=\"http://www.w3.org/2000/svg\"", {{"width", width}, {"height", height}});
    svg_ += " viewBox=\"0 0 " + number(width) + " " + number(height) + "\" font-family=\"" + plot_font +
            ",Verdana,Helvetica,Arial,sans-serif\">\n<title>" + xml_escaped(title) + "</title>\n";
  }

  void fill(const Box& box, Rgb colour) override {
    rectangle(box);
    svg_ += " fill=\"" + hex(colour) + "\"/>\n";
  }
  void frame(const Box& box, const Pen& pen) override {
    rectangle(box);
    svg_ += " fill=\"none\"" + stroke(pen) + "/>\n";
  }

  void lines(std::span<const std::vector<Point>> lines, const Pen& pen) override {
    if (lines.empty()) return;
    svg_ += "<path fill=\"none\"" + stroke(pen) + " stroke-linecap=\"round\" stroke-linejoin=\"round\" d=\"";
    for (const std::vector<Point>& line : lines)
      for (std::size_t i = 0; i < line.size(); ++i)
        svg_ += (i == 0 ? "M" : i == 1 ? "L" : " ") + number(line[i].x) + " " + number(line[i].y);
    svg_ += "\"/>\n";
  }

  void marks(Mark mark, std::span<const Point> centres, double radius, Rgb colour, const Pen& outline) override {
    if (centres.empty()) return;
    svg_ += "<g fill=\"" + hex(colour) + "\"" + stroke(outline) + ">\n";
    std::string diamond = "l";
    for (const double side : {radius, radius, -radius, radius, -radius, -radius}) diamond += number(side) + " ";
    diamond += "z\"/>\n";
    for (const Point& at : centres) {
      if (mark == Mark::circle) {
        add("<circle", {{"cx", at.x}, {"cy", at.y}, {"r", radius}});
        svg_ += "/>\n";
      } else {
        svg_.append("<path d=\"M").append(number(at.x)).append(" ").append(number(at.y - radius)).append(diamond);
      }
    }
    svg_ += "</g>\n";
  }

  void text(Point at, std::string_view text, const Lettering& lettering) override {
    add("<text", {{"x", at.x}, {"y", at.y}, {"font-size", lettering.size}});
    svg_ += " fill=\"" + hex(lettering.colour) + "\"";
    if (lettering.bold) svg_ += " font-weight=\"bold\"";
    if (lettering.anchor != Anchor::start)
      svg_ += lettering.anchor == Anchor::middle ? " text-anchor=\"middle\"" : " text-anchor=\"end\"";
    if (lettering.upwards) svg_ += " transform=\"rotate(-90 " + number(at.x) + " " + number(at.y) + ")\"";
    svg_ += ">" + xml_escaped(text) + "</text>\n";
  }

  void image(const Box& box, const Pixels& pixels) override {
    const double across = box.width / static_cast<double>(pixels.columns - 1);
    const double down = box.height / static_cast<double>(pixels.rows - 1);
    add("<svg", {{"x", box.left}, {"y", box.top}, {"width", box.width}, {"height", box.height}});
    svg_ += ">";
    add("<image", {{"x", -across / 2}, {"y", -down / 2}, {"width", box.width + across}, {"height", box.height + down}});
    svg_ += " preserveAspectRatio=\"none\" href=\"data:image/png;base64," + base64(png_of(pixels)) + "\"/></svg>\n";
  }

  std::string take() override { return svg_ + "</svg>\n"; }

 private:
  void add(std::string_view element, std::initializer_list<std::pair<const char*, double>> attributes) {
    svg_ += element;
    for (const auto& [name, value] : attributes) svg_ += std::string(" ") + name + "=\"" + number(value) + "\"";
  }
  void rectangle(const Box& box) {
    add("<rect", {{"x", box.left}, {"y", box.top}, {"width", box.width}, {"height", box.height}});
  }
  static std::string stroke(const Pen& pen) {
    return " stroke=\"" + hex(pen.colour) + "\" stroke-width=\"" + number(pen.width) + "\"";
  }

  std::string svg_;
};

}  // namespace

std::unique_ptr<Canvas> svg_canvas(double width, double height, std::string_view title) {
  return std::make_unique<SvgCanvas>(width, height, title);
}

}  // namespace gradwalk::detail
