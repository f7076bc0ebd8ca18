#!/usr/bin/env bash
# Builds Debian programs from source with gcc and clang: optimised, with link-time optimisation,
# with split and with shared debug information (.dwp, dwz). Compares values at random places with
# GDB's (TestOracleReal). usage: scripts/oracle-real.sh [PLACES [SEED]]
set -euo pipefail
repo=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/oracle-real.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{lists/partial,cache/archives/partial,bin}
cd "$work"
echo "deb-src http://deb.debian.org/debian bookworm main" > sources.list
apt=(apt-get -qq -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache" -o APT::Sandbox::User=root)
"${apt[@]}" update
"${apt[@]}" source --download-only lua5.4 zlib bzip2 ninja-build
for f in *.orig.tar.*; do case $f in *.asc) ;; *) tar xf "$f" ;; esac; done

lua=$(ls lua-5.4.*/src/*.c | grep -v /luac.c)
bzip2=$(for f in blocksort huffman crctable randtable compress decompress bzlib bzip2; do echo bzip2-1*/$f.c; done)
zlib="$(ls zlib-1*/*.c) $(ls zlib-1*/test/minigzip.c)"
zflags="-D_LARGEFILE64_SOURCE -DHAVE_UNISTD_H -I$(echo zlib-1*)"
ninja=$(ls ninja-1*/src/*.cc | grep -v -e test -e perf -e win32 -e browse -e minidump -e msvc -e includes_normalize -e hash_collision -e "\.in\.cc")

# split CC FLAGS PROGRAM LIBS FILE...: with split debug information in one .dwp. It is DWARF 4,
# because GDB 13.1 crashes on location lists of DWARF 5 in such files.
split() {
	local cc=$1 flags=$2 out=bin/$3 libs=$4 f
	shift 4
	mkdir -p o
	for f; do $cc $flags -w -gsplit-dwarf -c -o "o/$(basename "${f%.*}").o" "$f"; done
	$cc -gsplit-dwarf -o "$out" o/*.o $libs
	/usr/lib/llvm-14/bin/llvm-dwp -e "$out" -o "$out.dwp"
	rm -rf o
}
gcc -O3 -g -flto -w -DLUA_USE_POSIX -o bin/lua-gcc-O3-lto $lua -lm
split clang "-O2 -gdwarf-4 -DLUA_USE_POSIX" lua-clang-O2-dwp -lm $lua
gcc -O2 -g -w -o bin/bzip2-gcc-O2-dwz $bzip2
dwz bin/bzip2-gcc-O2-dwz
clang -O3 -g -flto -w -o bin/bzip2-clang-O3-lto $bzip2
split gcc "-O3 -gdwarf-4 $zflags" minigzip-gcc-O3-dwp "" $zlib
clang -O3 -g -w $zflags -o bin/minigzip-clang-O3 $zlib
split clang++ "-O2 -gdwarf-4" ninja-clang-O2-dwp -lpthread $ninja
g++ -O2 -g -flto -w -o bin/ninja-gcc-O2-lto $ninja -lpthread

cat > s.lua <<'L'
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local t = {}
for i = 1, 60 do t[#t + 1] = string.format("%05d %g %s", i * 7919 % 3001, i / 7, tostring(i)) end
table.sort(t)
local co = coroutine.wrap(function() for i = 1, 10 do coroutine.yield(i) end end)
local s = co() + co()
local m = setmetatable({}, { __index = function(_, k) return k * 2 end, __add = function(a, b) return 5 end, __gc = function() end })
print(fib(9), t[1], t[#t], s, pcall(error, "an error"), m[4], m + m)
print(("hello world"):gsub("o", "0"), ("%a+ x"):find("x"), string.rep("ab", 5, ","), utf8.char(228, 8364))
print(load("return 1 + 2 * 3 // 2 ~ 5, ...")(7), select("#", table.unpack({ 1, 2, 3 })), math.floor(3.7), 2 ^ 0.5)
for w in string.gmatch("one two three", "%a+") do s = s .. w end
collectgarbage()
L
for i in $(seq 400); do echo "line $i $((i * 7919 % 1009))"; done > in.txt
cat > build.ninja <<'N'
cflags = -O2
rule cc
  command = true $cflags $in
  description = CC $out
build a.o: cc in.txt | s.lua || x
build b.o: cc s.lua
  cflags = -O1
build x: phony
default a.o b.o
N
b=$work/bin
export JALON_ORACLE_REAL="$b/lua-gcc-O3-lto $work/s.lua;$b/lua-clang-O2-dwp $work/s.lua;$b/bzip2-gcc-O2-dwz -k -c $work/in.txt;$b/bzip2-clang-O3-lto -k -c $work/in.txt;$b/minigzip-gcc-O3-dwp -c $work/in.txt;$b/minigzip-clang-O3 -c $work/in.txt;$b/ninja-clang-O2-dwp -C $work -n -v;$b/ninja-gcc-O2-lto -C $work -n -v"
export JALON_ORACLE_PLACES=${1:-800} JALON_ORACLE_SEED=${2:-$RANDOM}
echo "places $JALON_ORACLE_PLACES, seed $JALON_ORACLE_SEED"
cd "$repo" && CGO_ENABLED=0 go test ./test -count=1 -timeout 4h -run TestOracleReal -v
