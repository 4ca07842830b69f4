#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests the GPT example. It learns with any seed (the mean loss of the last 100 of 200 steps is below 2.45), prints the same
# each time, compiled or eager, reads plain and gzipped files, accepts names in any spelling, and refuses bad files and
# options with a message.
# usage: tests/gpt_example_test.sh PROGRAM
set -euo pipefail

program=${1:?usage: tests/gpt_example_test.sh PROGRAM}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() { echo "gpt_example_test: $*" >&2; exit 1; }

for run in 1 2 again; do
  "$program" --seed "${run/again/1}" --steps 200 >"$run.txt"
  loss=$(awk '$1 == "step" && $2 == 200 { print $4 + 0 }' "$run.txt")
  awk -v loss="$loss" 'BEGIN { exit !(loss > 0 && loss < 2.45) }' || fail "run $run: needs a loss below 2.45, got '$loss'"
done
diff -u 1.txt again.txt || fail "two runs with seed 1 differ"
if cmp -s 1.txt 2.txt; then fail "seeds 1 and 2 give the same"; fi

"$program" --steps 100 --batch 7 >compiled.txt
"$program" --steps 100 --batch 7 --eager >eager.txt
diff -u eager.txt compiled.txt || fail "compiled and eager training differ"

printf 'Anna\nBEN\n\n  42\nJean-Luc\r\nzo\xc3\xab' >plain
printf 'anna\nben\njeanluc\nzo\n' | gzip >same.gz
"$program" plain --steps 100 --batch 1 >plain.txt
"$program" --steps 100 --batch 1 same.gz >gzipped.txt
diff -u plain.txt gzipped.txt || fail "a plain and a gzipped file of the same names differ"
[[ $(head -n 1 plain.txt) == "4 names, 27 tokens, 4192 parameters" ]] || fail "got $(head -n 1 plain.txt)"
printf 'a\nabcdefghijklmnop\nabcdefghijklmnopqrstuvwxyz\n' >long
diff -u <("$program" long --steps 5) <("$program" long --steps 5 --eager) || fail "compiled and eager training differ for names longer than the context"

# refuses MESSAGE ARGUMENT...: checks that the program fails with this message.
refuses() {
  local message=$1
  shift
  if "$program" "$@" >out.txt 2>err.txt; then fail "07_gpt $* succeeds"; fi
  diff -u <(echo "$message") err.txt || fail "07_gpt $* prints another message"
}
: >empty
readable="apt-get install miscfiles brings Debian's names; or give a file of yours: 07_gpt FILE"
refuses "07_gpt: needs a file with one name a line, got nowhere, which cannot be read; $readable" nowhere
refuses "07_gpt: needs a file with one name a line, got ., which cannot be read; $readable" .
refuses "07_gpt: needs at least one name, got none in empty; write one name a line, in a to z" empty
refuses "07_gpt: needs --steps N, a whole number, got many; try --steps 1000" plain --steps many
refuses "07_gpt: needs --batch N, a whole number above 0, got 0; try --batch 32" plain --batch 0
refuses "07_gpt: needs [FILE] [--steps N] [--batch N] [--seed N] [--eager], got --seed; leave it out, or give what it lacks" \
  plain --seed
