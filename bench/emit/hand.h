/* SPDX-License-Identifier: MIT
 * Values and gradients by hand: parameters, inputs, and where the gradient goes. */
#ifndef GRADWALK_BENCH_HAND_H
#define GRADWALK_BENCH_HAND_H

#ifdef __cplusplus
extern "C" {
#define restrict
#endif

double hand_quaternion(const double* restrict p, const double* restrict x, double* restrict gradient);
double hand_arm(const double* restrict p, const double* restrict x, double* restrict gradient);
double hand_imu(const double* restrict p, const double* restrict x, double* restrict gradient);
double hand_camera(const double* restrict p, const double* restrict x, double* restrict gradient);

#ifdef __cplusplus
#undef restrict
}
#endif

#endif
