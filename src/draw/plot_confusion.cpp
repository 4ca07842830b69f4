// SPDX-License-Identifier: MIT
// Draws a confusion matrix: one row per class, one column per class that the model predicts.
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
  const Box box = axes_box(room, axis_name_height + names_width);
  const double width = box.width / count, height = box.height / count;
  draw_heading(canvas, box, plot.heading);
  Lettering letters{.size = std::clamp(std::min(0.34 * width, 0.5 * height), 7.0, 14.0), .anchor = Anchor::middle};
  for (std::size_t i = 0; i < classes; ++i) {
    const std::size_t* row = plot.counts.data() + i * classes;
    const auto total = static_cast<double>(std::accumulate(row, row + classes, std::size_t{0}));
    for (std::size_t k = 0; k < classes; ++k) {
      const double share = total > 0 ? static_cast<double>(row[k]) / total : 0;
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
  draw_axis_names(canvas, room, box, "predicted as", "class");
}

}  // namespace gradwalk::detail
