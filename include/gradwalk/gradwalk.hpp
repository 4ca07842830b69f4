// SPDX-License-Identifier: MIT
// All of gradwalk's C++ API.
#pragma once

#include "gradwalk/classifier.hpp"
#include "gradwalk/code.hpp"
#include "gradwalk/csv.hpp"
#include "gradwalk/data.hpp"
#include "gradwalk/derivatives.hpp"
#include "gradwalk/draw.hpp"
#include "gradwalk/error.hpp"
#include "gradwalk/explain.hpp"
#include "gradwalk/expression.hpp"
#include "gradwalk/files.hpp"
#include "gradwalk/graph.hpp"
#include "gradwalk/loss.hpp"
#include "gradwalk/nn.hpp"
#include "gradwalk/ops.hpp"
#include "gradwalk/optim.hpp"
#include "gradwalk/random.hpp"
#include "gradwalk/snapshot.hpp"
#include "gradwalk/training.hpp"
#include "gradwalk/value.hpp"
#include "gradwalk/walk.hpp"
