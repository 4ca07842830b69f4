// SPDX-License-Identifier: MIT
// Paints the scenes of a film.
#pragma once

#include "film_scene.hpp"
#include "sheet.hpp"

namespace gradwalk::detail {

// Paints one scene over the whole picture.
void paint(cairo_t* context, const Walk& walk, const FilmStage& stage, const FilmScene& scene);

}  // namespace gradwalk::detail
