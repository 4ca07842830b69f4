// SPDX-License-Identifier: MIT
// The program of a step computes the loss and the scores of a row. Its inputs are the features, the targets as the loss
// encodes them, and the weight of the row.
#include "gradwalk/gpu_step.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>

#include "gpu/updater.hpp"
#include "gradwalk/error.hpp"
#include "learn/scores.hpp"

namespace gradwalk {
namespace {

constexpr const char* call = "gpu_step";

gpu::Target target_of(const Model& model, const Dataset& data) {
  if (data.has_targets()) return gpu::Target::number;
  if (model.network.outputs() == 1) return gpu::Target::sign;
  return model.loss == LossKind::mse ? gpu::Target::one_hot : gpu::Target::label;
}

bool has_same_rows(const Dataset& one, const Dataset& other) {
  return one.x == other.x && one.labels == other.labels && one.targets == other.targets && one.weights == other.weights;
}

// The memory and kernels of updates on the device.
struct Updates {
  Updates(const gpu::Machine& machine, const OptimizerConfig& config)
      : updater(call, machine, config),
        gather(updater.code.find(call, "gradwalk_gather")),
        right(updater.code.find(call, "gradwalk_right")) {}

  gpu::Updater updater;
  gpu::Handle gather, right;
  gpu::Target target = gpu::Target::number;
  std::optional<gpu::DeviceRows> rows;            // all of the data
  gpu::DeviceMemory order, batch, outputs;        // which rows a batch has, these rows, and the outputs of each
  std::optional<gpu::PinnedMemory> staged_order;  // for at most this many rows:
  std::size_t most_rows = 0;
  bool reads_again = false, is_ahead = false;  // whether the Values may have changed, and whether they are behind
};

class GpuStep : public UpdatingStep {
 public:
  GpuStep(const Model& model, const GpuStepOptions& options)
      : model_(model),
        loss_(model.loss, model.network.outputs()),
        scores_(model.network.outputs()),
        options_(options),
        program_(compiled()) {}

  std::string kind() const override {
    return std::string("GPU, ") + (options_.precision == Precision::float32 ? "float32" : "float64");
  }

  // ---- updates ----

  void begin(const Settings& settings, const OptimizerState& state, const Dataset& data) override {
    if (!updates_) updates_ = std::make_unique<Updates>(gpu::Inside::of(call, program_), settings.optimizer);
    gpu::Updater& updater = updates_->updater;
    updater.l1 = settings.l1;
    updater.l2 = settings.l2;
    if (settings.clip > 0) updater.most_norm = settings.clip;
    updater.load(call);
    updater.set(call, state);
    updates_->reads_again = updates_->is_ahead = false;
    updates_->target = target_of(model_, data);
    updates_->rows.reset();
    updates_->rows.emplace(copied(data, all_of(data)));
  }

  Figures update(std::span<const std::size_t> rows, double rate) override {
    gpu::Updater& updater = updates_->updater;
    const gpu::StoredRows& all = gpu::Inside::of(*updates_->rows);
    const std::size_t count = rows.empty() ? all.count : rows.size();
    const double share = 1 / static_cast<double>(count);
    read_parameters();
    if (!rows.empty()) put_order(rows);
    updates_->is_ahead = true;
    for (const bool is_guarded : {false, true}) {
      pass(is_guarded, {count, all.address}, rows.empty() ? 0 : updates_->batch.address(), share, rate);
      const std::span<const double> found = updater.figures(call);
      if (found[gpu::plan_made] == 0) continue;
      const auto right = found.subspan(gpu::plan_right);
      return {.loss = share * found[gpu::plan_sum],
              .penalty = found[gpu::plan_penalty],
              .right = std::accumulate(right.begin(), right.end(), 0.0),
              .gradient_norm = std::sqrt(found[gpu::plan_squares])};
    }
    return refused(share);
  }

  void write_back() override {
    if (!updates_) return;
    if (updates_->is_ahead) updates_->updater.write_back(call);
    updates_->is_ahead = false;
    updates_->reads_again = true;
  }

  OptimizerState optimizer_state() override { return updates_->updater.optimizer_state(call); }

  // ---- batches ----

