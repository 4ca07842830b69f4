/* SPDX-License-Identifier: MIT
 * The values and gradients of functions.hpp by hand: forward, then backward. The yardstick of emitted C. */
#include "hand.h"

#include <math.h>

/* r = v rotated by q, with t = 2 * (the vector of q) x v. */
static inline void rotate(const double *q, const double *v, double *t, double *r) {
  t[0] = 2 * (q[2] * v[2] - q[3] * v[1]), t[1] = 2 * (q[3] * v[0] - q[1] * v[2]), t[2] = 2 * (q[1] * v[1] - q[2] * v[0]);
  r[0] = v[0] + q[0] * t[0] + (q[2] * t[2] - q[3] * t[1]);
  r[1] = v[1] + q[0] * t[1] + (q[3] * t[0] - q[1] * t[2]);
  r[2] = v[2] + q[0] * t[2] + (q[1] * t[1] - q[2] * t[0]);
}
/* Adds the gradients of q and v for the gradient g of r. */
static inline void rotate_back(const double *q, const double *v, const double *t, const double *g, double *dq, double *dv) {
  const double a = 2 * (q[0] * g[0] + q[3] * g[1] - q[2] * g[2]), b = 2 * (q[0] * g[1] + q[1] * g[2] - q[3] * g[0]),
               c = 2 * (q[0] * g[2] + q[2] * g[0] - q[1] * g[1]);
  dq[0] += g[0] * t[0] + g[1] * t[1] + g[2] * t[2];
  dq[1] += g[2] * t[1] - g[1] * t[2] + c * v[1] - b * v[2];
  dq[2] += g[0] * t[2] - g[2] * t[0] + a * v[2] - c * v[0];
  dq[3] += g[1] * t[0] - g[0] * t[1] + b * v[0] - a * v[1];
  dv[0] += g[0] + b * q[3] - c * q[2];
  dv[1] += g[1] + c * q[1] - a * q[3];
  dv[2] += g[2] + a * q[2] - b * q[1];
}

double hand_quaternion(const double *restrict p, const double *restrict x, double *restrict gradient) {
  double t[3], r[3], g[3], value = 0;
  rotate(p, p + 4, t, r);
  for (int i = 0; i < 3; ++i) value += (r[i] - x[i]) * (r[i] - x[i]), g[i] = 2 * (r[i] - x[i]);
  for (int i = 0; i < 7; ++i) gradient[i] = 0;
  rotate_back(p, p + 4, t, g, gradient, gradient + 4);
  return value;
}

static const double length[6] = {0, 0.612, 0.5723, 0, 0, 0}, offset[6] = {0.1273, 0, 0, 0.1639, 0.1157, 0.0922};
static const double cosine[6] = {0, 1, 1, 0, 0, 1}, sine[6] = {1, 0, 0, 1, -1, 0};

double hand_arm(const double *restrict p, const double *restrict x, double *restrict gradient) {
  double s[6], k[6], u[6], v[6], a = 0, b = 0, c = 0;
  for (int i = 5; i >= 0; --i) {
    u[i] = a + length[i];
    v[i] = cosine[i] * b - sine[i] * c;
    c = sine[i] * b + cosine[i] * c + offset[i];
    s[i] = sin(p[i]), k[i] = cos(p[i]);
    a = k[i] * u[i] - s[i] * v[i];
    b = s[i] * u[i] + k[i] * v[i];
  }
  a -= x[0], b -= x[1], c -= x[2];
  double da = 2 * a, db = 2 * b, dc = 2 * c;
  for (int i = 0; i < 6; ++i) {
    gradient[i] = db * (k[i] * u[i] - s[i] * v[i]) - da * (s[i] * u[i] + k[i] * v[i]);
    const double du = k[i] * da + s[i] * db, dv = k[i] * db - s[i] * da, dw = dc;
    da = du;
    db = cosine[i] * dv + sine[i] * dw;
    dc = cosine[i] * dw - sine[i] * dv;
  }
  return a * a + b * b + c * c;
}

