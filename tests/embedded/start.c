/* SPDX-License-Identifier: MIT
 * The start of a program on a Cortex-M board that qemu emulates: the vector table, and calls of the host's semihosting
 * for output and exit. Memory is cleared and copied here; there is no operating system. */
#include <stdint.h>

int main(void);
void print_text(const char *text);
unsigned ticks(void);
extern uint32_t data_load, data_start, data_end, bss_start, bss_end, stack_top;

static void semihost(uint32_t operation, const void *argument) {
  register uint32_t r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void print_text(const char *text) { semihost(0x04, text); }

/* The system timer counts down 24 bits at the clock of the processor. */
static volatile uint32_t *const timer = (volatile uint32_t *)0xe000e010;
unsigned ticks(void) {
  if ((timer[0] & 1) == 0) {
    timer[1] = 0xffffff;
    timer[2] = 0;
    timer[0] = 5; /* on, with the clock of the processor */
  }
  return 0xffffff - timer[2];
}

static void leave(uint32_t status) {
  const uint32_t block[2] = {0x20026, status}; /* ADP_Stopped_ApplicationExit */
  semihost(0x20, block);
  for (;;) {
  }
}

static void fault(void) {
  print_text("fault\n");
  leave(1);
}

static void reset(void) {
  const uint32_t *from = &data_load;
#if defined(__ARM_FP)
  *(volatile uint32_t *)0xe000ed88 |= 0xfu << 20; /* switches the floating-point unit on */
  __asm__ volatile("dsb\nisb");
#endif
  for (uint32_t *to = &data_start; to < &data_end;) *to++ = *from++;
  for (uint32_t *to = &bss_start; to < &bss_end;) *to++ = 0;
  leave((uint32_t)main());
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    &stack_top, (const void *)reset, (const void *)fault, (const void *)fault, (const void *)fault, (const void *)fault, (const void *)fault};
