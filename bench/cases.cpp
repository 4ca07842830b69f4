// SPDX-License-Identifier: MIT
// The list of cases, in the order in which they run. Most have their own file.
#include "cases.hpp"

#include <array>

namespace bench {

std::span<const Entry> entries() {
  static constexpr auto list = std::to_array<Entry>({
      {"moons", "MLP 2-16-16-1, 100 rows, hinge loss: forward, backward and SGD update; 65,077 ops per step", moons},
      {"gpt", "a GPT of 4,192 parameters on a name, against moons: forward, backward and Adam update", gpt},
      {"gpt-float64", "the same on a batch of 64 names of 8 positions, compiled, against the engine", gpt_float64},
      {"gpt-float32", "compiled in float32, against the engine in doubles", gpt_float32},
      {"chain", "x = x*b + c, 1,000,000 times, one backward pass", chain},
      {"neuron", "tanh(x1*w1 + x2*w2 + b), with its leaves, forward and backward, 100,000 times per run", neuron},
      {"products", "sum of 1,000,000 products of 2,000,000 leaves, their data set and gradients read", products},
      {"scaling", "the chain with 10^6, 10^7 and, with --long, 10^8 links", scaling},
      {"live-neurons", "a backward pass of one of 10,000 live neurons, against a single one", live_neurons},
      {"reading", "reading 10,000,000 nodes, against their first backward pass", reading},
      {"gmm", "log-likelihood of a mixture of 5 Gaussians, 10 dimensions, 1,000 points", gmm},
      {"lstm", "loss of an LSTM of two layers of 14 cells over 100 rows", lstm},
      {"det", "determinant of an 8 by 8 matrix by minors", det},
      {"logsumexp", "log of the sum of 10,000 exponentials", logsumexp},
      {"ode", "100 differential equations by Runge-Kutta, 100 steps", ode},
      {"llsq", "least squares of a polynomial of 64 coefficients at 512 places", llsq},
      {"kmeans", "cost of 2,000 points clustered around 8 centres, 10 dimensions", kmeans},
      {"ba", "bundle adjustment: reprojection errors of 1,000 observations", ba},
      {"compiled-moons", "the step of moons with the batch taken at once, against hand-written SIMD and OpenBLAS",
       compiled_moons},
      {"compiled-mlp", "a step of training an MLP 784-128-64-10 on 64 rows in float32, against OpenBLAS", compiled_mlp},
      {"compiled-mlp-2", "the same on two threads", compiled_mlp_2},
      {"compiled-row", "the network of moons on one row, 1,000 times per run, against recording it anew", compiled_row},
      {"compiled-small", "a program of ten instructions, 1,000 times per run", compiled_small},
      {"function-pow", "80,000 powers and their gradients, compiled, against the C library; the next cases alike",
       function_pow},
      {"function-erf", "80,000 times erf", function_erf},
      {"function-erfc", "80,000 times erfc", function_erfc},
      {"function-gelu", "80,000 times gelu", function_gelu},
      {"function-cbrt", "80,000 cube roots", function_cbrt},
      {"function-atan2", "80,000 angles of points", function_atan2},
      {"paths-barrier", "20,000 payoffs of a barrier option with an early exit, by a Function; the next cases alike",
       paths_barrier},
      {"paths-volatility", "20,000 implied volatilities by Newton's method to a tolerance", paths_volatility},
      {"paths-ode-near", "20,000 differential equations with an adaptive step, from starts that are alike",
       paths_ode_near},
      {"paths-ode-far", "the same from starts that are spread", paths_ode_far},
      {"paths-ode-loop", "the same from spread starts, with loop() and select()", paths_ode_loop},
      {"paths-ode-body", "the same with branches in the body of loop()", paths_ode_body},
      {"paths-rejection", "50,000 gamma variates by rejection", paths_rejection},
      {"paths-sort-3", "50,000 sums over 3 sorted numbers", paths_sort_3},
      {"paths-sort-7", "50,000 sums over 7 sorted numbers", paths_sort_7},
      {"more-options", "10 call options by simulation, 1,000 draws; this and the next cases against moons",
       more_options},
      {"more-kalman", "log-likelihood of 5,000 measurements by a Kalman filter", more_kalman},
      {"more-attract", "energy of 100 bodies that attract each other", more_attraction},
      {"more-inverse", "trace of the inverse of a 30 by 30 matrix by Gauss-Jordan elimination", more_inverse},
      {"more-valley", "Rosenbrock's function of 10,000 numbers", more_rosenbrock},
      {"more-choices", "a string of 20,000 choices by min, max, abs and if", more_choices},
      {"more-fibonacci", "a recursion that calls itself twice, 22 deep", more_fibonacci},
      {"more-horner", "a polynomial of 50 complex coefficients at 200 places, with complex numbers as a struct",
       more_horner},
      {"more-walk", "mean square of a walk of 10,000 standardised steps, by standard algorithms", more_walk},
      {"more-heat", "heat in a rod of 100 places, 200 steps", more_heat},
      {"kind-pairs", "energy of 500 particles with the potential of Lennard-Jones", kind_pairs},
      {"kind-gravity", "energy of 200 bodies that attract each other", kind_gravity},
      {"kind-hmm", "log-likelihood of a hidden Markov chain of 10 states over 1,000 steps", kind_chain},
      {"kind-viterbi", "score of the best path of 10 states over 500 steps", kind_path},
      {"kind-kalman", "log-likelihood of 200 measurements by a Kalman filter of four numbers", kind_kalman},
      {"kind-euler", "an oscillator by the implicit Euler method, 1,000 steps", kind_euler},
      {"kind-data", "the squared error of a line over 100,000 points that are numbers, and that are Values", kind_data},
      {"kind-embedding", "a step of training an embedding of 30,000 words on 64 pairs, by look-up and one-hot",
       kind_embedding},
      {"kind-mixed", "a sum of 50,000 products, single terms and exponentials each", kind_mixed},
  });
  return list;
}

}  // namespace bench
