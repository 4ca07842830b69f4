#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds programs for Windows with the static libgradwalk of the preset mingw, and with a DLL of the same objects, and runs
# them in wine. The README's first program and the examples must print what they print on Linux; windows_program.cpp tests
# threads and files.
# usage: tests/windows_test.sh BUILD_DIR
set -euo pipefail

root=$(CDPATH='' cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
build=$(realpath -- "${1:?usage: tests/windows_test.sh BUILD_DIR}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
compiler=x86_64-w64-mingw32-g++-posix
wine=$(command -v wine64 || echo /usr/lib/wine/wine64)
export WINEPREFIX=${WINEPREFIX:-$build/wine} WINEDEBUG=-all

fail() { echo "windows_test: $*" >&2; exit 1; }

# check NAME SOURCE EXPECTED LIBRARY...: compiles a program and compares what it prints with a file.
check() {
  "$compiler" -std=c++20 -O1 -ffp-contract=off -I"$root/include" "$2" "${@:4}" -o "$work/program.exe" || fail "$1 does not compile"
  (cd "$work" && "$wine" program.exe 2>&1) | tr -d '\r' >"$work/printed.txt" || { cat "$work/printed.txt"; fail "$1 failed"; }
  diff -u --label "expected" --label "$1 prints" "$3" "$work/printed.txt" || fail "$1 prints something else than on Linux"
  echo "$1: ok"
}

"$wine" cmd /c exit >/dev/null 2>&1 || fail "wine does not start; run tools/setup mingw"
"$root/tools/readme-program" program "$root/README.md" >"$work/first.cpp"
"$root/tools/readme-program" output "$root/README.md" >"$work/first.txt"
echo ok >"$work/ok.txt"

static=(-static "$build/libgradwalk.a")
check "the README's program" "$work/first.cpp" "$work/first.txt" "${static[@]}"
for name in 01_value 02_neuron 03_training_step 04_moons 05_custom_op; do
  check "$name" "$root/examples/$name.cpp" "$root/examples/expected/$name.txt" "${static[@]}"
done
check windows_program "$root/tests/windows_program.cpp" "$work/ok.txt" "${static[@]}"

"$compiler" -shared -o "$work/libgradwalk.dll" -Wl,--whole-archive "$build/libgradwalk.a" -Wl,--no-whole-archive -Wl,--out-implib,"$work/libgradwalk.dll.a"
for name in libstdc++-6.dll libgcc_s_seh-1.dll libwinpthread-1.dll; do cp "$("$compiler" -print-file-name=$name)" "$work"; done
check "the README's program with the DLL" "$work/first.cpp" "$work/first.txt" "$work/libgradwalk.dll.a"
check "windows_program with the DLL" "$root/tests/windows_program.cpp" "$work/ok.txt" "$work/libgradwalk.dll.a"
