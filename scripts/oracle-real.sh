#!/usr/bin/env bash
# Builds programs that were not written for jalon, optimised, in several ways (gcc and clang, linked
# too, split and shared debug information), and compares values at random places of them with GDB's
# (TestOracleReal). A directory is made for it below TMPDIR, and removed. Needs network access to a
# mirror of Debian, the packages of "make test", llvm, libclang-rt-14-dev, tclsh and bison.
#
# usage: scripts/oracle-real.sh [-m] [-n PLACES] [-s SEED] [-k DIR] [PROGRAM...]
#   -m  plain builds of the programs of C: gcc and clang, each with -O2 and -O3
#   -n  places of each build (800)
#   -s  seed that chooses them (random)
#   -k  keep sources and builds in DIR, and use what is there
# PROGRAM: lua bzip2 minigzip ninja sqlite zstd jq leveldb snappy regex gofmt blas asan g3; all of them by default.
# At the end there is a table: for each build the pairs of place and expression of which GDB and jalon have the same
# value, of which only GDB has one, or another; of which only jalon has one; and how many rest on what callers pass.
set -euo pipefail
repo=$(cd "$(dirname "$0")/.." && pwd)
places=800 seed=$RANDOM work= plain=
while getopts mn:s:k: o; do
	case $o in
	m) plain=1 ;;
	n) places=$OPTARG ;;
	s) seed=$OPTARG ;;
	k) mkdir -p "$OPTARG" && work=$(cd "$OPTARG" && pwd) ;;
	*) sed -n '2,15s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- lua bzip2 minigzip ninja sqlite zstd jq leveldb snappy regex gofmt blas asan g3
if [ -z "$work" ]; then
	work=$(mktemp -d "${TMPDIR:-/tmp}/oracle-real.XXXXXX")
	trap 'rm -rf "$work"' EXIT
fi
mkdir -p "$work"/{lists/partial,cache/archives/partial,bin,src,deb}
cd "$work/src"
llvm_dwp=$(command -v llvm-dwp || ls /usr/lib/llvm-*/bin/llvm-dwp | tail -1)
echo "deb-src http://deb.debian.org/debian bookworm main" > "$work/sources.list"
apt=(apt-get -qq -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root)
subjects=()

# subject FILE [ARGUMENT...]: a build to compare
subject() { subjects+=("$work/bin/$*"); }

# fetch PACKAGE: the sources of a package of Debian, unpacked here
fetch() {
	[ ! -e "$1.fetched" ] || return 0
	[ -e "$work/updated" ] || { "${apt[@]}" update && touch "$work/updated"; }
	"${apt[@]}" source --download-only "$1"
	local f
	for f in "${1}"_*.orig.tar.*; do case $f in *.asc) ;; *) tar xf "$f" ;; esac; done
	touch "$1.fetched"
}

# build CC FLAGS FILE LIBS SOURCE...
build() {
	local cc=$1 flags=$2 out=$work/bin/$3 libs=$4
	shift 4
	[ -e "$out" ] || $cc -g $flags -w -o "$out" "$@" $libs
}

