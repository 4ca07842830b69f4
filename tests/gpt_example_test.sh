#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The GPT learns with any seed (the last 100 of 1,000 steps have a mean loss below 2.55), says the same each time, reads
# plain and gzipped files alike, takes names as people write them, and says what is wrong with a file or an option.
# usage: tests/gpt_example_test.sh PROGRAM
set -euo pipefail

program=${1:?usage: tests/gpt_example_test.sh PROGRAM}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() { echo "gpt_example_test: $*" >&2; exit 1; }

for seed in 1 2; do
  "$program" --seed $seed >first.txt
  "$program" --seed $seed >second.txt
  diff -u first.txt second.txt || fail "two runs with seed $seed differ"
  loss=$(awk '$1 == "step" && $2 == 1000 { print $4 + 0 }' first.txt)
  awk -v loss="$loss" 'BEGIN { exit !(loss > 0 && loss < 2.55) }' || fail "seed $seed: needs a loss below 2.55, got '$loss'"
done
if cmp -s first.txt <("$program" --seed 1); then fail "seeds 1 and 2 give the same"; fi

printf 'Anna\nBEN\n\n  42\nJean-Luc\r\nzo\xc3\xab' >plain
printf 'anna\nben\njeanluc\nzo\n' | gzip >same.gz
"$program" plain --steps 100 >plain.txt
"$program" --steps 100 same.gz >gzipped.txt
diff -u plain.txt gzipped.txt || fail "a plain and a gzipped file of the same names differ"
[[ $(head -n 1 plain.txt) == "4 names, 27 tokens, 4192 parameters" ]] || fail "got $(head -n 1 plain.txt)"

# refuses MESSAGE ARGUMENT...
refuses() {
  local message=$1
  shift
  if "$program" "$@" >out.txt 2>err.txt; then fail "07_gpt $* succeeds"; fi
  diff -u <(echo "$message") err.txt || fail "07_gpt $* says something else"
}
: >empty
readable="apt-get install miscfiles brings Debian's names; or give a file of yours: 07_gpt FILE"
refuses "07_gpt: needs a file with one name a line, got nowhere, which cannot be read; $readable" nowhere
refuses "07_gpt: needs a file with one name a line, got ., which cannot be read; $readable" .
refuses "07_gpt: needs at least one name, got none in empty; write one name a line, in a to z" empty
refuses "07_gpt: needs --steps N, a whole number, got many; try --steps 1000" plain --steps many
refuses "07_gpt: needs [FILE] [--steps N] [--seed N], got --seed; leave it out, or give what it lacks" plain --seed
