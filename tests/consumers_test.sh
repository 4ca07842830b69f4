#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# gradwalk as its users meet it: find_package and pkg-config on an installed tree, add_subdirectory on the sources;
# shared and static; from a path with a space. BUILD_DIR is a finished build of the shared library.
# usage: tests/consumers_test.sh BUILD_DIR
set -euo pipefail

root=$(CDPATH='' cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
build=${1:?usage: tests/consumers_test.sh BUILD_DIR}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/a user"

export CMAKE_GENERATOR=Ninja
if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi

# consumer NAME PROJECT CMAKE_ARGUMENT...: configures, builds and runs one of the small projects beside this script.
consumer() {
  local name=$1 project=$root/tests/consumers/$2 tree="$work/a user/$1"
  shift 2
  echo "== $name"
  cmake -S "$project" -B "$tree" -DCMAKE_BUILD_TYPE=Release "$@"
  cmake --build "$tree"
  "$tree/consumer"
  if [[ -x $tree/train_consumer ]]; then "$tree/train_consumer"; fi
}

shared="$work/a user/shared prefix"
static=$work/static_prefix
cmake --install "$build" --prefix "$shared"
cmake -S "$root" -B "$work/static" -DBUILD_SHARED_LIBS=OFF -DGRADWALK_TESTS=OFF -DGRADWALK_TRAIN=ON
cmake --build "$work/static"
cmake --install "$work/static" --prefix "$static"

consumer "find_package shared" find_package -DCMAKE_PREFIX_PATH="$shared"
consumer "find_package static" find_package -DCMAKE_PREFIX_PATH="$static"
consumer "add_subdirectory shared" add_subdirectory -DGRADWALK_ROOT="$root" -DBUILD_SHARED_LIBS=ON
consumer "add_subdirectory static" add_subdirectory -DGRADWALK_ROOT="$root"

echo "== pkg-config static"
package=$(find "$static" -name gradwalk.pc)
flags=$(PKG_CONFIG_PATH=${package%/*} pkg-config --static --cflags --libs gradwalk)
[[ " $flags " == *" -ffp-contract=off "* ]]
# shellcheck disable=SC2086 # several words on purpose
"${CXX:-g++}" -std=c++20 "$root/tests/consumers/main.cpp" $flags -o "$work/static_program"
"$work/static_program"
flags=$(PKG_CONFIG_PATH=${package%/*} pkg-config --static --cflags --libs gradwalk-train)
# shellcheck disable=SC2086 # several words on purpose
"${CXX:-g++}" -std=c++20 "$root/tests/consumers/train.cpp" $flags -o "$work/static_train_program"
"$work/static_train_program"