  void run(const Batch& batch, BatchSums& sums) override {
    if (!batch.factors.empty())
      throw Error("gpu_step", "a recipe without dropout", "one with dropout", "use compiled_step()");
    outputs_.resize(batch.rows.size() * (1 + scores_));
    sums.loss() = program_.gradients(rows_of(batch), sums.gradient(), {.outputs = outputs_});
    for (double& number : sums.all()) number *= batch.weight;
    sums.right() = 0;
    for (std::size_t i = 0; i < batch.rows.size(); ++i) {
      const auto scores = std::span<const double>(outputs_).subspan(i * (1 + scores_) + 1, scores_);
      sums.right() += detail::rightness(batch.data, batch.rows[i], scores);
    }
  }

  double loss(const Dataset& data) override {
    const std::vector<std::size_t> rows = all_of(data);
    if (!evaluated_rows_ || !has_same_rows(evaluated_, data)) {
      evaluated_rows_.reset();
      evaluated_ = data;
      evaluated_rows_.emplace(copied(data, rows));
    }
    double sum = 0;
    if (updates_) {  // the parameters are on the device
      gpu::Updater& updater = updates_->updater;
      const gpu::StoredRows& all = gpu::Inside::of(*evaluated_rows_);
      read_parameters();
      grow_outputs(all.count);
      updater.evaluate(call, {all.count, all.address}, 0, updates_->outputs.address());
      const gpu::Numbers losses = updater.download(call, updates_->outputs.address(), all.count);
      for (std::size_t i = 0; i < all.count; ++i) sum += losses[i];
    } else {
      outputs_.resize(rows.size() * (1 + scores_));
      program_.evaluate(*evaluated_rows_, outputs_);
      for (std::size_t i = 0; i < rows.size(); ++i) sum += outputs_[i * (1 + scores_)];
    }
    return sum / static_cast<double>(data.rows());
  }

 private:
  static std::vector<std::size_t> all_of(const Dataset& data) {
    std::vector<std::size_t> rows(data.rows());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    return rows;
  }

  // Makes the device of this thread the one of the step, and reads the parameters of the Values if they may have
  // changed.
  void read_parameters() {
    gpu::Updater& updater = updates_->updater;
    updater.driver.use(call, options_.device);
    if (updates_->reads_again) updater.load(call);
    updates_->reads_again = false;
  }

  void grow_outputs(std::size_t rows) {
    updates_->outputs.grow(call, options_.device, rows * (1 + scores_) * updates_->updater.number_size());
  }

  // Puts the numbers of the rows of a batch on the stream, and makes memory for these rows.
  void put_order(std::span<const std::size_t> rows) {
    Updates& own = *updates_;
    const std::size_t tiled = (rows.size() + gpu::tile - 1) / gpu::tile * gpu::tile;
    own.batch.grow(call, options_.device, tiled * program_.source().inputs * own.updater.number_size());
    own.order.grow(call, options_.device, rows.size() * sizeof(unsigned));
    if (rows.size() > own.most_rows) {
      own.staged_order.emplace(call, options_.device, rows.size() * sizeof(unsigned));
      own.most_rows = rows.size();
    }
    std::ranges::transform(rows, static_cast<unsigned*>(own.staged_order->data()),
                           [](std::size_t row) { return static_cast<unsigned>(row); });
    own.updater.driver.check(call,
                             own.updater.driver.to_device_async(own.order.address(), own.staged_order->data(),
                                                                rows.size() * sizeof(unsigned), own.updater.stream),
                             "cuMemcpyHtoDAsync");
  }

