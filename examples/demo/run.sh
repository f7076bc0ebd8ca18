#!/bin/sh
# The thesis's own example: a conditional tracepoint on line 9 of a C program.
set -e
jalon=$(realpath "${1:-bin/jalon}")
cd "$(dirname "$0")"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
gcc -g -O2 -o "$dir/prog" main.c

echo "\$ cat -n main.c | sed -n 4,13p"
cat -n main.c | sed -n 4,13p
echo
echo "\$ jalon trace 'main.c:9 if (i + j >= 0)' --collect '2*i+9*j' -- ./prog"
cd "$dir"
"$jalon" trace 'main.c:9 if (i + j >= 0)' --collect '2*i+9*j' -- ./prog
