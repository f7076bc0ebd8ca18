#!/bin/sh
# Makes the saved tracepoint files again: needs gcc, gdb and gdbserver.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here"/prog.c "$here"/*.gdb "$work"
cd "$work"
gcc -g -O0 -no-pie -fno-pie -o prog prog.c
for script in *.gdb; do
	gdb -nx -batch -x "$script" ./prog
done
# Remove the directory of this run from the output.
sed -i "s|$work|/src|" ./*.tp
cp ./*.tp "$here"