# split CC FLAGS FILE LIBS SOURCE...: with split debug information in one .dwp; in DWARF 4, as
# GDB 13.1 crashes on location lists of DWARF 5 in such files
split() {
	local cc=$1 flags=$2 name=$3 libs=$4 f
	local out=$work/bin/$name
	shift 4
	[ ! -e "$out.dwp" ] || return 0
	mkdir -p "o-$name"
	for f; do $cc $flags -w -g -gdwarf-4 -gsplit-dwarf -c -o "o-$name/$(echo "${f%.*}" | tr / _).o" "$f"; done
	$cc $flags -gsplit-dwarf -o "$out" "o-$name"/*.o $libs
	"$llvm_dwp" -e "$out" -o "$out.dwp"
	rm -rf "o-$name"
}

# each NAME FLAGS LIBS SOURCE...: with -m, the plain builds of a program; their names are in builds
each() {
	local name=$1 flags=$2 libs=$3 cc o
	shift 3
	builds=()
	[ -n "$plain" ] || return 1
	for cc in gcc clang; do
		for o in O2 O3; do
			build $cc "-$o $flags" $name-$cc-$o-plain "$libs" "$@"
			builds+=($name-$cc-$o-plain)
		done
	done
}

text() { # 400 lines that compress
	[ -e in.txt ] || for i in $(seq 400); do echo "line $i $((i * 7919 % 1009))"; done > in.txt
}

prepare_lua() {
	fetch lua5.4
	local files f="-DLUA_USE_POSIX -Dluai_makeseed(L)=7u"
	files=$(ls lua-5.4.*/src/*.c | grep -v /luac.c)
	each lua "$f" -lm $files || {
		build gcc "-O3 -flto $f" lua-gcc-O3-lto -lm $files
		split clang "-O2 $f" lua-clang-O2-dwp -lm $files
		builds=(lua-gcc-O3-lto lua-clang-O2-dwp)
	}
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
	for b in "${builds[@]}"; do subject $b "$PWD/s.lua"; done
}

prepare_bzip2() {
	fetch bzip2
	text
	local files f
	files=$(for f in blocksort huffman crctable randtable compress decompress bzlib bzip2; do echo bzip2-1*/$f.c; done)
	each bzip2 "" "" $files || {
		build gcc -O2 bzip2-gcc-O2-dwz "" $files
		dwz "$work/bin/bzip2-gcc-O2-dwz" 2>&1 || true # it refuses what it has packed before
		build clang "-O3 -flto" bzip2-clang-O3-lto "" $files
		builds=(bzip2-gcc-O2-dwz bzip2-clang-O3-lto)
	}
	for b in "${builds[@]}"; do subject $b -k -c "$PWD/in.txt"; done
}

prepare_minigzip() {
	fetch zlib
	text
	local files f
	files="$(ls zlib-1*/*.c) $(ls zlib-1*/test/minigzip.c)"
	f="-D_LARGEFILE64_SOURCE -DHAVE_UNISTD_H -I$(echo zlib-1*)"
	each minigzip "$f" "" $files || {
		split gcc "-O3 $f" minigzip-gcc-O3-dwp "" $files
		build clang "-O3 $f" minigzip-clang-O3 "" $files
		builds=(minigzip-gcc-O3-dwp minigzip-clang-O3)
	}
	for b in "${builds[@]}"; do subject $b -c "$PWD/in.txt"; done
}

prepare_ninja() {
	fetch ninja-build
	local files
	files=$(ls ninja-1*/src/*.cc | grep -v -e test -e perf -e win32 -e browse -e minidump -e msvc -e includes_normalize -e hash_collision -e "\.in\.cc")
	split clang++ -O2 ninja-clang-O2-dwp -lpthread $files
	build g++ "-O2 -flto" ninja-gcc-O2-lto -lpthread $files
	mkdir -p n
	touch n/in.txt n/s.lua
	cat > n/build.ninja <<'N'
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
	for b in ninja-clang-O2-dwp ninja-gcc-O2-lto; do subject $b -C "$PWD/n" -n -v; done
}

prepare_sqlite() {
	fetch sqlite3
	[ -e sqlite-build/shell.c ] || (mkdir -p sqlite-build && cd sqlite-build && ../sqlite3-3*/configure --disable-tcl && make sqlite3.c shell.c) > sqlite.log
	local f="-DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -Isqlite-build" files="sqlite-build/sqlite3.c sqlite-build/shell.c"
	each sqlite "$f" -lm $files || {
		build gcc "-O2 $f" sqlite-gcc-O2 -lm $files
		split gcc "-O3 $f" sqlite-gcc-O3-dwp -lm $files
		build clang "-O3 $f" sqlite-clang-O3 -lm $files
		builds=(sqlite-gcc-O2 sqlite-gcc-O3-dwp sqlite-clang-O3)
	}
	cat > s.sql <<'Q'
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 40) insert into t select i, printf('%05d', i * 7919 % 3001), i / 7.0 from n;
create index tb on t(b);
begin; update t set c = c * 2 where b > '01000'; delete from t where a % 7 = 0; commit;
select count(*), sum(c), group_concat(b, ',') from t where a in (select a from t where c < 5) group by a % 3 having count(*) > 1 order by 2 desc limit 5;
select x.a, y.b from t x left join t y on x.a = y.a + 1 where x.b like '%1%' or y.b glob '0[12]*' order by y.b limit 6;
select substr(b, 2, 3), upper(b), abs(-c), round(c, 2), coalesce(null, b), json_extract('{"a":[1,2]}', '$.a[1]'), strftime('%Y', 0) from t limit 3;
create view v as select a, row_number() over (partition by a % 2 order by b) r from t; select * from v where r < 3;
create trigger g after insert on t begin update t set c = 1 where a = new.a; end; insert into t values(100, 'x', 3); select * from t where a = 100;
pragma integrity_check; explain query plan select * from t where b = 'x'; vacuum;
select nosuch from t;
Q
	for b in "${builds[@]}"; do subject $b -init "$PWD/s.sql" :memory: .tables; done
}

