// SPDX-License-Identifier: MIT
// Makes films: paints scene after scene and gives them to libwebp, which stores what differs from the picture before.
#include "gradwalk/film.hpp"

#include <webp/encode.h>
#include <webp/mux.h>

#include <algorithm>
#include <cmath>

#include "film_paint.hpp"

namespace gradwalk {
namespace {

using namespace detail;

[[noreturn]] void fail(const char* message) {
  throw Error("film", "libwebp to encode it", message == nullptr || *message == 0 ? "no message" : message,
              "free memory, or film a smaller graph");
}

void check(const Walk& walk, const FilmOptions& options) {
  const auto refuse = [](const std::string& needs, const std::string& got, std::string_view advice) {
    throw Error("film", needs, got, advice);
  };
  const auto cards = std::ranges::count_if(walk.graph().nodes, [](const auto& node) { return !node.is_constant(); });
  if (static_cast<std::size_t>(cards) > largest_film)
    refuse("a graph of at most " + std::to_string(largest_film) + " nodes", std::to_string(cards), "film a part of it");
  if (walk.steps().size() > longest_film)
    refuse("a walk of at most " + std::to_string(longest_film) + " steps", std::to_string(walk.steps().size()),
           "film a smaller graph");
  const auto is_within = [](double number, double low, double high) { return number >= low && number <= high; };
  if (!is_within(options.speed, 0.1, 10)) refuse("a speed from 0.1 to 10", std::to_string(options.speed), "try 1");
  if (!is_within(options.scale, 0.25, 4)) refuse("a scale from 0.25 to 4", std::to_string(options.scale), "try 1");
}

class Encoder {
 public:
  Encoder(int width, int height) : width_(width), height_(height) {
    WebPAnimEncoderOptions options;
    if (WebPAnimEncoderOptionsInit(&options) == 0 || WebPConfigInit(&config_) == 0)
      fail("another version of the library");
    options.anim_params.loop_count = 0;  // 0 repeats forever
    config_.lossless = 1;                // with flat colours this is smaller than lossy, and sharp
    config_.quality = 60;
    config_.method = 4;
    encoder_.reset(WebPAnimEncoderNew(width, height, &options));
    if (!encoder_) fail("no memory");
  }

  // Adds a picture that is shown for this long.
  void add(cairo_surface_t* surface, double milliseconds) {
    cairo_surface_flush(surface);
    WebPPicture picture;
    if (WebPPictureInit(&picture) == 0) fail("another version of the library");
    const std::unique_ptr<WebPPicture, void (*)(WebPPicture*)> owned(&picture, WebPPictureFree);
    picture.use_argb = 1;
    picture.width = width_, picture.height = height_;
    if (WebPPictureImportBGRX(&picture, cairo_image_surface_get_data(surface),
                              cairo_image_surface_get_stride(surface)) == 0 ||
        WebPAnimEncoderAdd(encoder_.get(), &picture, static_cast<int>(std::lround(time_)), &config_) == 0)
      fail(WebPAnimEncoderGetError(encoder_.get()));
    time_ += milliseconds;
  }

  std::string take() {
    WebPData file;
    WebPDataInit(&file);
    const std::unique_ptr<WebPData, void (*)(WebPData*)> owned(&file, WebPDataClear);
    if (WebPAnimEncoderAdd(encoder_.get(), nullptr, static_cast<int>(std::lround(time_)), nullptr) == 0 ||
        WebPAnimEncoderAssemble(encoder_.get(), &file) == 0)
      fail(WebPAnimEncoderGetError(encoder_.get()));
    return {reinterpret_cast<const char*>(file.bytes), file.size};
  }

 private:
  struct Delete {
    void operator()(WebPAnimEncoder* encoder) const { WebPAnimEncoderDelete(encoder); }
  };
  int width_, height_;
  WebPConfig config_{};
  std::unique_ptr<WebPAnimEncoder, Delete> encoder_;
  double time_ = 0;
};

}  // namespace

std::string film_webp(const Walk& walk, const FilmOptions& options) {
  check(walk, options);
  const FilmStage stage = lay_out(walk);
  const double scale = std::min({options.scale, widest_film / stage.width, widest_film / stage.height});
  const auto columns = static_cast<std::size_t>(stage.width * scale),
             rows = static_cast<std::size_t>(stage.height * scale);
  const Surface surface = make_surface(columns, rows);
  const Context context = context_of(surface, scale);
  need(cairo_status(context.get()));
  Encoder encoder(static_cast<int>(columns), static_cast<int>(rows));
  for (const FilmMoment& moment : moments_of(walk)) {
    paint(context.get(), walk, stage, scene_at(walk, stage, moment));
    encoder.add(surface.get(), moment.milliseconds / options.speed);
  }
  need(cairo_status(context.get()));
  return encoder.take();
}

}  // namespace gradwalk
