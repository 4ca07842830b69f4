#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks that below C++20 every public header gives exactly one error, which says that C++20 is needed. On Windows, the
# error names the switch of Microsoft's compiler.
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
    echo "$name: must need C++20, but compiles as C++17"
    failed=1
  elif [[ $words != *"$said"* || $(grep -c 'error:' <<<"$words") != 1 ]]; then
    printf '%s: must give only the error "%s", but gives:\n%s\n' "$name" "$said" "$words"
    failed=1
  fi
done

# Microsoft's compiler reports an old language unless it gets /Zc:__cplusplus, and its real one in a macro of its own.
said="gradwalk needs C++20: compile with /std:c++20 and /Zc:__cplusplus"
words=$("$compiler" -std=c++17 -D_MSVC_LANG=202002L -fsyntax-only -I"$include" -x c++ - <<<"#include <gradwalk/value.hpp>" 2>&1 || true)
if [[ $words != *"$said"* ]]; then
  printf 'with _MSVC_LANG, the error must be "%s", but is:\n%s\n' "$said" "$words"
  failed=1
fi
exit "$failed"
