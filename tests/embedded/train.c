/* SPDX-License-Identifier: MIT
 * Trains the emitted network for some steps, on a host or on a microcontroller. Prints the bits of the losses and of the
 * last value, then the ticks of a timer during one value and one step. */
#include <string.h>

#include "net.h"

void print_text(const char *text);
unsigned ticks(void);

static void print_hex(unsigned bits) {
  char text[10];
  for (int i = 0; i < 8; ++i) text[i] = "0123456789abcdef"[bits >> (28 - 4 * i) & 15];
  text[8] = '\n', text[9] = 0;
  print_text(text);
}
static void print_bits(float number) {
  unsigned bits;
  memcpy(&bits, &number, sizeof bits);
  print_hex(bits);
}

static float parameters[337], work[NET_STEP_WORKSPACE];
static const float rows[] = {0.5f, -1.0f, 1.0f, 0.25f, 2.0f, -1.0f, -0.5f, 0.75f, 0.5f, 1.5f, 0.125f, -0.5f};

int main(void) {
  ticks(); /* starts the timer */
  memcpy(parameters, net_parameters, sizeof parameters);
  for (int i = 0; i < STEPS; ++i) print_bits(net_step(parameters, rows, 4, 0.05f, work));
  print_bits(net_value(parameters, rows, work));
  const unsigned start = ticks();
  const float value = net_value(parameters, rows, work);
  const unsigned middle = ticks();
  const float loss = net_step(parameters, rows, 1, 0.05f, work);
  const unsigned end = ticks();
  print_hex((middle - start) & 0xffffff);
  print_hex((end - middle) & 0xffffff);
  if (value != value || loss != loss) return 1;
  return 0;
}