prepare_zstd() {
	fetch libzstd
	text
	local files f="-DZSTD_DISABLE_ASM -Izstd-build/lib"
	[ -e zstd-build ] || ln -s "$(echo zstd-1*)" zstd-build
	files="$(ls zstd-build/lib/{common,compress,decompress,dictBuilder}/*.c) $(ls zstd-build/programs/*.c)"
	each zstd "$f" "" $files || {
		build gcc "-O3 $f" zstd-gcc-O3 "" $files
		split clang "-O2 $f" zstd-clang-O2-dwp "" $files
		builds=(zstd-gcc-O3 zstd-clang-O2-dwp)
	}
	for b in "${builds[@]}"; do subject $b -19 -c "$PWD/in.txt"; done
	[ -e in.zst ] || "$work/bin/${builds[0]}" -q -o in.zst in.txt
	subject "${builds[0]}" -d -c "$PWD/in.zst"
}

prepare_jq() {
	fetch jq
	text
	local files f='-D_GNU_SOURCE -DIEEE_8087 -DHAVE_ISATTY -DHAVE_GETTIMEOFDAY -DHAVE_TM_TM_GMT_OFF -DHAVE_STRPTIME -DHAVE_STRFTIME -DHAVE_GMTIME_R -DHAVE_TIMEGM -DHAVE_MKTIME -DHAVE_GMTIME -DHAVE_SETLOCALE -DHAVE_FLOOR -DHAVE_SQRT -DHAVE_POW -DHAVE_LOG -DHAVE_FREXP'
	local d
	d=$(echo jq-jq-1*)
	echo '#define JQ_VERSION "1.6"' > "$d/src/version.h"
	[ -e "$d/src/builtin.inc" ] || sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$/\\n"/' "$d/src/builtin.jq" > "$d/src/builtin.inc"
	files=$(ls $d/src/*.c | grep -v -e inject_errors -e jq_test)
	f="$f -I$d -I$d/src"
	echo 'int jq_testsuite(void *d, int v, int c, char **a) { return 0; }' > jq_tests.c
	each jq "$f" -lm $files jq_tests.c || {
		build gcc "-O2 -flto $f" jq-gcc-O2-lto -lm $files jq_tests.c
		build clang "-O3 $f" jq-clang-O3 -lm $files jq_tests.c
		builds=(jq-gcc-O2-lto jq-clang-O3)
	}
	echo '[{"a":1,"b":"x","c":[1,2.5,null]},{"a":7,"b":"y\u00e4","c":[true,{"d":-3e5}]}]' > in.json
	echo '[.[] | {a, n: (.c | length), t: (.b | ascii_upcase)}] | sort_by(-.a), (map(.a) | add / 2), (.[0].c | tostring), (. as [$x, $y] | try error("e") catch .), (reduce .[] as $i (0; . + $i.a)), ([limit(3; range(10))] | @csv), (tojson | fromjson | paths)' > f.jq
	for b in "${builds[@]}"; do subject $b -f "$PWD/f.jq" "$PWD/in.json"; done
}

prepare_leveldb() {
	fetch leveldb
	local d files f
	d=$(echo leveldb-1*)
	f="-std=c++11 -DLEVELDB_PLATFORM_POSIX=1 -DHAVE_FDATASYNC=1 -I$d -I$d/include -I."
	mkdir -p port
	sed -e 's/#cmakedefine01 \(.*\)/#define \1 0/' "$d/port/port_config.h.in" > port/port_config.h
	files=$(ls $d/{db,table,util}/*.cc $d/helpers/memenv/memenv.cc | grep -v -e test -e windows -e leveldbutil)
	cat > leveldb_main.cc <<'C'
#include <cstdio>
#include <string>
#include "helpers/memenv/memenv.h"
#include "leveldb/cache.h"
#include "leveldb/db.h"
#include "leveldb/env.h"
#include "leveldb/filter_policy.h"
#include "leveldb/write_batch.h"
int main() {
  leveldb::Options o;
  o.env = leveldb::NewMemEnv(leveldb::Env::Default());
  o.create_if_missing = true;
  o.filter_policy = leveldb::NewBloomFilterPolicy(10);
  o.block_cache = leveldb::NewLRUCache(1 << 16);
  leveldb::DB *db;
  leveldb::Status s = leveldb::DB::Open(o, "/db", &db);
  char k[32];
  for (int i = 0; i < 300 && s.ok(); i++) {
    snprintf(k, sizeof k, "%05d", i * 7919 % 3001);
    leveldb::WriteBatch b;
    b.Put(k, std::string(i % 90, 'a' + i % 26));
    if (i % 5 == 0) b.Delete(std::string("00") + k);
    s = db->Write(leveldb::WriteOptions(), &b);
    if (i == 150) db->CompactRange(nullptr, nullptr);
  }
  db->CompactRange(nullptr, nullptr);
  std::string v;
  size_t n = 0;
  for (int i = 0; i < 300; i++) {
    snprintf(k, sizeof k, "%05d", i * 7919 % 3001);
    if (db->Get(leveldb::ReadOptions(), k, &v).ok()) n += v.size();
  }
  leveldb::Iterator *it = db->NewIterator(leveldb::ReadOptions());
  for (it->SeekToFirst(); it->Valid(); it->Next()) n += it->key().size();
  for (it->SeekToLast(); it->Valid() && n % 7; it->Prev()) n++;
  delete it;
  printf("%zu %s\n", n, db->Get(leveldb::ReadOptions(), "none", &v).ToString().c_str());
  delete db;
}
C
	split clang++ "-O2 $f" leveldb-clang-O2-dwp -lpthread leveldb_main.cc $files
	build g++ "-O3 $f" leveldb-gcc-O3 -lpthread leveldb_main.cc $files
	for b in leveldb-clang-O2-dwp leveldb-gcc-O3; do subject $b; done
}

prepare_snappy() {
	fetch snappy
	text
	local d f b
	d=$(echo snappy-1*)
	mkdir -p snappy-build
	sed -e 's/\${PROJECT_VERSION_MAJOR}/1/; s/\${PROJECT_VERSION_MINOR}/1/; s/\${PROJECT_VERSION_PATCH}/9/; s/\${HAVE_SYS_UIO_H_01}/1/' "$d/snappy-stubs-public.h.in" > snappy-build/snappy-stubs-public.h
	cat > snappy_main.cc <<'C'
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include "snappy.h"
#include "snappy-sinksource.h"
int main(int, char **argv) {
  std::ifstream in(argv[1]);
  std::string text((std::istreambuf_iterator<char>(in)), {}), packed, again;
  size_t n = snappy::Compress(text.data(), text.size(), &packed);
  bool valid = snappy::IsValidCompressedBuffer(packed.data(), packed.size());
  bool ok = snappy::Uncompress(packed.data(), packed.size(), &again);
  snappy::ByteArraySource source(packed.data(), packed.size());
  std::string out(text.size(), 0);
  snappy::UncheckedByteArraySink sink(&out[0]);
  bool streamed = snappy::Uncompress(&source, &sink);
  packed[packed.size() / 2] ^= 0x55;
  printf("%zu %d %d %d %d\n", n, valid, ok && again == text, streamed && out == text, snappy::Uncompress(packed.data(), packed.size(), &again));
}
C
	f="-std=c++11 -I$d -Isnappy-build -DNDEBUG"
	for b in "gcc O2 g++" "clang O3 clang++"; do
		set -- $b
		build $3 "-$2 $f" snappy-$1-$2 "" snappy_main.cc $d/snappy.cc $d/snappy-sinksource.cc $d/snappy-stubs-internal.cc
		subject snappy-$1-$2 "$PWD/in.txt"
	done
}

# A program of Rust: the crates of regular expressions.
prepare_regex() {
	local c
	[ -e regex.fetched ] || {
		(cd "$work/deb" && apt-get -qq download librust-{regex,regex-syntax,aho-corasick,memchr}-dev && for c in *.deb; do dpkg -x "$c" .; done)
		touch regex.fetched
	}
	local r=$work/deb/usr/share/cargo/registry
	[ -e "$work/bin/regex-rustc-O3" ] || {
		mkdir -p rs
		crate() { rustc --edition 2018 --cap-lints allow -g -C opt-level=$opt -C codegen-units=1 --crate-type rlib --out-dir rs-$opt -L rs-$opt "$@"; }
		cat > regex_main.rs <<'R'
use regex::{Captures, Regex, RegexSet};
fn main() {
    let text = std::fs::read_to_string(std::env::args().nth(1).unwrap()).unwrap();
    let re = Regex::new(r"(?P<w>[a-z]+)\s(?P<n>\d{1,3}) (?:7|8|9)(\d*)$").unwrap();
    let mut sum = 0usize;
    for l in text.lines().take(60) {
        if let Some(c) = re.captures(l) {
            sum += c["n"].parse::<usize>().unwrap() + c.get(3).map_or(0, |m| m.end());
        }
    }
    let set = RegexSet::new(&["foo|bar|line 1", r"\bline\b", "[0-9]{4}x?", "(?i)LINE 2.*9"]).unwrap();
    let hits: Vec<usize> = text.lines().take(30).flat_map(|l| set.matches(l).into_iter().collect::<Vec<_>>()).collect();
    let out = re.replace_all(&text[..200], |c: &Captures| format!("<{}>", &c["w"]));
    println!("{} {} {} {:?}", sum, hits.len(), out.len(), Regex::new("a(b").is_err());
}
R
		local opt
		for opt in 2 3; do
			mkdir -p rs-$opt
			crate --crate-name memchr --cfg 'feature="std"' "$r"/memchr-2*/src/lib.rs
			crate --crate-name aho_corasick --cfg 'feature="std"' --extern memchr=rs-$opt/libmemchr.rlib "$r"/aho-corasick-0*/src/lib.rs
			crate --crate-name regex_syntax --cfg 'feature="unicode"' --cfg 'feature="unicode-perl"' --cfg 'feature="unicode-case"' "$r"/regex-syntax-0*/src/lib.rs
			crate --crate-name regex $(for c in std perf perf-cache perf-dfa perf-inline perf-literal unicode unicode-perl unicode-case aho-corasick memchr; do echo --cfg "feature=\"$c\""; done) --extern memchr=rs-$opt/libmemchr.rlib --extern aho_corasick=rs-$opt/libaho_corasick.rlib --extern regex_syntax=rs-$opt/libregex_syntax.rlib "$r"/regex-1*/src/lib.rs
			rustc --edition 2018 -g -C opt-level=$opt -C codegen-units=1 -L rs-$opt --extern regex=rs-$opt/libregex.rlib -o "$work/bin/regex-rustc-O$opt" regex_main.rs
		done
	}
	text
	for b in regex-rustc-O2 regex-rustc-O3; do subject $b "$PWD/in.txt"; done
}

