// SPDX-License-Identifier: MIT
// Includes all of libgradwalk. The other libraries have their own headers: draw.hpp, film.hpp and plot.hpp
// (gradwalk::draw), compile.hpp and function.hpp (gradwalk::compile), solve.hpp (gradwalk::solve), model_file.hpp and
// safetensors.hpp (gradwalk::train), mpi.hpp (gradwalk::mpi). eigen.hpp, fmt.hpp and std.hpp support Eigen, {fmt} and
// std::max.
#pragma once

#include "gradwalk/classifier.hpp"
#include "gradwalk/code.hpp"
#include "gradwalk/csv.hpp"
#include "gradwalk/data.hpp"
#include "gradwalk/derivatives.hpp"
#include "gradwalk/dot.hpp"
#include "gradwalk/error.hpp"
#include "gradwalk/explain.hpp"
#include "gradwalk/expression.hpp"
#include "gradwalk/files.hpp"
#include "gradwalk/graph.hpp"
#include "gradwalk/json.hpp"
#include "gradwalk/loss.hpp"
#include "gradwalk/model.hpp"
#include "gradwalk/nn.hpp"
#include "gradwalk/ops.hpp"
#include "gradwalk/optim.hpp"
#include "gradwalk/pick.hpp"
#include "gradwalk/plot_text.hpp"
#include "gradwalk/random.hpp"
#include "gradwalk/reading.hpp"
#include "gradwalk/recipe.hpp"
#include "gradwalk/regressor.hpp"
#include "gradwalk/snapshot.hpp"
#include "gradwalk/step.hpp"
#include "gradwalk/tapes.hpp"
#include "gradwalk/training.hpp"
#include "gradwalk/value.hpp"
#include "gradwalk/walk.hpp"
