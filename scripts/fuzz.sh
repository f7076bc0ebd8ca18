#!/usr/bin/env bash
# Runs every fuzz target of the tree for a time: fuzz.sh TIME. Inputs are not minimised, as
# that would take all the time of targets with large inputs.
set -euo pipefail
grep -rl --include='*_test.go' '^func Fuzz' internal | while read -r file; do
	dir=$(dirname "$file")
	sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file" | while read -r target; do
		echo "== $dir $target"
		go test "./$dir" -run '^$' -fuzz "^$target\$" -fuzztime "$1" -fuzzminimizetime 1x
	done
done
