// SPDX-License-Identifier: MIT
// Handwritten digits as web/digits/pack.mjs packs them, and the network that learns them: 784 pixels, 32 neurons with
// tanh, 10 scores. An instance of digits.wasm has one network. digits.cpp trains it, digit.cpp shows it one digit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gradwalk/nn.hpp"

namespace gradwalk::web {

inline constexpr std::size_t side = 28, pixels = side * side, hidden = 32, classes = 10;

// Pictures of digits, one byte per two pixels, and what each of them shows.
struct Digits {
  std::vector<std::uint8_t> packed, labels;

  std::size_t size() const { return labels.size(); }
  // Writes the pixels of one digit, from 0 for paper to 1 for ink.
  template <class T> void pixels_of(std::size_t digit, T* to) const {
    const std::uint8_t* from = packed.data() + digit * (pixels / 2);
    for (std::size_t i = 0; i < pixels / 2; ++i) {
      *to++ = static_cast<T>(from[i] >> 4) / T{15};
      *to++ = static_cast<T>(from[i] & 15) / T{15};
    }
  }
};

const Digits& held_out();        // the digits that the network is not trained on; throws an Error before digits_begin
const MLP& network_of_digits();  // the network, with the parameters of the last step
std::size_t largest(std::span<const double> scores);  // the index of the largest score

}  // namespace gradwalk::web
