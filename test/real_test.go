package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

const (
	sqliteScript = `
create table t(a integer primary key, b text, c int);
create table u(a int, d text);
create index ub on u(d);
with recursive n(x) as (select 1 union all select x + 1 from n where x < 3000) insert into t select x, 'row ' || (x * 7919 % 3001), x % 17 from n;
insert into u select a, substr(b, 1, 6) from t where c in (3, 5, 7);
select count(*), sum(a), max(b) from t;
select t.c, count(*), group_concat(distinct u.d) from t join u on t.a = u.a group by t.c order by 1;
update t set b = upper(b) where a % 10 = 3;
delete from u where a % 2;
select count(*), min(b), total(length(b)) from t natural join u;
pragma integrity_check;
`
	luaScript = `
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local t = {}
for i = 1, 3000 do t[#t + 1] = string.format("%05d", i * 7919 % 3001) end
table.sort(t)
local co = coroutine.wrap(function() for i = 1, 100 do coroutine.yield(i) end end)
local s = 0
for i = 1, 100 do s = s + co() end
print(fib(17), t[1], t[#t], s, pcall(error, "an error"))
`
	pythonScript = `
import json, re
def gen(n):
    for i in range(n): yield {"k%d" % i: [i, float(i) / 3, str(i), None, True]}
s = json.dumps(list(gen(1500)))
print(len(s), len(json.loads(s)), len(re.findall(r"k\d+5", s)), sum(hash(i) for i in range(100)))
for i in range(200): repr([i])
try: {}["x"]
except KeyError as e: print("KeyError", e)
`
	bashScript = `
f() { local i; for ((i = 0; i < $1; i++)); do x=$((x + i)); done; echo $x; }
x=0; f 300; for w in a b c d e; do y="$y$(echo $w)"; done; echo $y
case abc in a*) echo match;; esac; trap 'echo bye' EXIT; [[ abc =~ b(.) ]] && echo ${BASH_REMATCH[1]}
`
)

// realProgram is a program of Debian with something to do.
type realProgram struct {
	name  string
	args  []string
	input string
	// each is a function whose calls GDB counts too.
	each []string
}

