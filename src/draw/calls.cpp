// SPDX-License-Identifier: MIT
// The table of this component's functions.
#include "gradwalk/draw_calls.hpp"

const gradwalk::DrawCalls gradwalk_draw_calls{gradwalk::draw_svg, gradwalk::draw_png, gradwalk::plot_svg,
                                              gradwalk::plot_png, gradwalk::film_webp};
