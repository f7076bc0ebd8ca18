package torture

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// lib is the path of a shared library as the linker finds it for a program.
func lib(prog, name string) string {
	path, err := exec.LookPath(prog)
	if err != nil {
		return ""
	}
	out, _ := exec.Command("ldd", path).Output()
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) >= 3 && strings.HasPrefix(f[0], name) {
			return f[2]
		}
	}
	return ""
}

// data is a file of testdata, with its absolute path.
func data(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func text(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(data(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// must runs a program that prepares a test, and returns its output.
func must(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "LC_ALL=C",
		"GIT_AUTHOR_DATE=2020-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2020-01-01T00:00:00Z")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// subjects are the programs that are swept.
func subjects(t *testing.T) []*subject {
	const python = "/usr/bin/python3" // Debian's: its tests come with it
	script := text(t, "work.sql")
	lua, sql := []string{"lua5.4", data(t, "work.lua")}, []string{"sqlite3", ":memory:"}
	crypto := []string{python, data(t, "crypto.py"), "libcrypto.so.3"}
	compiler := must(t, ".", "gcc", "-print-prog-name=cc1")
	libcrypto := private(t, lib("openssl", "libcrypto.so"))
	near := []string{"LD_LIBRARY_PATH=" + filepath.Dir(libcrypto)}
	return []*subject{
		{name: "libsqlite3", needs: []string{"sqlite3"}, file: lib("sqlite3", "libsqlite3.so"), short: true, whole: true, commands: [][]string{sql}, input: script},
		{name: "libc under sqlite3", needs: []string{"sqlite3"}, file: lib("sqlite3", "libc.so"), short: true, commands: [][]string{sql}, input: script},
		{name: "lua", needs: []string{"lua5.4"}, file: "/usr/bin/lua5.4", short: true, whole: true, commands: [][]string{lua}},
		{name: "libc under lua", needs: []string{"lua5.4"}, file: lib("lua5.4", "libc.so"), short: true, whole: true, commands: [][]string{lua}},
		{name: "libm under lua", needs: []string{"lua5.4"}, file: lib("lua5.4", "libm.so"), short: true, whole: true, commands: [][]string{lua}},
		{name: "libc under sort", file: lib("sort", "libc.so"), prepare: sortable, commands: [][]string{{"sort", "-g", "in"}, {"sort", "-V", "in"}, {"tr", "a-z", "A-Z"}, {"od", "-tf4", "in"}}, input: script},
		{name: "ld.so", needs: []string{"lua5.4"}, file: "/lib64/ld-linux-x86-64.so.2", whole: true, commands: [][]string{{python, "-c", "import ctypes.util, sqlite3, ssl, decimal, _json; print(sqlite3.connect(':memory:').execute('select 6*7').fetchone())"}}},
		{name: "libcrypto", needs: []string{python, "openssl"}, file: libcrypto, preload: true, whole: true, commands: [][]string{crypto}, known: pythonKnown},
		{name: "libcrypto under openssl", needs: []string{"openssl"}, file: libcrypto, env: near, commands: opensslCommands, prepare: opensslFiles, known: opensslKnown},
		{name: "libcrypto, loaded late", needs: []string{python, "openssl"}, file: libcrypto, late: true, env: near, commands: [][]string{crypto}, known: pythonKnown},
		{name: "python", needs: []string{python}, file: python, whole: true, commands: [][]string{append([]string{python, data(t, "work.py")}, modules...)}},
		{name: "libc under python", needs: []string{python}, file: lib(python, "libc.so"), commands: [][]string{append([]string{python, data(t, "work.py")}, modules...)}},
		{name: "libexpat under python", needs: []string{python}, file: lib(python, "libexpat.so"), whole: true, commands: [][]string{{python, data(t, "work.py"), "test_pyexpat"}}},
		{name: "git", needs: []string{"git"}, file: "/usr/bin/git", whole: true, prepare: repository, commands: gitCommands},
		{name: "libc under git", needs: []string{"git"}, file: lib("git", "libc.so"), prepare: repository, commands: gitCommands},
		{name: "cc1", file: strings.TrimSpace(compiler), whole: true, large: 3, commands: [][]string{{strings.TrimSpace(compiler), "-quiet", "-O2", "-fno-asynchronous-unwind-tables", data(t, "work.c"), "-o", "-"}}},
		{name: "redis", needs: []string{"redis-server", "redis-cli", "redis-benchmark"}, file: "/usr/bin/redis-server", whole: true, commands: [][]string{redis}, drive: talkToRedis},
		{name: "libc under redis", needs: []string{"redis-server", "redis-cli", "redis-benchmark"}, file: lib("redis-server", "libc.so"), commands: [][]string{redis}, drive: talkToRedis},
	}
}

// modules are tests of python whose output is the same in every run.
var modules = []string{"test_json", "test_struct", "test_bisect", "test_heapq", "test_generators", "test_textwrap", "test_fnmatch", "test_colorsys", "test_unpack"}

func sortable(t *testing.T, dir string) {
	var b strings.Builder
	for i := range 900 {
		fmt.Fprintf(&b, "%d.%de%d file-%d.%d\n", i*7919%1009, i%13, i%5-2, i%100, i)
	}
	if err := os.WriteFile(filepath.Join(dir, "in"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// repository makes one with some history.
func repository(t *testing.T, dir string) {
	must(t, dir, "git", "init", "-q", "-b", "main", ".")
	must(t, dir, "git", "config", "user.email", "a@b")
	must(t, dir, "git", "config", "user.name", "a")
	for i := range 12 {
		var b strings.Builder
		for k := range 80 {
			fmt.Fprintf(&b, "line %d of %d\n", k, (k*7+i*i)%(i+3))
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d", i%4)), []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		must(t, dir, "git", "add", "-A")
		must(t, dir, "git", "commit", "-q", "-m", fmt.Sprintf("change %d\n\nwith a body", i))
	}
	must(t, dir, "git", "tag", "-a", "-m", "a tag", "v1")
	must(t, dir, "git", "-c", "pack.threads=1", "gc", "-q")
}

var gitCommands = [][]string{
	{"git", "fsck", "--full", "--strict"},
	{"git", "--no-pager", "log", "-p", "--stat", "--all", "--graph"},
	{"git", "--no-pager", "blame", "-w", "f2"},
	{"git", "--no-pager", "grep", "-nE", "line [0-4]+ of (1|2)"},
	{"git", "--no-pager", "diff", "--word-diff", "HEAD~5", "HEAD"},
	{"git", "pack-objects", "--threads=1", "--all", "--stdout", "--no-reuse-delta", "-q"},
	{"git", "cat-file", "--batch-all-objects", "--batch"},
	{"git", "archive", "HEAD"},
}

var redis = []string{"redis-server", "--save", "", "--appendonly", "no", "--port", "0", "--unixsocket", "redis.sock", "--logfile", "redis.log", "--daemonize", "no"}

var digits = regexp.MustCompile(`[0-9.]+`)

// talkToRedis sends requests to the server and checks its data afterwards.
func talkToRedis(t *testing.T, dir string, server *testkit.Process) string {
	sock := filepath.Join(dir, "redis.sock")
	cli := func(script string) string {
		cmd := exec.Command("timeout", "60", "redis-cli", "-s", sock)
		cmd.Stdin = strings.NewReader(script)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Sprintf("redis-cli: %v: %s", err, out)
		}
		return string(out)
	}
	up := func() bool {
		select {
		case <-server.Ended:
			return true
		default:
		}
		return strings.Contains(cli("ping"), "PONG")
	}
	testkit.Eventually(t, "the server answers", up)
	if select2(server.Ended) {
		return "" // jalon has refused something
	}
	out, err := exec.Command("timeout", "60", "redis-benchmark", "-s", sock, "-n", "400", "-c", "8", "-q", "-t", "set,get,incr,lpush,rpop,sadd,hset,zadd,lrange_100,mset").CombinedOutput()
	said := fmt.Sprintf("benchmark: %v, %d lines\n", err, strings.Count(digits.ReplaceAllString(string(out), ""), "p50"))
	said += cli(text(t, "work.redis"))
	server.T = t
	cli("shutdown nosave")
	return said
}

func select2(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
