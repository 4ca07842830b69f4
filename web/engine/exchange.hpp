// SPDX-License-Identifier: MIT
// How the page and the engine talk: arguments lie in a buffer the page fills before the call, the result lies in
// another that it reads after it, as JSON text or as numbers. Refusals are results: {"error": "..."}.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gradwalk/expression.hpp"
#include "gradwalk/json.hpp"
#include "gradwalk/snapshot.hpp"

// A function of the module, by its own name.
#define GRADWALK_CALL(function) extern "C" __attribute__((export_name("gradwalk_" #function))) void gradwalk_##function

namespace gradwalk::web {

void give(std::string json);
void give(std::span<const double> numbers);
// Says what is wrong and leaves everything as it is; an Error thrown would cost the page its instance.
void refuse(const Error& error);

// Two JSON objects as one.
std::string merged(std::string first, std::string_view second);

// A number of JavaScript's as a count of at most `most`; an Error where it is none.
std::size_t count(double number, std::string_view what, std::size_t most);

inline constexpr std::size_t longest_text = 20'000;  // bytes of an expression
inline constexpr std::size_t largest_graph = 2'000;  // nodes

Error too_long(std::size_t bytes);
Error too_large(std::size_t nodes);

// A text's graph, or that of a listing (listing.hpp), which has its values in itself; its leaves set to other values
// where asked to: pairs of a node and a value. Nothing if that was refused.
struct Graph {
  Expression expression;
  std::vector<Value> nodes;  // as a snapshot numbers them
};
std::optional<Graph> read_graph(std::string_view text, std::span<const double> overrides);
std::optional<Snapshot> read_snapshot(std::string_view text, std::span<const double> overrides);

}  // namespace gradwalk::web
