#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs the C++ tests of a build for Windows in wine, one process per program, and writes a report of each program.
# usage: tests/windows_cases.sh BUILD_DIR REPORTS     (REPORTS: the folder for BUILD_DIR-PROGRAM.xml)
set -euo pipefail

root=$(CDPATH='' cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
build=$(realpath -- "${1:?usage: tests/windows_cases.sh BUILD_DIR REPORTS}")
reports=$(realpath -- "${2:?usage: tests/windows_cases.sh BUILD_DIR REPORTS}")
. "$root/tests/wine.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

failed=()
for program in "$build"/tests/*.exe; do
  [[ -f $program ]] || { echo "windows_cases: $build has no tests" >&2; exit 1; }
  name=$(basename "$program" .exe)
  echo "$name ..."
  (cd "$work" && "$wine" "$program" --gtest_brief=1 --gtest_output="xml:Z:$reports/${build##*/}-$name.xml") || failed+=("$name")
done
((${#failed[@]} == 0)) || { echo "windows_cases: these programs of $build failed: ${failed[*]}" >&2; exit 1; }
