// SPDX-License-Identifier: MIT
// Draws on bitmaps, by the cairo library.
#include <cstdint>
#include <cstring>
#include <numbers>

#include "sheet.hpp"

namespace gradwalk::detail {
namespace {

constexpr double sharp = 2;  // bitmap pixels per SVG pixel

Surface surface_of(const Pixels& pixels) {
  Surface surface = make_surface(pixels.columns, pixels.rows);
  need(cairo_surface_status(surface.get()));
  cairo_surface_flush(surface.get());
  unsigned char* const data = cairo_image_surface_get_data(surface.get());
  const auto stride = static_cast<std::size_t>(cairo_image_surface_get_stride(surface.get()));
  for (std::size_t i = 0; i < pixels.colours.size(); ++i) {
    const Rgb colour = pixels.colours[i];
    const std::uint32_t word = std::uint32_t{colour.r} << 16 | std::uint32_t{colour.g} << 8 | colour.b;
    std::memcpy(data + i / pixels.columns * stride + i % pixels.columns * sizeof word, &word, sizeof word);
  }
  cairo_surface_mark_dirty(surface.get());
  return surface;
}

std::string png_of(cairo_surface_t* surface) {
  std::string bytes;
  const auto append = [](void* to, const unsigned char* data, unsigned length) {
    static_cast<std::string*>(to)->append(reinterpret_cast<const char*>(data), length);
    return CAIRO_STATUS_SUCCESS;
  };
  need(cairo_surface_write_to_png_stream(surface, append, &bytes));
  return bytes;
}

class PngCanvas : public Canvas {
 public:
  PngCanvas(double width, double height)
      : surface_(make_surface(static_cast<std::size_t>(width * sharp), static_cast<std::size_t>(height * sharp))),
        context_(context_of(surface_, sharp)) {}

  void fill(const Box& box, Rgb colour) override {
    rectangle(box);
    use(colour);
    cairo_fill(context_.get());
  }
  void frame(const Box& box, const Pen& pen) override {
    rectangle(box);
    stroke(pen);
  }

  void lines(std::span<const std::vector<Point>> lines, const Pen& pen) override {
    for (const std::vector<Point>& line : lines) {
      cairo_new_sub_path(context_.get());
      for (const Point& at : line) cairo_line_to(context_.get(), at.x, at.y);
    }
    stroke(pen);
  }

  void marks(Mark mark, std::span<const Point> centres, double radius, Rgb colour, const Pen& outline) override {
    for (const Point& at : centres) {
      if (mark == Mark::circle) {
        cairo_new_sub_path(context_.get());
        cairo_arc(context_.get(), at.x, at.y, radius, 0, 2 * std::numbers::pi);
      } else {
        cairo_move_to(context_.get(), at.x, at.y - radius);
        cairo_rel_line_to(context_.get(), radius, radius);
        cairo_rel_line_to(context_.get(), -radius, radius);
        cairo_rel_line_to(context_.get(), -radius, -radius);
      }
      cairo_close_path(context_.get());
      use(colour);
      cairo_fill_preserve(context_.get());
      stroke(outline);
    }
  }

  void text(Point at, std::string_view text, const Lettering& lettering) override {
    show_text(context_.get(), at, text, lettering);
  }

  void image(const Box& box, const Pixels& pixels) override {
    const Surface source = surface_of(pixels);
    cairo_save(context_.get());
    rectangle(box);
    cairo_clip(context_.get());
    cairo_translate(context_.get(), box.left, box.top);
    cairo_scale(context_.get(), box.width / static_cast<double>(pixels.columns - 1),
                box.height / static_cast<double>(pixels.rows - 1));
    cairo_set_source_surface(context_.get(), source.get(), -0.5, -0.5);
    cairo_pattern_set_filter(cairo_get_source(context_.get()), CAIRO_FILTER_BILINEAR);
    cairo_pattern_set_extend(cairo_get_source(context_.get()), CAIRO_EXTEND_PAD);
    cairo_paint(context_.get());
    cairo_restore(context_.get());
  }

  std::string take() override {
    need(cairo_status(context_.get()));
    return png_of(surface_.get());
  }

 private:
  void use(Rgb colour) { detail::use(context_.get(), colour); }
  void rectangle(const Box& box) { cairo_rectangle(context_.get(), box.left, box.top, box.width, box.height); }
  void stroke(const Pen& pen) {
    use(pen.colour);
    cairo_set_line_width(context_.get(), pen.width);
    cairo_stroke(context_.get());
  }

  Surface surface_;
  Context context_;
};

}  // namespace

std::unique_ptr<Canvas> png_canvas(double width, double height) { return std::make_unique<PngCanvas>(width, height); }

std::string png_of(const Pixels& pixels) { return png_of(surface_of(pixels).get()); }

}  // namespace gradwalk::detail
