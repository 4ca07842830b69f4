// SPDX-License-Identifier: MIT
// The list of cases, in the order they are run and printed; each is a file of its own.
#include "cases.hpp"

#include <array>

namespace bench {

std::span<const Entry> entries() {
  static constexpr std::array<Entry, 7> list{{
      {"moons", "MLP 2-16-16-1, 100 rows, hinge loss: forward, backward and SGD update; 65,077 ops a step", moons},
      {"gpt", "a GPT of 4,192 parameters on a name, against moons: forward, backward and Adam update", gpt},
      {"chain", "x = x*b + c, 1,000,000 times, walked back once", chain},
      {"neuron", "tanh(x1*w1 + x2*w2 + b), leaves and all, built and walked back 100,000 times a run", neuron},
      {"products", "sum of 1,000,000 products of 2,000,000 leaves, their data set and gradients read", products},
      {"scaling", "the chain with 10^6, 10^7 and, with --long, 10^8 links", scaling},
      {"live-neurons", "walking back one of 10,000 live neurons, against a lone one", live_neurons},
  }};
  return list;
}

}  // namespace bench
