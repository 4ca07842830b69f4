#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An example prints exactly what examples/expected says, but for times: 12.3 us is any number of them.
# usage: tests/example_test.sh PROGRAM EXPECTED
set -euo pipefail

program=${1:?usage: tests/example_test.sh PROGRAM EXPECTED}
expected=${2:?usage: tests/example_test.sh PROGRAM EXPECTED}
printed=$(mktemp)
trap 'rm -f "$printed"' EXIT

"$program" | sed -E 's/[0-9]+(\.[0-9]+)? us/... us/' >"$printed"
diff -u --label "${expected##*/} says" --label "${program##*/} prints" "$expected" "$printed"