func realPrograms(t *testing.T) []realProgram {
	need(t, "sqlite3", "lua5.4", "bash", "sort", "sha256sum", "ls", "gdb", "/usr/bin/python3")
	var lines strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&lines, "%d line\n", i*7919%5003)
	}
	// Files, because GDB cannot pass on arguments with newlines.
	file := func(name, text string) string {
		path := filepath.Join(tempDir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	text := file("lines", lines.String())
	return []realProgram{
		{"sqlite3", []string{"/usr/bin/sqlite3", ":memory:"}, sqliteScript, []string{"sqlite3_step", "sqlite3_prepare_v2", "sqlite3_column_text"}},
		{"lua", []string{"/usr/bin/lua5.4", file("script.lua", luaScript)}, "", []string{"lua_callk", "luaL_checkinteger"}},
		{"python3", []string{"/usr/bin/python3", "-SEI", file("script.py", pythonScript)}, "", []string{"PyObject_Repr", "PyErr_SetObject"}},
		{"bash", []string{"/usr/bin/bash", "--norc", file("script.sh", bashScript)}, "", []string{"evalexp", "dispose_words"}},
		{"ls", []string{"/usr/bin/ls", "-lR", "/usr/share/zoneinfo"}, "", []string{"closedir"}},
		{"sort", []string{"/usr/bin/sort", "--parallel=2", "-n", text}, "", []string{"fflush_unlocked"}},
		{"sha256sum", []string{"/usr/bin/sha256sum", text, "/usr/bin/bash"}, "", []string{"fclose"}},
	}
}

// Functions of real programs by their names; GDB counts the same calls.
func TestRealPrograms(t *testing.T) {
	for _, p := range realPrograms(t) {
		t.Run(p.name, func(t *testing.T) {
			want := runInput(t, p.input, p.args...)
			if want.status != 0 {
				t.Fatalf("%v: status %d: %s", p.args, want.status, tail(want.stderr))
			}
			for _, fn := range p.each {
				args := []string{"--buffer", "32M", "uprobe:" + p.args[0] + ":" + fn, "-c", "arg0, arg1, $bt", "--"}
				r := traceInput(t, p.input, append(args, p.args...)...)
				equal(t, "output", r.stdout, want.stdout)
				if r.status != want.status {
					t.Errorf("%s: status %d, untraced %d: %s", fn, r.status, want.status, tail(r.stderr))
				}
				n := gdbCount(t, p, fn)
				if n == 0 || r.sum.Hits != n || uint64(len(r.events)) != n {
					t.Errorf("%s: %d hits, %d events; gdb counts %d calls", fn, r.sum.Hits, len(r.events), n)
				}
			}
		})
	}
}

var alreadyHit = regexp.MustCompile(`breakpoint already hit (\d+) time`)

// gdbCount lets GDB count the calls of a function.
func gdbCount(t *testing.T, p realProgram, fn string) uint64 {
	t.Helper()
	// A tracepoint follows neither children nor their output.
	args := []string{
		"gdb", "-nx", "-batch", "-ex", "set breakpoint pending on", "-ex", "set debuginfod enabled off", "-ex", "set startup-with-shell off",
		"-ex", "break " + fn, "-ex", "ignore 1 100000000", "-ex", "run", "-ex", "info breakpoints", "--args",
	}
	r := runInput(t, p.input, append(args, p.args...)...)
	m := alreadyHit.FindStringSubmatch(r.stdout)
	if m == nil {
		t.Fatalf("gdb says nothing about %s:\n%s\n%s", fn, tail(r.stdout), tail(r.stderr))
	}
	n, err := strconv.ParseUint(m[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// All functions of a program at once: the program does the same.
func TestEveryFunction(t *testing.T) {
	for _, p := range realPrograms(t) {
		files := []string{p.args[0]}
		switch p.name {
		case "sqlite3":
			files = []string{"libsqlite3.so.0"}
		case "ls", "sort", "sha256sum":
			continue // without symbols
		}
		want := runInput(t, p.input, p.args...)
		for _, file := range files {
			for _, cond := range []string{" if ($rsp == 0)", ""} {
				for _, avoid := range []string{"0", "7"} {
					if avoid == "7" && !full {
						continue
					}
					t.Run(p.name+cond+"/"+avoid, func(t *testing.T) {
						args := []string{"-f", "none", "--avoid", avoid, "uprobe:" + file + ":*" + cond, "-c", "arg0", "--"}
						r := traceInput(t, p.input, append(args, p.args...)...)
						equal(t, "output", r.stdout, want.stdout)
						equal(t, "error output", errorsOfProgram(r.stderr), want.stderr)
						if r.status != want.status {
							t.Errorf("status %d, untraced %d: %s", r.status, want.status, tail(r.stderr))
						}
						if r.sum.Sites < 100 || r.sum.Hits < 100 {
							t.Errorf("summary: %+v", r.sum)
						}
						if cond != "" && (r.sum.Recorded != 0 || r.sum.False != r.sum.Hits) {
							t.Errorf("a condition that is never true: %+v", r.sum)
						}
					})
				}
			}
		}
	}
}

// errorsOfProgram removes jalon's own lines from the error output.
func errorsOfProgram(s string) string {
	var b strings.Builder
	for _, line := range strings.SplitAfter(s, "\n") {
		if !strings.HasPrefix(line, "jalon: ") && !strings.HasPrefix(line, `{"arm`) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// generated is a C program of n functions of several shapes, and how many calls
// of them it makes in a round.
func generated(n int) string {
	var b strings.Builder
	b.WriteString("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#define N __attribute__((noinline, noclone))\ntypedef unsigned long u;\nstruct s { int a; u b; double d; char t[16]; };\n")
	for i := range n {
		k := i*2654435761%1000 + 1
		switch i % 8 {
		case 0:
			fmt.Fprintf(&b, "N u f%d(u x)\n{\n\treturn x * %d + %d;\n}\n", i, k, i)
		case 1:
			fmt.Fprintf(&b, "N u f%d(u x)\n{\n\tu r = x;\n\tfor (u i = 0; i < x %% %d; i++)\n\t\tr = r * 31 + (i ^ %d);\n\treturn r;\n}\n", i, i%13+2, k)
		case 2:
			fmt.Fprintf(&b, "N u f%d(u x)\n{\n\tswitch (x %% 11) {\n\tcase 0: return %d;\n\tcase 1: return x + 1;\n\tcase 2: return f%d(x);\n\tcase 3: return x << 3;\n\tcase 4: return ~x;\n\tcase 5: return x / 3;\n\tcase 6: return 17;\n\tcase 7: return f%d(x + 1);\n\tcase 8: return x & %d;\n\tdefault: return x ^ %d;\n\t}\n}\n", i, k, i-1, i-2, k, k)
		case 3:
			fmt.Fprintf(&b, "N u f%d(u x)\n{\n\tstruct s v = { (int)x, x * 3, x * 0.5, \"%d\" };\n\tstruct s w;\n\n\tmemcpy(&w, &v, sizeof w);\n\treturn w.a + w.b + (u)w.d + strlen(w.t);\n}\n", i, i)
		case 4:
			fmt.Fprintf(&b, "N u f%d(u x)\n{\n\tif (x %% 64 == 0)\n\t\treturn %d;\n\treturn f%d(x - 1) + 1;\n}\n", i, k, i)
		case 5:
			fmt.Fprintf(&b, "N double g%d(double d, float e, int n)\n{\n\treturn n > 3 ? d * e : d + e / (n + 1);\n}\nN u f%d(u x)\n{\n\treturn (u)g%d(x %% 1000, %d.5f, x %% 7);\n}\n", i, i, i, k)
		case 6:
			fmt.Fprintf(&b, "static u v%d[16];\nN u f%d(u x)\n{\n\tv%d[x & 15] += x;\n\treturn v%d[(x + 1) & 15] + %d;\n}\n", i, i, i, i, k)
		default:
			fmt.Fprintf(&b, "static N int c%d(const void *a, const void *b)\n{\n\tint x = *(const int *)a, y = *(const int *)b;\n\n\treturn (x > y) - (x < y);\n}\nN u f%d(u x)\n{\n\tint v[9];\n\n\tfor (int i = 0; i < 9; i++)\n\t\tv[i] = (int)((x * (i + 3) * %d) %% 101);\n\tqsort(v, 9, sizeof *v, c%d);\n\treturn v[0] * 101 + v[8];\n}\n", i, i, k, i)
		}
	}
	b.WriteString("static u (*const all[])(u) = {\n")
	for i := range n {
		fmt.Fprintf(&b, "\tf%d,\n", i)
	}
	b.WriteString("};\n\nint main(int argc, char **argv)\n{\n\tu h = 1, rounds = argc > 1 ? atol(argv[1]) : 10;\n\n\tfor (u r = 0; r < rounds; r++)\n\t\tfor (u i = 0; i < sizeof all / sizeof *all; i++)\n\t\t\th = h * 1099511628211UL + all[i](h % 1000 + r);\n\tprintf(\"%lx\\n\", h);\n\treturn (int)(h % 100);\n}\n")
	return b.String()
}

// Hundreds of functions and thousands of lines with a site each.
func TestMassGenerated(t *testing.T) {
	src := filepath.Join(tempDir, "gen.c")
	if err := os.WriteFile(src, []byte(generated(400)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, b := range [][]string{{"gcc", "-O2"}, {"gcc", "-O0"}, {"clang", "-O2"}, {"gcc", "-O3"}} {
		if !full && (b[1] == "-O3" || b[0] == "clang") {
			continue
		}
		bin := compile(t, b[0], src, "-g", b[1], "-w")
		lines := probeLines(t, bin, "gen.c")
		var everyLine, everyFunction []string
		for _, n := range lines {
			everyLine = append(everyLine, fmt.Sprintf("gen.c:%d", n))
		}
		for i := range 400 {
			everyFunction = append(everyFunction, fmt.Sprintf("f%d", i))
		}
		for _, m := range []struct {
			name   string
			places []string
			least  int
		}{
			{"glob", []string{"f*"}, 400},
			{"entries", []string{"uprobe:" + bin + ":f*"}, 400},
			{"functions", everyFunction, 400},
			{"lines", everyLine, len(lines)},
		} {
			for _, cond := range []string{"", " if ($sp == 0)"} {
				for _, avoid := range []string{"0", "7"} {
					if !full && avoid == "7" && (cond == "" || b[1] == "-O0" || m.name == "glob" || m.name == "functions") ||
						!full && m.name == "functions" && cond != "" {
						continue
					}
					t.Run(fmt.Sprint(b[0], b[1], "/", m.name, cond, "/", avoid), func(t *testing.T) {
						args := []string{"-f", "none", "-c", "$pc, $sp", "--avoid", avoid}
						for _, p := range m.places {
							args = append(args, p+cond)
						}
						r := unchanged(t, []string{bin, "5"}, args...)
						if r.sum.Sites < m.least || r.sum.Hits < uint64(5*m.least/2) {
							t.Errorf("%+v, want at least %d sites", r.sum, m.least)
						}
					})
				}
			}
		}
	}
}

// redis starts redis-server on a socket of its own, by a command that ends in the
// server's command line.
func redis(t *testing.T, before ...string) (r *running, socket string) {
	t.Helper()
	need(t, "redis-server", "redis-benchmark", "redis-cli")
	dir, err := os.MkdirTemp("", "jr") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket = filepath.Join(dir, "s")
	cmd := append(append([]string{}, before...), "/usr/bin/redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", dir)
	r = start(t, cmd...)
	eventually(t, "redis answers", func() bool {
		out, _ := exec.Command("redis-cli", "-s", socket, "ping").Output()
		return string(out) == "PONG\n" || ended(r)
	})
	if ended(r) {
		t.Fatalf("%v: %s", cmd, tail(r.Out.String()+r.Errs.String()))
	}
	return r, socket
}

// commands is how many commands redis has processed.
func commands(t *testing.T, socket string) uint64 {
	t.Helper()
	r := run(t, "redis-cli", "-s", socket, "info", "stats")
	m := regexp.MustCompile(`total_commands_processed:(\d+)`).FindStringSubmatch(r.stdout)
	if m == nil {
		t.Fatalf("redis-cli info: %s%s", r.stdout, r.stderr)
	}
	n, err := strconv.ParseUint(m[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func benchmark(t *testing.T, socket string) {
	t.Helper()
	r := run(t, "redis-benchmark", "-s", socket, "-q", "-n", "5000", "-c", "20", "-t", "set,get,lpush,lrange_100,zadd,mset")
	if r.status != 0 || strings.Contains(r.stderr+r.stdout, "rror") {
		t.Fatalf("redis-benchmark: status %d\n%s%s", r.status, tail(r.stdout), tail(r.stderr))
	}
}

// redis-server from its start to its end, every command counted.
func TestRedisLaunched(t *testing.T) {
	file := filepath.Join(t.TempDir(), "events")
	r, socket := redis(t, jalonArgs("trace", "-f", "json", "-o", file, "--buffer", "32M", "--summary-json",
		"uprobe:/usr/bin/redis-server:call if (arg0 != 0)", "-c", "arg0, arg1", "--")...)
	benchmark(t, socket)
	n := commands(t, socket) // the querying command is not counted yet
	run(t, "redis-cli", "-s", socket, "shutdown", "nosave")
	res := r.wait()
	sum := summaryOf(t, res)
	if res.status != 0 || sum.Outcome != "exited with status 0" {
		t.Errorf("status %d: %s", res.status, tail(res.stderr))
	}
	if sum.Hits != n+2 || sum.Hits < 30000 || uint64(len(readEvents(t, file))) != sum.Hits {
		t.Errorf("%d hits, %d lost; redis counts %d", sum.Hits, sum.Lost, n+2)
	}
}

// jalon attaches to a loaded redis-server and detaches several times, with every function traced; the
// server continues to serve.
func TestRedisAttached(t *testing.T) {
	r, socket := redis(t)
	before := codeBytes(t, r.Pid())
	for i, place := range []string{"uprobe:/usr/bin/redis-server:call", "uprobe:/usr/bin/redis-server:*", "uprobe:/usr/bin/redis-server:* if ($sp == 0)"} {
		avoid := []string{"0", "7"}[i%2]
		n := commands(t, socket)
		j := start(t, jalonArgs("trace", "-f", "none", "-v", "--avoid", avoid, "--summary-json", "-p", fmt.Sprint(r.Pid()), "-c", "arg0", place)...)
		load := start(t, "redis-benchmark", "-s", socket, "-q", "-n", "1000000000", "-c", "20", "-t", "set,get")
		eventually(t, "jalon arms", func() bool { return strings.Contains(j.Errs.String(), "armed after") || ended(j) })
		if n == 0 || ended(j) {
			t.Fatalf("%s: %s", place, tail(j.Errs.String()))
		}
		from := commands(t, socket)
		eventually(t, "redis works under trace", func() bool { return commands(t, socket) > from+50 })
		j.Signal(syscall.SIGINT)
		res := j.wait()
		if sum := summaryOf(t, res); res.status != 0 || sum.Hits < 40 || sum.Outcome != "detached" {
			t.Errorf("%s: status %d, %+v: %s", place, res.status, sum, tail(res.stderr))
		}
		from = commands(t, socket)
		eventually(t, "redis works afterwards", func() bool { return commands(t, socket) > from+50 || ended(load) })
		if ended(load) || ended(r) {
			t.Fatalf("%s: the load ended: %s\nredis: %s", place, tail(load.Errs.String()), tail(r.Out.String()))
		}
		load.Kill()
		if codeBytes(t, r.Pid()) != before {
			t.Fatalf("%s: the code of redis is not as before", place)
		}
	}
	// A limited time.
	res := jalon(t, "trace", "-d", "50ms", "-f", "none", "-p", fmt.Sprint(r.Pid()), "uprobe:/usr/bin/redis-server:call")
	if res.status != 0 {
		t.Errorf("-d: status %d: %s", res.status, res.stderr)
	}
	benchmark(t, socket)
	run(t, "redis-cli", "-s", socket, "shutdown", "nosave")
	if res := r.wait(); res.status != 0 {
		t.Errorf("redis-server: status %d: %s", res.status, tail(res.stdout))
	}
}
