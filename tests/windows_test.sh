#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds programs for Windows with the static libraries of the preset mingw and with the DLLs of mingw-dll, and runs them
# in wine. The README's first program, the examples and the commands in the documentation must print what they print on
# Linux; windows_program.cpp and windows_components.cpp test threads and files.
# usage: tests/windows_test.sh BUILD_DIR DLL_BUILD_DIR
set -euo pipefail

root=$(CDPATH='' cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
build=$(realpath -- "${1:?usage: tests/windows_test.sh BUILD_DIR DLL_BUILD_DIR}")
dlls=$(realpath -- "${2:?usage: tests/windows_test.sh BUILD_DIR DLL_BUILD_DIR}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
compiler=x86_64-w64-mingw32-g++-posix
. "$root/tests/wine.sh"

fail() { echo "windows_test: $*" >&2; exit 1; }

# check NAME SOURCE EXPECTED LIBRARY...: compiles a program and compares what it prints with a file. Only times may differ.
check() {
  "$compiler" -std=c++20 -O1 -ffp-contract=off -I"$root/include" "$2" "${@:4}" -o "$work/program.exe" || fail "$1 does not compile"
  (cd "$work" && "$wine" program.exe 2>&1) >"$work/output.txt" || { cat "$work/output.txt"; fail "$1 failed"; }
  tr -d '\r' <"$work/output.txt" | sed -E 's/[0-9]+(\.[0-9]+)? us/... us/' >"$work/printed.txt"
  diff -u --label "expected" --label "$1 prints" "$3" "$work/printed.txt" || fail "$1 prints something else than on Linux"
  echo "$1: ok"
}

"$root/tools/readme-program" program "$root/README.md" >"$work/first.cpp"
"$root/tools/readme-program" output "$root/README.md" >"$work/first.txt"
echo ok >"$work/ok.txt"

# No instruction may need an aligned vector of 32 or 64 bytes: the stack of Windows is aligned to 16.
aligned='vmov(ap[sd]|dqa(32|64)?|nt[a-z]*)[[:space:]].*%[yz]mm.*\(|vmov(ap[sd]|dqa(32|64)?|nt[a-z]*)[[:space:]].*\(.*%[yz]mm'
for object in "$build"/src/compile/CMakeFiles/gradwalk_compile_parts.dir/kernels_{double,float}.cpp.obj; do
  x86_64-w64-mingw32-objdump -d --no-show-raw-insn "$object" >"$work/code.txt"
  grep -q '%ymm' "$work/code.txt" || fail "$object has no vectors of 32 bytes"
  if grep -m 3 -E "$aligned" "$work/code.txt"; then fail "these instructions of $object need an aligned stack"; fi
done

# Each library comes before those that it uses.
libraries=(train/libgradwalk-train.a solve/libgradwalk-solve.a compile/libgradwalk-compile.a)
static=(-static "${libraries[@]/#/$build/src/}" "$build/libgradwalk.a")
check "the README's program" "$work/first.cpp" "$work/first.txt" "${static[@]}"
for name in 01_value 02_neuron 03_training_step 04_moons 05_custom_op 08_compile 10_solve 11_barrier 12_adaptive_ode; do
  check "$name" "$root/examples/$name.cpp" "$root/examples/expected/$name.txt" "${static[@]}"
done
check windows_program "$root/tests/windows_program.cpp" "$work/ok.txt" "${static[@]}"
check windows_components "$root/tests/windows_components.cpp" "$work/ok.txt" "${static[@]}"

cp "$dlls"/libgradwalk.dll{,.a} "$dlls"/src/{train,solve,compile}/libgradwalk-*.dll{,.a} "$work"
core=$work/libgradwalk.dll.a
for name in libstdc++-6.dll libgcc_s_seh-1.dll libwinpthread-1.dll; do cp "$("$compiler" -print-file-name=$name)" "$work"; done
shared=("$work"/libgradwalk-{train,solve,compile}.dll.a "$core")
check "the README's program with the DLL" "$work/first.cpp" "$work/first.txt" "$core"
check "windows_program with the DLL" "$root/tests/windows_program.cpp" "$work/ok.txt" "$core"
check "windows_components with DLLs" "$root/tests/windows_components.cpp" "$work/ok.txt" "${shared[@]}"
for name in 08_compile 10_solve; do
  check "$name with DLLs" "$root/examples/$name.cpp" "$root/examples/expected/$name.txt" "${shared[@]}"
done

# The commands in the documentation, without those that draw: this build of the command line has no gradwalk::draw.
printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$wine" "$build/gradwalk.exe" >"$work/gradwalk"
chmod +x "$work/gradwalk"
mkdir "$work/documents"
for file in README.md docs/compile.md docs/emit-c.md docs/see.md docs/train.md docs/tutorial.md; do
  sed -E -e 's/^(\$ .*) --plot [^ ]+/\1/' -e '/^\$ .*\.(svg|png|webp)/,+1d' "$root/$file" |
    sed -E -z 's/\n?\nplotted [^\n]*//g' >"$work/documents/${file##*/}"
done
"$root/tools/console-blocks" check "$work/gradwalk" "$work"/documents/*.md
"$work/gradwalk" draw 'a=2; a*a' -o a.svg >"$work/printed.txt" 2>&1 && fail "a command line without gradwalk::draw draws"
grep -q "^draw: needs gradwalk::draw for pictures, got a build without it; ask for text" "$work/printed.txt" || { cat "$work/printed.txt"; fail "draw prints the wrong message"; }