# A program of Go: gofmt, of the distribution of Go itself.
prepare_gofmt() {
	[ -e "$work/bin/gofmt" ] || CGO_ENABLED=0 go build -o "$work/bin/gofmt" cmd/gofmt
	cat > in.go <<'G'
package p
import ("fmt"; "os")
type T[K comparable] struct { a, b int; m map[K]func(int) error `x:"y"` }
// F is documented.
func (t *T[K]) F(x ...int) (n int, err error) { switch { case x==nil: return; default: for i:=range x { n+=i<<2 &^ 3 }}; go func(){ fmt.Println(os.Args[1:], t.a*2+n) }(); return n, nil }
var ( v = []struct{ x, y float64 }{{1,2},{3,4}}; w = 0X1F; c <-chan struct{} )
G
	subject gofmt "$PWD/in.go"
}

# Programs of Fortran: the tests of BLAS, of the levels 1 and 2, with the routines that they test.
prepare_blas() {
	fetch lapack
	local d
	d=$(ls -d lapack-3* | head -1)
	build gfortran -O2 blas1-gfortran-O2 "" $d/BLAS/TESTING/dblat1.f $(ls $d/BLAS/SRC/{d*,s*dot,idamax,lsame,xerbla}.f*)
	build gfortran -O3 blas1z-gfortran-O3 "" $d/BLAS/TESTING/zblat1.f $(ls $d/BLAS/SRC/{z*,d*,izamax,idamax,lsame,xerbla}.f*)
	for b in blas1-gfortran-O2 blas1z-gfortran-O3; do subject $b; done
}

