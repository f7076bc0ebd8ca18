package gdb

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// realProgram is a program of Debian with something to do.
type realProgram struct {
	name  string
	args  []string
	input string
	file  string   // that has the functions, "": the program
	fns   []string // whose calls are counted
}

// realPrograms are run with the same input each time and do the same.
func realPrograms(t *testing.T) []realProgram {
	file := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	sql := file("script.sql", `create table t(a integer primary key, b text, c int);
with recursive n(x) as (select 1 union all select x + 1 from n where x < 400) insert into t select x, 'row ' || (x * 7919 % 3001), x % 17 from n;
select c, count(*), sum(a), max(b) from t group by c order by 1;
update t set b = upper(b) where a % 10 = 3; select count(*), total(length(b)) from t; pragma integrity_check;
`)
	list := []realProgram{
		{"sqlite3", []string{"/usr/bin/sqlite3", ":memory:", ".read " + sql}, "", "", []string{"sqlite3_step", "sqlite3_column_text"}},
		{"lua", []string{"/usr/bin/lua5.4", file("s.lua", `local t = {} for i = 1, 200 do t[#t + 1] = string.format("%05d", i * 7919 % 3001) end
table.sort(t) print(t[1], t[#t], pcall(error, "an error"), #t, select("#", table.unpack(t, 1, 50)))
`)}, "", "", []string{"lua_callk", "luaL_checkinteger"}},
		{"python3", []string{"/usr/bin/python3", "-SEI", file("s.py", `
for i in range(300): repr([i, str(i)])
try: {}["x"]
except KeyError as e: print("KeyError", e)
`)}, "", "", []string{"PyObject_Repr", "PyErr_SetObject"}},
		{"bash", []string{"/usr/bin/bash", "--norc", file("s.sh", `f() { local i; for ((i = 0; i < $1; i++)); do x=$((x + i)); done; echo $x; }
x=0; f 200; for w in a b c; do y="$y$(echo $w)"; done; echo $y; case abc in a*) echo match;; esac
`)}, "", "", []string{"evalexp", "dispose_words"}},
	}
	return list
}

var alreadyHit = regexp.MustCompile(`already hit (\d+) time`)

// Functions of real programs by their addresses: as many hits as GDB's own
// breakpoints count, with a condition that splits them, and the same output.
func TestRealPrograms(t *testing.T) {
	need(t, "sqlite3", "lua5.4", "bash", "/usr/bin/python3")
	for _, p := range realPrograms(t) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			untraced, err := exec.Command(p.args[0], p.args[1:]...).Output()
			if err != nil {
				t.Fatal(err)
			}
			// `exec` of a wrapper keeps arguments with spaces whole.
			var counts, traces strings.Builder
			counts.WriteString("set breakpoint pending on\n")
			for _, fn := range p.fns {
				fmt.Fprintf(&counts, "break *%s\nignore $bpnum 100000000\n", fn)
				fmt.Fprintf(&traces, "trace *%s\nactions\ncollect $rdi\nend\ntrace *%s if $rdi %% 32 == 16\ntrace *%s if $rdi %% 32 != 16\n", fn, fn, fn)
			}
			start := "tbreak main\ncontinue\n"
			if _, err := exec.Command("sh", "-c", "nm -D "+p.args[0]+" 2>/dev/null | grep -qw main").Output(); err != nil {
				start = "set breakpoint pending on\ntbreak __libc_start_main\ncontinue\n"
			}
			first := talk(t, conversation{args: p.args, extended: true, file: p.args[0], script: start + counts.String() + "continue\ninfo breakpoints\nmonitor exit\n"})
			second := talk(t, conversation{args: p.args, extended: true, file: p.args[0], script: start + "set trace-buffer-size 30000000\n" + traces.String() +
				"set breakpoint pending on\nbreak _exit\ntstart\ncontinue\ntstop\ntstatus\ninfo tracepoints\ndelete\ncontinue\nmonitor exit\n"})
			for _, s := range []*said{first, second} {
				if !strings.HasPrefix(s.prog, string(untraced)) {
					t.Errorf("the program writes %q, without GDB %q", tail(s.prog), tail(string(untraced)))
				}
			}
			number := func(text, what string) (n int) {
				_, rest, ok := strings.Cut(text, what)
				m := alreadyHit.FindStringSubmatch(rest)
				if ok && m != nil {
					_, _ = fmt.Sscan(m[1], &n)
				}
				return n
			}
			_, breaks, ok := strings.Cut(first.text, "+info breakpoints\n")
			if !ok {
				t.Fatal("GDB lists no breakpoints")
			}
			_, tracepoints, _ := strings.Cut(second.text, "+info tracepoints\n")
			hits := regexp.MustCompile(`(?m)^(\d+) +tracepoint.*\n(?:\t.*\n)*?(?:\ttracepoint already hit (\d+) time|\s+(?:not )?installed)`).FindAllStringSubmatch(tracepoints, -1)
			if len(hits) != 3*len(p.fns) {
				t.Fatalf("GDB lists %d tracepoints", len(hits))
			}
			lines := regexp.MustCompile(`(?m)^\d+ +breakpoint.*\n`).Split(breaks, -1)[1:]
			if len(lines) != len(p.fns) {
				t.Fatalf("GDB lists %d breakpoints", len(lines))
			}
			for i, fn := range p.fns {
				want := number("x"+lines[i], "x")
				var got [3]int
				for k := range got {
					_, _ = fmt.Sscan(hits[3*i+k][2], &got[k])
				}
				if want == 0 || got[0] != want || got[1]+got[2] != want {
					t.Errorf("%s: %d calls by breakpoints; tracepoints were hit %d times, %d + %d with conditions", fn, want, got[0], got[1], got[2])
				}
			}
		})
	}
}
