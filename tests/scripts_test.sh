#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The folders that ./run and ./test build in do not go stale. In a copy of the project: a folder configured as ./run does and
# then as ./test does is the same as one that only ./test configured; and tools/build makes a folder anew when its clone
# was moved or another compiler is asked for.
# usage: tests/scripts_test.sh
set -euo pipefail

root=$(CDPATH='' cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/clone"
cd "$root"
tools/sources | tar --create --null --files-from=- | tar --extract --directory "$work/clone"
cd "$work/clone"

fail() { echo "scripts_test: $*" >&2; exit 1; }
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; fail "this failed: $*"; }; }

# What a folder will build, and its options; one line each.
describe() {
  ninja -C "$1" -t targets all | grep -v -e '^ninja: ' -e '^/' -e '^CMakeFiles/3' | sort
  grep -E '^(GRADWALK|BUILD|CMAKE_BUILD)_[A-Z_]*:' "$1/CMakeCache.txt" | sort
}

echo "== ./run, then ./test, in one folder"
mapfile -t test_options < <(./test release-options)
mkdir "$work/both" "$work/fresh"
quietly cmake --preset run -B build/both
quietly cmake --preset release "${test_options[@]}" -B build/both
describe build/both >"$work/both/lines"
mv build/both "$work/both/tree"
quietly cmake --preset release "${test_options[@]}" -B build/both  # the same name: paths are part of what is compared
describe build/both >"$work/fresh/lines"
(($(wc -l <"$work/fresh/lines") > 100)) || fail "the description of a folder is too short: $(<"$work/fresh/lines")"
grep -q '^tests/oracle/gradwalk_oracle:' "$work/fresh/lines" || fail "the folder of ./test does not build what its Python tests ask"
diff -u --label "only ./test" --label "./run, then ./test" "$work/fresh/lines" "$work/both/lines" ||
  fail "a folder that ./run configured is not what ./test needs"

# is_kept COMMAND...: whether the folder survives the command.
is_kept() {
  touch build/run/mark
  quietly "$@"
  [[ -f build/run/mark ]]
}
echo "== tools/build"
quietly tools/build run --target help
is_kept tools/build run --target help || fail "tools/build made the folder anew though nothing had changed"
if is_kept env CXX=clang++-19 tools/build run --target help; then fail "tools/build kept the folder of another compiler"; fi
grep -q '^CMAKE_CXX_COMPILER:[A-Z]*=.*clang++-19$' build/run/CMakeCache.txt || fail "CXX=clang++-19 was not used"
if is_kept tools/build run --target help; then fail "tools/build kept the folder of another compiler"; fi
mv "$work/clone" "$work/moved"
cd "$work/moved"
if is_kept tools/build run --target help; then fail "tools/build kept the folder of another place"; fi
