#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks that an example prints exactly the text in examples/expected. Only times, such as 12.3 us, may differ.
# usage: tests/example_test.sh PROGRAM EXPECTED
set -euo pipefail

program=${1:?usage: tests/example_test.sh PROGRAM EXPECTED}
expected=${2:?usage: tests/example_test.sh PROGRAM EXPECTED}
printed=$(mktemp)
trap 'rm -f "$printed"' EXIT

"$program" | sed -E 's/[0-9]+(\.[0-9]+)? us/... us/' >"$printed"
diff -u --label "${expected##*/} says" --label "${program##*/} prints" "$expected" "$printed"