  // Puts the update by some rows on the stream: all rows, or those that are gathered to `batch`.
  void pass(bool is_guarded, gpu::RowRange rows, gpu::Address batch, double share, double rate) {
    Updates& own = *updates_;
    gpu::Updater& updater = own.updater;
    const gpu::Kernels& kernels = is_guarded ? updater.guarded(call) : *updater.kernels;
    updater.reserve(call, kernels, rows.count);
    grow_outputs(rows.count);
    updater.begin(call, {&rate, 1}, std::array{rows});
    gpu::Address order = own.order.address(), outputs = own.outputs.address(), plan = updater.plan.address();
    auto count = static_cast<unsigned>(rows.count), inputs = static_cast<unsigned>(program_.source().inputs);
    auto target = static_cast<unsigned>(model_.network.inputs()), kind = static_cast<unsigned>(own.target);
    auto scores = static_cast<unsigned>(scores_);
    const auto work = [&] {
      gpu::Address from = rows.address, to = batch == 0 ? from : batch;
      if (batch != 0)
        updater.launch(call, own.gather, {std::min<std::size_t>(rows.count * inputs / gpu::update_threads + 1, 1024)},
                       gpu::update_threads, {&count, &inputs, &order, &from, &to});
      results_ = updater.run(call, kernels, {rows.count, to}, 0, outputs, 0);
      constexpr std::size_t rows_of_block = 4 * gpu::update_threads;
      updater.launch(call, own.right, {std::min<std::size_t>(rows.count / rows_of_block + 1, gpu::most_right_blocks)},
                     gpu::update_threads, {&count, &inputs, &target, &kind, &scores, &to, &outputs, &plan});
      updater.update(call, results_, true, share);
    };
    if (is_guarded) return work();
    gpu::Graphs::Key key{rows.count, rows.address, batch, order, outputs};
    updater.add_to(key, share);
    updater.graphs.run(call, updater.stream, key, work);
  }

  // The figures of an update that was not made.
  Figures refused(double share) {
    const std::size_t parameters = program_.source().parameters;
    const gpu::Numbers results = updates_->updater.download(call, results_, parameters + 1);
    Figures figures{.loss = share * results[0]};
    for (std::size_t i = 1; i <= parameters && figures.bad_derivative == 0; ++i)
      if (!std::isfinite(results[i])) figures.bad_derivative = results[i];
    if (std::isfinite(figures.loss) && figures.bad_derivative == 0)
      figures.penalty = std::numeric_limits<double>::infinity();  // the penalties alone are too large
    return figures;
  }

  gpu::Program compiled() const {
    const std::size_t features = model_.network.inputs(), targets = loss_.targets_per_row();
    const std::vector<Value> inputs(features + targets + 1);
    const std::span<const Value> all = inputs;
    const std::vector<Value> scores = model_.network(all.first(features));
    std::vector<Value> outputs{inputs.back() * loss_(scores, all.subspan(features, targets))};
    outputs.insert(outputs.end(), scores.begin(), scores.end());
    return gpu::compile(outputs, {.inputs = inputs,
                                  .parameters = model_.network.parameters(),
                                  .precision = options_.precision,
                                  .device = options_.device});
  }

  gpu::DeviceRows copied(const Dataset& data, std::span<const std::size_t> rows) const {
    std::vector<double> numbers;
    numbers.reserve(rows.size() * program_.source().inputs);
    for (const std::size_t row : rows) {
      const auto features = data.row(row), targets = loss_.targets(data, row);
      numbers.insert(numbers.end(), features.begin(), features.end());
      numbers.insert(numbers.end(), targets.begin(), targets.end());
      numbers.push_back(data.weight(row));
    }
    return {numbers, program_.source().inputs, options_.precision, options_.device};
  }

  // The rows of a batch on the device. All rows in their order stay there until the data is another.
  const gpu::DeviceRows& rows_of(const Batch& batch) {
    const bool has_all = batch.rows.size() == batch.data.rows() &&
                         std::ranges::adjacent_find(batch.rows, std::greater_equal<>()) == batch.rows.end();
    if (has_all && rows_ && has_same_rows(data_, batch.data)) return *rows_;
    rows_.reset();
    data_ = has_all ? batch.data : Dataset{};
    return rows_.emplace(copied(batch.data, batch.rows));
  }

  Model model_;
  Loss loss_;
  std::size_t scores_;  // the number of the network's outputs
  GpuStepOptions options_;
  gpu::Program program_;
  Dataset data_;                         // whose rows are on the device, if they are all
  std::optional<gpu::DeviceRows> rows_;  // of the last step
  std::vector<double> outputs_;          // of the current batch; a member so that its memory is reused
  Dataset evaluated_;                    // of the last loss()
  std::optional<gpu::DeviceRows> evaluated_rows_;
  std::unique_ptr<Updates> updates_;  // none before begin()
  gpu::Address results_ = 0;          // of the last pass: the sum, then the gradient
};

}  // namespace

std::unique_ptr<BatchStep> gpu_step(const Model& model, const GpuStepOptions& options) {
  return std::make_unique<GpuStep>(model, options);
}

}  // namespace gradwalk
