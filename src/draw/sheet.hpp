// SPDX-License-Identifier: MIT
// A bitmap of cairo's, and letters on it. A surface or context that cairo could not make takes every call and remembers
// the fault, so it is looked for once, when the picture is done.
#pragma once

#include <cairo.h>

#include <memory>

#include "canvas.hpp"

namespace gradwalk::detail {

void need(cairo_status_t status);  // or an Error

struct FreeCairo {
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  void operator()(cairo_t* context) const { cairo_destroy(context); }
};
using Surface = std::unique_ptr<cairo_surface_t, FreeCairo>;
using Context = std::unique_ptr<cairo_t, FreeCairo>;

Surface made(std::size_t columns, std::size_t rows);
// To draw on it with so many pixels for one of the drawing's; letters are as wide at any size, so widths measured once
// hold.
Context context_of(const Surface& surface, double scale);

void use(cairo_t* context, Rgb colour);
void set_font(cairo_t* context, const Lettering& lettering);
double advance(cairo_t* context, const std::string& text);
void show_text(cairo_t* context, Point at, std::string_view text, const Lettering& lettering);  // at its base line

}  // namespace gradwalk::detail
