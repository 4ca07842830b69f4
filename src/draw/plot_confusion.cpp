// SPDX-License-Identifier: MIT
// What is taken for what, as a grid of counts: a row a class, a column what it is taken for.
#include <algorithm>
#include <numeric>

#include "gradwalk/plot.hpp"
#include "panels.hpp"

namespace gradwalk::detail {
void draw_confusion(Canvas& canvas, const Box& room, const ConfusionPlot& plot) {
  const std::size_t classes = plot.names.size();
  const auto count = static_cast<double>(classes);
  constexpr double widest_name = 78;
  Lettering names{.size = 10.5, .colour = soft_ink, .anchor = Anchor::end};
  double names_width = 8;
  for (const std::string& name : plot.names)
    names_width = std::max(names_width, 8 + text_width(fitted(name, widest_name, names), names));
  const Box box{room.left + axis_name_height + names_width, room.top + heading_height,
                room.width - axis_name_height - names_width,
                room.height - heading_height - ticks_height - axis_name_height};
  const double width = box.width / count, height = box.height / count;
  draw_heading(canvas, box, plot.heading);
  Lettering letters{.size = std::clamp(std::min(0.34 * width, 0.5 * height), 7.0, 14.0), .anchor = Anchor::middle};
  for (std::size_t i = 0; i < classes; ++i) {
    const std::size_t* row = plot.counts.data() + i * classes;
    const auto all = static_cast<double>(std::accumulate(row, row + classes, std::size_t{0}));
    for (std::size_t k = 0; k < classes; ++k) {
      const double share = all > 0 ? static_cast<double>(row[k]) / all : 0;
      const Box cell{box.left + static_cast<double>(k) * width, box.top + static_cast<double>(i) * height, width,
                     height};
      canvas.fill(cell, mixed(white, class_colour(0), share));
      canvas.frame(cell, {grid_grey, 1});
      letters.colour = row[k] == 0 ? axis_grey : share > 0.5 ? white : ink;
      canvas.text({cell.left + width / 2, cell.top + height / 2 + 0.36 * letters.size}, std::to_string(row[k]),
                  letters);
    }
  }
  for (std::size_t i = 0; i < classes; ++i)
    canvas.text({box.left - 6, box.top + (static_cast<double>(i) + 0.5) * height + 0.36 * names.size},
                fitted(plot.names[i], widest_name, names), names);
  names.anchor = Anchor::middle;
  for (std::size_t k = 0; k < classes; ++k)
    canvas.text({box.left + (static_cast<double>(k) + 0.5) * width, box.bottom() + 15},
                fitted(plot.names[k], std::max(12.0, width - 4), names), names);
  Lettering axes{.size = 11.5, .colour = soft_ink, .anchor = Anchor::middle};
  canvas.text({box.left + box.width / 2, room.bottom() - 3}, "taken for", axes);
  axes.upwards = true;
  canvas.text({room.left + 11, box.top + box.height / 2}, "class", axes);
}

}  // namespace gradwalk::detail
