// SPDX-License-Identifier: MIT
// The yardstick: the plain loops w1 to w4 of the reference workloads, token for token (except Buffer for std::vector),
// so that ratios stay comparable. Below them are the loops that their harness timed, with readable names. Do not follow
// its style.
#include "hand.hpp"

#include "common.h"
using namespace bm;
namespace {
struct Lib {
  // transposed copies of W2 so that inner loops are unit stride; per-sample
  double w1(const double* __restrict p, double* __restrict g) {
    const Data& d = data();
    alignas(64) double W1a[16], W1b[16], B1[16], W2[16][16] /*[i][j]: in i, out j*/, B2[16], W3[16];
    alignas(64) double gW1a[16] = {0}, gW1b[16] = {0}, gB1[16] = {0}, gW2[16][16] = {{0}}, gB2[16] = {0}, gW3[16] = {0};
    double B3 = p[336], gB3 = 0, total = 0;
    for (int j = 0; j < 16; j++) {
      W1a[j] = p[3 * j];
      W1b[j] = p[3 * j + 1];
      B1[j] = p[3 * j + 2];
      B2[j] = p[48 + 17 * j + 16];
      W3[j] = p[320 + j];
      for (int i = 0; i < 16; i++) W2[i][j] = p[48 + 17 * j + i];
    }
    for (int s = 0; s < NS; s++) {
      double x0 = d.X[s][0], x1 = d.X[s][1], y = d.y[s];
      alignas(64) double h1[16], h2[16], d2[16], d1[16];
      for (int j = 0; j < 16; j++) {
        double a = B1[j] + W1a[j] * x0 + W1b[j] * x1;
        h1[j] = a > 0 ? a : 0;
      }
      alignas(64) double a2[16];
      for (int j = 0; j < 16; j++) a2[j] = B2[j];
      for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) a2[j] += W2[i][j] * h1[i];
      double sc = B3;
      for (int j = 0; j < 16; j++) {
        h2[j] = a2[j] > 0 ? a2[j] : 0;
        sc += W3[j] * h2[j];
      }
      double m = 1 - y * sc;
      if (m > 0) {
        total += m;
        double ds = -y * (1.0 / NS);
        gB3 += ds;
        for (int j = 0; j < 16; j++) {
          gW3[j] += ds * h2[j];
          d2[j] = h2[j] > 0 ? ds * W3[j] : 0;
          gB2[j] += d2[j];
        }
        for (int i = 0; i < 16; i++) {
          double a = 0;
          for (int j = 0; j < 16; j++) {
            gW2[i][j] += d2[j] * h1[i];
            a += W2[i][j] * d2[j];
          }
          d1[i] = h1[i] > 0 ? a : 0;
        }
        for (int j = 0; j < 16; j++) {
          gW1a[j] += d1[j] * x0;
          gW1b[j] += d1[j] * x1;
          gB1[j] += d1[j];
        }
      }
    }
    for (int j = 0; j < 16; j++) {
      g[3 * j] = gW1a[j];
      g[3 * j + 1] = gW1b[j];
      g[3 * j + 2] = gB1[j];
      g[48 + 17 * j + 16] = gB2[j];
      g[320 + j] = gW3[j];
      for (int i = 0; i < 16; i++) g[48 + 17 * j + i] = gW2[i][j];
    }
    g[336] = gB3;
    double reg = 0;
    for (int i = 0; i < NP; i++) {
      reg += p[i] * p[i];
      g[i] += 2e-4 * p[i];
    }
    return total * (1.0 / NS) + 1e-4 * reg;
  }
  Buffer xs;
  double w2(long n, double a, double b, double c, double* g) {
    xs.resize(n + 1);
    double x = a;
    for (long i = 0; i < n; i++) {
      xs[i] = x;
      x = x * b + c;
    }
    double s = 1, gb = 0, gc = 0;
    for (long i = n - 1; i >= 0; i--) {
      gc += s;
      gb += s * xs[i];
      s *= b;
    }
    g[0] = s;
    g[1] = gb;
    g[2] = gc;
    return x;
  }
  __attribute__((noinline)) double w3(const double* in, double* g) {
    double t = std::tanh(in[0] * in[2] + in[1] * in[3] + in[4]);
    double s = 1 - t * t;
    g[0] = s * in[2];
    g[1] = s * in[3];
    g[2] = s * in[0];
    g[3] = s * in[1];
    g[4] = s;
    return t;
  }
  Buffer ga, gb;
  double w4(long n, const double* a, const double* b, double* g) {
    ga.resize(n);
    gb.resize(n);
    double s = 0;
    for (long i = 0; i < n; i++) s += a[i] * b[i];
    for (long i = 0; i < n; i++) {
      ga[i] = b[i];
      gb[i] = a[i];
    }
    g[0] = g[1] = 0;
    for (long i = 0; i < n; i++) {
      g[0] += ga[i] * (1 + i % 7);
      g[1] += gb[i] * (1 + i % 5);
    }
    return s;
  }
};
Lib lib;
}  // namespace

namespace bench::hand {

const Moons& moons() { return data(); }

double moons_steps(int steps, double* p, double* g) {
  double loss = 0;
  for (int k = 0; k < steps; k++) {
    loss = lib.w1(p, g);
    for (int i = 0; i < NP; i++) p[i] -= 0.05 * g[i];
  }
  return loss;
}

double chain(long n, double a, double b, double c, double g[3]) { return lib.w2(n, a, b, c, g); }

void neurons(long n, double sums[6]) {
  double g[5], acc[6];
  for (int i = 0; i < 6; i++) acc[i] = 0;  // with = {0} g++ 12 finds another loop, 20% slower than the yardstick
  for (long k = 0; k < n; k++) {
    double in[5] = {2.0 - 1e-6 * k, 0.5 + 1e-6 * k, -0.3, 0.7, 0.25};
    acc[5] += lib.w3(in, g);
    for (int i = 0; i < 5; i++) acc[i] += g[i];
  }
  for (int i = 0; i < 6; i++) sums[i] = acc[i];
}

double products(long n, const double* a, const double* b, double g[2]) { return lib.w4(n, a, b, g); }

void fill_products(long n, double* a, double* b) {
  uint64_t s = 7;
  for (long i = 0; i < n; i++) {
    a[i] = u01(s) - 0.5;
    b[i] = u01(s) - 0.5;
  }
}

}  // namespace bench::hand
