#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Configures the project without building it. GRADWALK_CLI=ON must give every component but gpu and mpi, and where a library is
# missing, the message must name its package in four package managers and the option that leaves the part out.
# usage: tests/configure_test.sh
set -euo pipefail

root=$(CDPATH='' cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CMAKE_GENERATOR=Ninja

fail() { echo "configure_test: $*" >&2; exit 1; }

echo "== GRADWALK_CLI=ON"
cmake -S "$root" -B "$work/cli" -DGRADWALK_TESTS=OFF -DGRADWALK_CLI=ON >"$work/log" 2>&1 || { cat "$work/log"; fail "it cannot be configured"; }
for component in compile draw solve train; do
  ninja -C "$work/cli" -t query "gradwalk_$component" >/dev/null 2>&1 || fail "GRADWALK_CLI=ON leaves out gradwalk::$component"
done

# missing LIBRARY PART OPTION CMAKE_ARGUMENT...: configures without a library.
missing() {
  local library=$1 part=$2 option=$3 words
  rm -rf "$work/tree"
  if cmake -S "$root" -B "$work/tree" -DGRADWALK_TESTS=OFF "${@:4}" >"$work/log" 2>&1; then fail "$part: must need $library, but does not"; fi
  words=$(tr -s ' \n' ' ' <"$work/log")
  IFS='|' read -r _ apt dnf pacman brew _ < <(grep "^$library *|" "$root/cmake/dependencies.txt" | tr -s ' ')
  local message="$part $library, found none; install it, or configure with -D$option: apt-get install$apt dnf install$dnf pacman -S$pacman brew install$brew"
  message=$(tr -s ' ' <<<"$message")
  [[ $words == *"$message"* ]] || { cat "$work/log"; fail "without $library, the message must be: $message"; }
  echo "$library: ok"
}
# without PATTERN: a folder with pkg-config's files, except those that match.
without() {
  local folder file
  folder=$(mktemp -d -p "$work")
  for file in $(pkg-config --variable pc_path pkg-config | tr ':' ' '); do
    if [[ -d $file ]]; then find "$file" -name '*.pc' ! -name "$1" -exec ln -sf {} "$folder" \;; fi
  done
  echo "$folder"
}

echo "== missing libraries"
core=(-DGRADWALK_COMPILE=OFF -DGRADWALK_SOLVE=OFF -DGRADWALK_DRAW=OFF -DGRADWALK_TRAIN=OFF)
missing pkg-config "gradwalk::compile: needs" GRADWALK_COMPILE=OFF -DGRADWALK_COMPILE=ON -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON
PKG_CONFIG_LIBDIR=$work missing Highway "gradwalk::compile: needs" GRADWALK_COMPILE=OFF -DGRADWALK_COMPILE=ON
PKG_CONFIG_LIBDIR=$work missing Graphviz "gradwalk::draw: needs" GRADWALK_DRAW=OFF -DGRADWALK_DRAW=ON
PKG_CONFIG_LIBDIR=$(without 'cairo.pc') missing cairo "gradwalk::draw: needs" GRADWALK_DRAW=OFF -DGRADWALK_DRAW=ON
PKG_CONFIG_LIBDIR=$(without 'libwebp*.pc') missing WebP "gradwalk::draw: needs" GRADWALK_DRAW=OFF -DGRADWALK_DRAW=ON
missing Eigen "gradwalk::solve: needs" GRADWALK_SOLVE=OFF -DGRADWALK_COMPILE=ON -DGRADWALK_SOLVE=ON -DCMAKE_DISABLE_FIND_PACKAGE_Eigen3=ON
missing nlohmann-json "gradwalk::train: needs" GRADWALK_TRAIN=OFF -DGRADWALK_TRAIN=ON -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON
missing MPI "gradwalk::mpi: needs" GRADWALK_MPI=OFF -DGRADWALK_MPI=ON -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON
for library in CLI11 fmt; do
  missing $library "the command line: needs" GRADWALK_CLI=OFF -DGRADWALK_CLI=ON -DCMAKE_DISABLE_FIND_PACKAGE_$library=ON "${core[@]}"
done
PKG_CONFIG_LIBDIR=$(without 'ncursesw.pc') missing ncurses "the command line: needs" GRADWALK_CLI=OFF -DGRADWALK_CLI=ON "${core[@]}"
PKG_CONFIG_LIBDIR=$(without 'cpp-httplib.pc') missing cpp-httplib "the server of the lesson: needs" GRADWALK_LESSON=OFF -DGRADWALK_CLI=ON "${core[@]}"
for library in Python pybind11; do
  missing $library "the Python package: needs" GRADWALK_PYTHON=OFF -DGRADWALK_PYTHON=ON -DCMAKE_DISABLE_FIND_PACKAGE_$library=ON
done
missing GoogleTest "the tests: need" GRADWALK_TESTS=OFF -DGRADWALK_TESTS=ON -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON
missing zlib "the examples: need" GRADWALK_EXAMPLES=OFF -DGRADWALK_EXAMPLES=ON -DGRADWALK_COMPILE=ON -DCMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON
