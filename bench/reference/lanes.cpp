// SPDX-License-Identifier: MIT
// The yardstick for code that runs a batch at once: the moons step with eight rows per vector, copied token for token
// from the reference workloads, then the loop that their harness timed. Do not follow its style.
#include "hand.hpp"
using namespace bench::hand;
namespace {
constexpr int NS = rows, NP = parameters;
using Data = Moons;
const Data& data() { return moons(); }
struct Lib {
  typedef double v8 __attribute__((vector_size(64)));
  double w1(const double* __restrict p, double* __restrict g) {
    const Data& d = data();
    static v8 X0[13], X1[13], Y[13], M[13];
    static bool init = false;
    if (!init) {
      for (int b = 0; b < 13; b++)
        for (int l = 0; l < 8; l++) {
          int s = b * 8 + l;
          X0[b][l] = s < NS ? d.X[s][0] : 0;
          X1[b][l] = s < NS ? d.X[s][1] : 0;
          Y[b][l] = s < NS ? d.y[s] : 0;
          M[b][l] = s < NS ? 1 : 0;
        }
      init = true;
    }
    static v8 G[NP];
    for (int i = 0; i < NP; i++) G[i] = v8{};
    v8 tot{};
    const v8 Z{};
    for (int b = 0; b < 13; b++) {
      v8 h1[16], h2[16], d1[16];
      v8 x0 = X0[b], x1 = X1[b];
      for (int j = 0; j < 16; j++) {
        v8 a = p[3 * j + 2] + p[3 * j] * x0 + p[3 * j + 1] * x1;
        h1[j] = a > 0 ? a : Z;
      }
      for (int j = 0; j < 16; j += 4) {
        const double* w = p + 48 + 17 * j;
        v8 a0 = Z + w[16], a1 = Z + w[33], a2 = Z + w[50], a3 = Z + w[67];
        for (int i = 0; i < 16; i++) {
          v8 h = h1[i];
          a0 += w[i] * h;
          a1 += w[17 + i] * h;
          a2 += w[34 + i] * h;
          a3 += w[51 + i] * h;
        }
        h2[j] = a0 > 0 ? a0 : Z;
        h2[j + 1] = a1 > 0 ? a1 : Z;
        h2[j + 2] = a2 > 0 ? a2 : Z;
        h2[j + 3] = a3 > 0 ? a3 : Z;
      }
      v8 sc = Z + p[336];
      for (int j = 0; j < 16; j++) sc += p[320 + j] * h2[j];
      v8 m = M[b] - Y[b] * sc;
      v8 ds = m > 0 ? -Y[b] * (1.0 / NS) : Z;
      tot += m > 0 ? m : Z;
      G[336] += ds;
      for (int i = 0; i < 16; i++) d1[i] = Z;
      for (int j = 0; j < 16; j++) {
        v8 t = ds * p[320 + j];
        v8 d2 = h2[j] > 0 ? t : Z;
        G[320 + j] += ds * h2[j];
        const double* w = p + 48 + 17 * j;
        v8* gw = G + 48 + 17 * j;
        gw[16] += d2;
        for (int i = 0; i < 16; i++) {
          gw[i] += d2 * h1[i];
          d1[i] += w[i] * d2;
        }
      }
      for (int j = 0; j < 16; j++) {
        v8 t = h1[j] > 0 ? d1[j] : Z;
        G[3 * j] += t * x0;
        G[3 * j + 1] += t * x1;
        G[3 * j + 2] += t;
      }
    }
    double reg = 0, tt = 0;
    for (int l = 0; l < 8; l++) tt += tot[l];
    for (int i = 0; i < NP; i++) {
      v8 q = G[i];
      g[i] = ((q[0] + q[1]) + (q[2] + q[3])) + ((q[4] + q[5]) + (q[6] + q[7])) + 2e-4 * p[i];
      reg += p[i] * p[i];
    }
    return tt * (1.0 / NS) + 1e-4 * reg;
  }
};
Lib lib;
}  // namespace

double bench::hand::moons_steps_lanes(int steps, double* p, double* g) {
  double loss = 0;
  for (int k = 0; k < steps; k++) {
    loss = lib.w1(p, g);
    for (int i = 0; i < NP; i++) p[i] -= 0.05 * g[i];
  }
  return loss;
}
