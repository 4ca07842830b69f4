#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Uses gradwalk as other projects do: with find_package and pkg-config from an installed tree, and with add_subdirectory
# from the sources; shared and static; from a path with a space. BUILD_DIR is a finished build of the shared library.
# usage: tests/consumers_test.sh BUILD_DIR
set -euo pipefail

root=$(CDPATH='' cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
build=${1:?usage: tests/consumers_test.sh BUILD_DIR}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/a user"

export CMAKE_GENERATOR=Ninja
if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi

# consumer TREE PROJECT CMAKE_ARGUMENT...: configures, builds and runs a project of tests/consumers.
consumer() {
  local tree="$work/a user/$1" project=$root/tests/consumers/$2
  shift 2
  echo "== $(basename "$project") $*"
  cmake -S "$project" -B "$tree" "$@"
  cmake --build "$tree"
  "$tree/consumer"
  local component
  for component in compile train solve; do
    if [[ -x $tree/${component}_consumer ]]; then "$tree/${component}_consumer"; fi
  done
}

# Builds from the sources are not optimised, which takes a quarter of the time: only their use is tested.
quickly=(-DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DGRADWALK_ONE_INSTRUCTION_SET=ON)

shared="$work/a user/shared prefix"
static=$work/static_prefix
cmake --install "$build" --prefix "$shared"
cmake -S "$root" -B "$work/static" -DBUILD_SHARED_LIBS=OFF -DGRADWALK_TESTS=OFF -DGRADWALK_COMPILE=ON -DGRADWALK_TRAIN=ON \
  "${quickly[@]}"
cmake --build "$work/static"
cmake --install "$work/static" --prefix "$static"

# pkg PREFIX ARGUMENT...: runs pkg-config on an installed tree.
pkg() {
  local package
  package=$(find "$1" -name gradwalk.pc)
  PKG_CONFIG_PATH=${package%/*} pkg-config "${@:2}"
}

# Before 1.0, a minor version may change the layout of nodes, which is inlined into programs.
IFS=. read -r major minor patch < <(pkg "$shared" --modversion gradwalk)
((major == 0)) || { echo "consumers: from 1.0 on, check SONAMEs and packages by the major version"; exit 1; }

echo "== SONAMEs of $major.$minor.$patch"
while IFS= read -r library; do
  name=$(basename "$library")
  soname=$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
  echo "$name: $soname"
  [[ $soname == "$name.0.$minor" ]]
done < <(find "$shared" -name 'libgradwalk*.so')
for component in compile draw solve train; do
  [[ $(pkg "$shared" --print-requires "gradwalk-$component") == "gradwalk = $major.$minor.$patch" ]]
done

echo "== find_package of other minor versions"
for other in 0.$((minor - 1)) 0.$((minor + 1)); do
  if cmake -S "$root/tests/consumers/find_package" -B "$work/other" -DCMAKE_PREFIX_PATH="$shared" -DWANTED="$other" \
    >"$work/other.log" 2>&1; then
    echo "find_package(gradwalk $other) found $major.$minor.$patch"
    exit 1
  fi
  grep -q "version: $major.$minor.$patch" "$work/other.log" # the version was the reason
  rm -rf "$work/other"
done

consumer "find_package shared" find_package -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$shared" -DWANTED="0.$minor"
"$work/a user/find_package shared/solve_consumer" # fails if it was not built
consumer "find_package static" find_package -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$static" -DWANTED="0.$minor"
# Static and shared libraries use the same objects, so the second build only links.
consumer "add_subdirectory" add_subdirectory -DGRADWALK_ROOT="$root" -DGRADWALK_COMPILE=ON "${quickly[@]}"
consumer "add_subdirectory" add_subdirectory -DBUILD_SHARED_LIBS=ON

# pkg_config_program SOURCE PREFIX PACKAGE PKG_CONFIG_ARGUMENT...: builds $work/pkg_config_program without CMake.
pkg_config_program() {
  local flags
  echo "== pkg-config ${*:3}, $(basename "$1")"
  flags=$(pkg "$2" --cflags --libs "${@:3}")
  [[ " $flags " == *" -ffp-contract=off "* ]]
  # shellcheck disable=SC2086 # several words on purpose
  "${CXX:-g++}" -std=c++20 "$1" $flags -o "$work/pkg_config_program"
}

for program in main:gradwalk compile:gradwalk-compile train:gradwalk-train; do
  pkg_config_program "$root/tests/consumers/${program%:*}.cpp" "$static" "${program#*:}" --static
  "$work/pkg_config_program"
done

# The shared libraries, from a path without a space. The program of the documentation must print its expected output.
cmake --install "$build" --prefix "$work/shared_prefix"
LD_LIBRARY_PATH=$(pkg "$work/shared_prefix" --variable=libdir gradwalk)
export LD_LIBRARY_PATH
pkg_config_program "$root/tests/consumers/compile.cpp" "$work/shared_prefix" gradwalk-compile
"$work/pkg_config_program"
pkg_config_program "$root/tests/consumers/solve.cpp" "$work/shared_prefix" gradwalk-solve
"$work/pkg_config_program"
pkg_config_program "$root/examples/08_compile.cpp" "$work/shared_prefix" gradwalk-compile
"$root/tests/example_test.sh" "$work/pkg_config_program" "$root/examples/expected/08_compile.txt"

# A command line without gradwalk::compile trains with Values, and reports it.
echo "== gradwalk without gradwalk::compile"
cmake -S "$root" -B "$work/static" -DGRADWALK_COMPILE=OFF -DGRADWALK_CLI=ON -DGRADWALK_DRAW=ON
cmake --build "$work/static"
unset LD_LIBRARY_PATH
"$work/static/gradwalk" train moons --steps 3 | tee "$work/eager.log"
grep -q "eager, because this gradwalk was built without gradwalk::compile" "$work/eager.log"
if "$work/static/gradwalk" compile 'x=1; x*x' 2>"$work/eager.log"; then exit 1; fi
grep -q "rebuild with -DGRADWALK_COMPILE=ON" "$work/eager.log"