# Programs with sanitizers. With AddressSanitizer variables live in frames of its own, and in poisoned memory.
prepare_asan() {
	local before=("${subjects[@]}") files f="-O1 -fsanitize=address -fno-omit-frame-pointer"
	prepare_lua # its sources and script
	echo 'const char *__asan_default_options(void) { return "detect_leaks=0"; }' > asan_options.c # it would be a tracer itself
	files=$(ls lua-5.4.*/src/*.c | grep -v /luac.c)
	build gcc "$f -DLUA_USE_POSIX" lua-gcc-O1-asan -lm $files asan_options.c
	build clang "$f -DLUA_USE_POSIX" lua-clang-O1-asan -lm $files asan_options.c
	build gcc "-O2 -fsanitize=undefined -DLUA_USE_POSIX" lua-gcc-O2-ubsan -lm $files
	build clang "-O2 -fsanitize=undefined -DLUA_USE_POSIX" lua-clang-O2-ubsan -lm $files
	subjects=("${before[@]}")
	for b in lua-gcc-O1-asan lua-clang-O1-asan lua-gcc-O2-ubsan lua-clang-O2-ubsan; do subject $b "$PWD/s.lua"; done
}

# Programs with macros in their debug information (-g3).
prepare_g3() {
	fetch bzip2
	text
	local files f b
	files=$(for f in blocksort huffman crctable randtable compress decompress bzlib bzip2; do echo bzip2-1*/$f.c; done)
	build gcc "-O2 -g3" bzip2-gcc-O2-g3 "" $files
	build clang "-O2 -g3 -fdebug-macro" bzip2-clang-O2-g3 "" $files
	for b in bzip2-gcc-O2-g3 bzip2-clang-O2-g3; do subject $b -k -c "$PWD/in.txt"; done
}

