// SPDX-License-Identifier: MIT
// How model files spell the choices of a recipe: by name(), except for two activations. Before there was an exact gelu,
// files called the tanh approximation "gelu"; files still do, so that every file keeps its meaning.
#pragma once

#include "gradwalk/recipe.hpp"

namespace gradwalk::detail {

template <class Enum> std::string_view name_in_file(Enum choice) {
  if constexpr (std::is_same_v<Enum, Activation>) {
    if (choice == Activation::gelu_tanh) return "gelu";
    if (choice == Activation::gelu) return "gelu_exact";
  }
  return name(choice);
}

}  // namespace gradwalk::detail