enum { samples = 20 };
double hand_imu(const double *restrict p, const double *restrict x, double *restrict gradient) {
  const double dt = 0.005;
  double q[samples + 1][4] = {{1, 0, 0, 0}}, h[samples][3], f[samples][3], t[samples][3], scale[samples];
  double v[3] = {p[6], p[7], p[8]}, at[3] = {0, 0, 0}, force[3];
  for (int k = 0; k < samples; ++k) {
    const double *o = q[k];
    double *n = q[k + 1];
    for (int i = 0; i < 3; ++i) h[k][i] = (0.5 * dt) * (x[6 * k + i] - p[i]), f[k][i] = x[6 * k + 3 + i] - p[3 + i];
    n[0] = o[0] - o[1] * h[k][0] - o[2] * h[k][1] - o[3] * h[k][2];
    n[1] = o[1] + o[0] * h[k][0] + o[2] * h[k][2] - o[3] * h[k][1];
    n[2] = o[2] + o[0] * h[k][1] + o[3] * h[k][0] - o[1] * h[k][2];
    n[3] = o[3] + o[0] * h[k][2] + o[1] * h[k][1] - o[2] * h[k][0];
    scale[k] = 1 / sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2] + n[3] * n[3]);
    for (int i = 0; i < 4; ++i) n[i] *= scale[k];
    rotate(n, f[k], t[k], force);
    for (int i = 0; i < 3; ++i) {
      v[i] += dt * (i == 2 ? force[i] - 9.81 : force[i]);
      at[i] += dt * v[i];
    }
  }
  double value = 0, dat[3], dv[3] = {0, 0, 0}, dq[4] = {0, 0, 0, 0};
  for (int i = 0; i < 3; ++i) {
    const double error = at[i] - x[6 * samples + i];
    value += error * error, dat[i] = 2 * error;
  }
  for (int i = 0; i < 9; ++i) gradient[i] = 0;
  for (int k = samples - 1; k >= 0; --k) {
    const double *o = q[k], *n = q[k + 1];
    double g[3], df[3] = {0, 0, 0}, along = 0, dn[4];
    for (int i = 0; i < 3; ++i) dv[i] += dt * dat[i], g[i] = dt * dv[i];
    rotate_back(n, f[k], t[k], g, dq, df);
    for (int i = 0; i < 4; ++i) along += dq[i] * n[i];
    for (int i = 0; i < 4; ++i) dn[i] = scale[k] * (dq[i] - along * n[i]);
    for (int i = 0; i < 3; ++i) gradient[3 + i] -= df[i];
    gradient[0] -= 0.5 * dt * (dn[1] * o[0] - dn[0] * o[1] + dn[2] * o[3] - dn[3] * o[2]);
    gradient[1] -= 0.5 * dt * (dn[2] * o[0] - dn[0] * o[2] + dn[3] * o[1] - dn[1] * o[3]);
    gradient[2] -= 0.5 * dt * (dn[3] * o[0] - dn[0] * o[3] + dn[1] * o[2] - dn[2] * o[1]);
    dq[0] = dn[0] + dn[1] * h[k][0] + dn[2] * h[k][1] + dn[3] * h[k][2];
    dq[1] = dn[1] - dn[0] * h[k][0] - dn[2] * h[k][2] + dn[3] * h[k][1];
    dq[2] = dn[2] - dn[0] * h[k][1] + dn[1] * h[k][2] - dn[3] * h[k][0];
    dq[3] = dn[3] - dn[0] * h[k][2] - dn[1] * h[k][1] + dn[2] * h[k][0];
  }
  for (int i = 0; i < 3; ++i) gradient[6 + i] = dv[i];
  return value;
}

double hand_camera(const double *restrict p, const double *restrict x, double *restrict gradient) {
  const double time = 0.03 * x[4];
  double t[3], at[3], g[3], ignored[3] = {0, 0, 0};
  rotate(p, x, t, at);
  for (int i = 0; i < 3; ++i) at[i] += p[4 + i];
  const double X = at[0] + time * (p[8] * at[2] - p[9] * at[1] + p[10]), Y = at[1] + time * (p[9] * at[0] - p[7] * at[2] + p[11]),
               Z = at[2] + time * (p[7] * at[1] - p[8] * at[0] + p[12]), inverse = 1 / Z;
  const double u = X * inverse, v = Y * inverse, r = u * u + v * v, polynomial = 1 + r * (p[14] + r * p[15]);
  const double scale = p[13] * polynomial, eu = scale * u - x[3], ev = scale * v - x[4];
  const double gu = 2 * eu, gv = 2 * ev, gs = gu * u + gv * v, gp = gs * p[13], gr = gp * (p[14] + 2 * r * p[15]);
  const double du = gu * scale + 2 * gr * u, dv = gv * scale + 2 * gr * v;
  const double dX = du * inverse, dY = dv * inverse, dZ = -(dX * u + dY * v);
  gradient[13] = gs * polynomial, gradient[14] = gp * r, gradient[15] = gp * r * r;
  const double tX = time * dX, tY = time * dY, tZ = time * dZ;
  gradient[10] = tX, gradient[11] = tY, gradient[12] = tZ;
  gradient[7] = tZ * at[1] - tY * at[2], gradient[8] = tX * at[2] - tZ * at[0], gradient[9] = tY * at[0] - tX * at[1];
  g[0] = dX + tY * p[9] - tZ * p[8], g[1] = dY + tZ * p[7] - tX * p[9], g[2] = dZ + tX * p[8] - tY * p[7];
  for (int i = 0; i < 4; ++i) gradient[i] = 0;
  for (int i = 0; i < 3; ++i) gradient[4 + i] = g[i];
  rotate_back(p, x, t, g, gradient, ignored);
  return eu * eu + ev * ev;
}
