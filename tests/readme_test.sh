#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks that the first program of the README, built by the README's command with an installed gradwalk, prints the output
# that the README shows. Installs BUILD_DIR to a temporary prefix, and changes nothing else.
# usage: tests/readme_test.sh BUILD_DIR
set -euo pipefail

root=$(CDPATH='' cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
build=${1:?usage: tests/readme_test.sh BUILD_DIR}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "readme_test: $*" >&2; exit 1; }
part() { "$root/tools/readme-program" "$1" "$root/README.md"; }

cmake --install "$build" --prefix "$work/prefix" >"$work/install.log" || { cat "$work/install.log"; fail "the install failed"; }
package=$(find "$work/prefix" -name gradwalk.pc)
[[ -n $package ]] || fail "the install has no gradwalk.pc"
export PKG_CONFIG_PATH=${package%/*}
libdir=$(pkg-config --variable=libdir gradwalk)
export LD_LIBRARY_PATH=$libdir

mkdir "$work/user"
cd "$work/user"
part commands >../commands.sh
part output >../expected.txt
[[ $(<../commands.sh) =~ ([A-Za-z0-9_.-]+\.cpp) ]] || fail "the README's command names no .cpp file"
source_file=${BASH_REMATCH[1]}
part program >"$source_file"

# If the README has only the compile line, run the program after it.
commands=$(<../commands.sh)
if [[ ! $commands =~ (^|[[:space:];&])\./ ]]; then
  program=a.out
  if [[ $commands =~ [[:space:]]-o[[:space:]]*([^[:space:]]+) ]]; then program=${BASH_REMATCH[1]}; fi
  echo "./$program" >>../commands.sh
fi
bash -euo pipefail ../commands.sh >../printed.txt || { cat ../printed.txt; fail "this failed: $(<../commands.sh)"; }
diff -u --label "README.md says" --label "$source_file prints" ../expected.txt ../printed.txt || fail "the README's output is not what its program prints"