for p; do "prepare_$p"; done
JALON_ORACLE_REAL=$(IFS=";"; echo "${subjects[*]}")
export JALON_ORACLE_REAL JALON_ORACLE_PLACES=$places JALON_ORACLE_SEED=$seed
echo "places $places, seed $seed"
cd "$repo"
status=0
CGO_ENABLED=0 go test ./test -count=1 -timeout 8h -run TestOracleReal -v 2>&1 | tee "$work/log" || status=$?
# The lines of one build are together.
awk '
function row() { if (n) printf "%-26s %9d %9d %9d %9d %9d %8.2f %8.2f\n", name, both, alone, other, ours, callers, 100 * both / n, 100 * (both - callers) / n }
BEGIN { printf "%-26s %9s %9s %9s %9s %9s %8s %8s\n", "build", "both", "GDB only", "different", "jalon", "callers", "%", "% before" }
/=== RUN +TestOracleReal\// { sub(".*/", ""); name = $0 }
/availability:/ {
	gsub(/[,:]/, "")
	for (i = 1; i < NF; i++) v[$i] = $(i + 1)
	for (i = 1; i < NF; i++) if ($i == "GDB") alone = $(i + 2); else if ($i == "jalon") ours = $(i + 2); else if ($i == "from") callers = $(i + 2)
	both = v["both"]; other = v["different"]; n = both + alone + other
	row(); b += both; a += alone; o += other; j += ours; c += callers
}
END { name = "all"; both = b; alone = a; other = o; ours = j; callers = c; n = b + a + o; row() }' "$work/log" | tee "$work/table"
exit $status
