#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks that the examples in the comments of the public headers compile. An example is a block of comment lines that are
# indented by three spaces and end in a statement.
# usage: tests/header_examples_test.sh COMPILER [EIGEN]     (the folder of Eigen's headers)
set -euo pipefail

compiler=${1:?usage: tests/header_examples_test.sh COMPILER [EIGEN]}
eigen=${2:-/usr/include/eigen3}
include=$(CDPATH='' cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../include" && pwd)
examples=0 failed=0

# Declares the names that the example of a header uses without a declaration.
context_of() {
  case $1 in
    compile.hpp) echo 'MLP model(1, {8, 1}); std::vector<double> rows;' ;;
    function.hpp) echo 'Value a, x, rate; std::vector<double> rows;' ;;
    model.hpp) echo 'MLP network(2, {3}); Dataset data; std::size_t i = 0;' ;;
    eigen_sparse.hpp) echo 'std::vector<Value> x; Value energy; std::vector<double> point;' ;;
    pick.hpp) echo 'std::vector<Value> log_probabilities, parameters; Value label, token;' ;;
    gpu.hpp) echo 'std::vector<double> numbers;' ;;
    gpu_step.hpp | mpi.hpp) echo 'Dataset data; Recipe recipe;' ;;
    optim.hpp) echo 'MLP model(1, {8, 1}); Value loss();' ;;
    solve.hpp) echo 'Value rosenbrock(const std::vector<Value>&); std::vector<Value> residuals(const std::vector<Value>&); std::vector<std::vector<double>> rows;' ;;
  esac
}

# examples_of FILE: prints the statements of the examples, each line with its line number in the file.
examples_of() {
  awk '
    function end() { if (last ~ /[;}] *$/) printf "%s", block; block = last = "" }
    match($0, /^ *\/\/   /) {
      last = substr($0, RLENGTH + 1)
      block = block "#line " NR "\n" last "\n"
      sub(/ *\/\/.*/, "", last)
      next
    }
    { end() }
    END { end() }' "$1"
}

for header in "$include"/gradwalk/*.hpp; do
  name=${header##*/}
  statements=$(examples_of "$header")
  if [[ -z $statements ]]; then continue; fi
  examples=$((examples + 1))
  "$compiler" -std=c++20 -fsyntax-only -I"$include" -isystem "$eigen" -x c++ - <<END || failed=1
#include <gradwalk/gradwalk.hpp>
#include <gradwalk/$name>
using namespace gradwalk;
void example() {
  $(context_of "$name")
#line 1 "the example in gradwalk/$name"
$statements
}
END
done
((examples >= 3)) || { echo "needs the examples of compile.hpp, mpi.hpp and solve.hpp, found $examples"; failed=1; }
exit "$failed"
