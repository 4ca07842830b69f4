#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Below C++20 every public header says so in one line and nothing else: with the compiler's own words around it, not a
# screenful.
# usage: tests/language_test.sh COMPILER EIGEN_INCLUDE
set -euo pipefail

compiler=${1:?usage: tests/language_test.sh COMPILER EIGEN_INCLUDE}
eigen=${2:?usage: tests/language_test.sh COMPILER EIGEN_INCLUDE}
include=$(CDPATH='' cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../include" && pwd)
said="gradwalk needs C++20: compile with -std=c++20 or later"
failed=0

for header in "$include"/gradwalk/*.hpp; do
  name=gradwalk/${header##*/}
  if words=$("$compiler" -std=c++17 -fsyntax-only -I"$include" -isystem "$eigen" -x c++ - <<<"#include <$name>" 2>&1); then
    echo "$name: needs C++20, and is compiled as C++17"
    failed=1
  elif [[ $words != *"$said"* || $(grep -c 'error:' <<<"$words") != 1 ]]; then
    printf '%s: is to say only "%s", and says:\n%s\n' "$name" "$said" "$words"
    failed=1
  fi
done
exit "$failed"
