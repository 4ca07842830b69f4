#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An example prints exactly what examples/expected says.
# usage: tests/example_test.sh PROGRAM EXPECTED
set -euo pipefail

program=${1:?usage: tests/example_test.sh PROGRAM EXPECTED}
expected=${2:?usage: tests/example_test.sh PROGRAM EXPECTED}
printed=$(mktemp)
trap 'rm -f "$printed"' EXIT

"$program" >"$printed"
diff -u --label "${expected##*/} says" --label "${program##*/} prints" "$expected" "$printed"
