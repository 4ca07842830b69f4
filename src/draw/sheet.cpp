// SPDX-License-Identifier: MIT
// Makes bitmaps and writes text on them, by the cairo library.
#include "sheet.hpp"

#include <numbers>

namespace gradwalk::detail {

void need(cairo_status_t status) {
  if (status == CAIRO_STATUS_SUCCESS) return;
  throw Error("plot", "the cairo library to draw", cairo_status_to_string(status),
              "free memory, or install a font (Debian: fonts-dejavu-core)");
}

Surface make_surface(std::size_t columns, std::size_t rows) {
  return Surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(columns), static_cast<int>(rows)));
}

Context context_of(const Surface& surface, double scale) {
  Context context(cairo_create(surface.get()));
  cairo_scale(context.get(), scale, scale);
  cairo_set_line_cap(context.get(), CAIRO_LINE_CAP_ROUND);
  cairo_set_line_join(context.get(), CAIRO_LINE_JOIN_ROUND);
  cairo_font_options_t* const options = cairo_font_options_create();
  cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  cairo_set_font_options(context.get(), options);
  cairo_font_options_destroy(options);
  return context;
}

void use(cairo_t* context, Rgb colour) {
  cairo_set_source_rgb(context, colour.r / 255.0, colour.g / 255.0, colour.b / 255.0);
}

void set_font(cairo_t* context, const Lettering& lettering) {
  cairo_select_font_face(context, plot_font, CAIRO_FONT_SLANT_NORMAL,
                         lettering.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(context, lettering.size);
}

double advance(cairo_t* context, const std::string& text) {
  cairo_text_extents_t extents{};
  cairo_text_extents(context, text.c_str(), &extents);
  return extents.x_advance;
}

void show_text(cairo_t* context, Point at, std::string_view text, const Lettering& lettering) {
  const std::string whole(text);
  cairo_save(context);
  set_font(context, lettering);
  use(context, lettering.colour);
  cairo_translate(context, at.x, at.y);
  if (lettering.upwards) cairo_rotate(context, -std::numbers::pi / 2);
  const double before = lettering.anchor == Anchor::start ? 0 : lettering.anchor == Anchor::middle ? 0.5 : 1;
  cairo_move_to(context, -before * advance(context, whole), 0);
  cairo_show_text(context, whole.c_str());
  cairo_new_path(context);
  cairo_restore(context);
}

double text_width(const std::string& text, const Lettering& lettering) {
  const Surface surface = make_surface(1, 1);
  const Context context(cairo_create(surface.get()));
  set_font(context.get(), lettering);
  const double width = advance(context.get(), text);
  need(cairo_status(context.get()));
  return width;
}

}  // namespace gradwalk::detail
