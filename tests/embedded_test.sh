#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs the emitted 2-16-16-1 network and its training step on emulated microcontrollers with 64 KB of memory: a Cortex-M4
# with a floating-point unit and a Cortex-M0. Their losses must equal those of this machine up to the rounding of
# <math.h>, which is another one there. Prints the size of the program and the instructions of a step.
# usage: embedded_test.sh EMBEDDED_NET
set -euo pipefail
python=/usr/bin/python3
here=$(CDPATH='' cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)/embedded
for tool in arm-none-eabi-gcc qemu-system-arm; do
  command -v "$tool" >/dev/null || { echo "skipped: needs $tool; run tools/setup test-all"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" "$folder"
cd "$folder"
flags=(-std=c99 -O2 -Wall -Wextra -Werror -pedantic -ffp-contract=off -I.)

printf '#include <stdio.h>\nvoid print_text(const char *text);\nunsigned ticks(void);\nvoid print_text(const char *text) { fputs(text, stdout); }\nunsigned ticks(void) { return 0; }\n' >host.c
gcc "${flags[@]}" -DSTEPS=20 net.c "$here/train.c" host.c -lm -o host
./host >host.txt

# check NAME MACHINE HERTZ RAM FLAGS...
check() {
  local name=$1 machine=$2 hertz=$3 ram=$4
  arm-none-eabi-gcc "${flags[@]}" "${@:5}" -mthumb -DSTEPS=20 -c net.c "$here/train.c"
  arm-none-eabi-gcc -std=gnu99 -O2 -Wall -Wextra -Werror "${@:5}" -mthumb -c "$here/start.c"
  arm-none-eabi-gcc "${@:5}" -mthumb -nostartfiles --specs=nosys.specs -Wl,--defsym=ram_size="$ram" -T "$here/board.ld" \
    net.o train.o start.o -lm -o "$name.elf"
  timeout 60 qemu-system-arm -machine "$machine" -nographic -monitor none -serial none -icount shift=0 \
    -semihosting-config enable=on,target=native -kernel "$name.elf" >"$name.txt" 2>&1 || { cat "$name.txt"; echo "$name: failed"; exit 1; }
  arm-none-eabi-size "$name.elf" | awk -v name="$name" -v ram="$ram" \
    'NR == 2 { print name ": " $1 " bytes of code and tables; " $2 + $3 " bytes of data, of " ram }'
  # With -icount shift=0 each instruction takes one nanosecond.
  "$python" - "$hertz" host.txt "$name.txt" <<'PY'
import struct, sys
hertz = int(sys.argv[1])
lines = [open(path).read().split() for path in sys.argv[2:]]
numbers = [[struct.unpack("!f", bytes.fromhex(line))[0] for line in one[:21]] for one in lines]
assert len(lines[0]) == len(lines[1]) == 23, lines
assert numbers[0][19] < numbers[0][0], "training does not reduce the loss"
for host, board in zip(*numbers):
    assert abs(host - board) <= 2e-5 * max(1, abs(host)), (host, board)
value, step = (int(ticks, 16) * 1e9 / hertz for ticks in lines[1][21:])
assert 0 < value < step, (value, step)
print(f"  about {value:.0f} instructions for a value, {step:.0f} for a training step on one row;")
print(f"  largest difference from this machine: {max(abs(x - y) for x, y in zip(*numbers)):.1e}")
PY
}

check cortex-m4 mps2-an386 25000000 65536 -mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard
check cortex-m0 microbit 16000000 16384 -mcpu=cortex-m0
