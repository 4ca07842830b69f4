#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks, in a copy of the project, that the build folders of ./run and ./test do not go stale. A folder configured by ./run
# and then by ./test equals a folder that only ./test configured. tools/build deletes a folder when the clone was moved or
# another compiler is requested.
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

# describe FOLDER: prints the targets and options of a build folder, one per line.
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
quietly cmake --preset release "${test_options[@]}" -B build/both  # the same name, because the description contains paths
describe build/both >"$work/fresh/lines"
(($(wc -l <"$work/fresh/lines") > 100)) || fail "the description of a folder is too short: $(<"$work/fresh/lines")"
grep -q '^tests/oracle/gradwalk_oracle:' "$work/fresh/lines" || fail "the folder of ./test does not build the oracle of the Python tests"
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
is_kept tools/build run --target help || fail "tools/build deleted the folder although nothing had changed"
if is_kept env CXX=clang++-19 tools/build run --target help; then fail "tools/build kept the folder of another compiler"; fi
grep -q '^CMAKE_CXX_COMPILER:[A-Z]*=.*clang++-19$' build/run/CMakeCache.txt || fail "CXX=clang++-19 was not used"
if is_kept tools/build run --target help; then fail "tools/build kept the folder of another compiler"; fi
mv "$work/clone" "$work/moved"
cd "$work/moved"
if is_kept tools/build run --target help; then fail "tools/build kept the folder of a moved clone"; fi
