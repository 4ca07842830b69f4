// SPDX-License-Identifier: MIT
// Bitmaps of cairo, and text on them. A cairo object that could not be made ignores all calls and keeps its error, so
// the error is checked once, when the picture is done.
#pragma once

#include <cairo.h>

#include <memory>

#include "canvas.hpp"

namespace gradwalk::detail {

// Throws an Error if the status is not success.
void need(cairo_status_t status);

struct FreeCairo {
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  void operator()(cairo_t* context) const { cairo_destroy(context); }
};
using Surface = std::unique_ptr<cairo_surface_t, FreeCairo>;
using Context = std::unique_ptr<cairo_t, FreeCairo>;

// Returns a new bitmap.
Surface make_surface(std::size_t columns, std::size_t rows);
// Returns a context that draws on the surface with `scale` pixels per unit. Hinting is off, so that widths of text are
// proportional to its size.
Context context_of(const Surface& surface, double scale);

// Sets the colour.
void use(cairo_t* context, Rgb colour);
// Sets the font and its size.
void set_font(cairo_t* context, const Lettering& lettering);
// Returns the width of a text in the current font.
double advance(cairo_t* context, const std::string& text);
// Writes a text; `at` is on its base line.
void show_text(cairo_t* context, Point at, std::string_view text, const Lettering& lettering);

}  // namespace gradwalk::detail
