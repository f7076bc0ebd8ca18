package test

import (
	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Errors of the user: the message names the error, points at it and contains a remedy.
func TestErrors(t *testing.T) {
	prog := compile(t, "gcc", "threads.c", "-g", "-O2", "-pthread")
	notELF := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(notELF, []byte("#!/bin/sh\nexit 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	alien := filepath.Join(t.TempDir(), "alien")
	header, err := os.ReadFile(prog)
	if err != nil {
		t.Fatal(err)
	}
	header = append([]byte{}, header...)
	header[18] = 183 // EM_AARCH64
	if err := os.WriteFile(alien, header, 0o700); err != nil {
		t.Fatal(err)
	}
	bare := compile(t, "gcc", "threads.c", "-O2", "-pthread")
	pie := compile(t, "gcc", "threads.c", "-O2", "-pthread", "-pie", "-fPIE")
	f, err := elf.Open(pie)
	if err != nil {
		t.Fatal(err)
	}
	file := fmt.Sprintf("*%#x", f.Entry)
	f.Close()
	tests := []struct {
		name string
		args []string
		want []string // in the error output
	}{
		{"unknown variable", []string{"work if (jop->id == 3)", "--", prog}, []string{`no variable "jop"`, "^^^", `did you mean "job"`}},
		{"unknown variable in a list", []string{"work", "-c", "i, jobs", "--", prog}, []string{`"jobs"`, "^^^^", "collect:1:4"}},
		{"unknown member", []string{"work if (job->idd == 3)", "--", prog}, []string{"idd", "^^^", "id"}},
		{"optimised out", []string{"threads.c:31 if (n > 0)", "--", prog}, []string{"optimised out", "^", "hint"}},
		{"no line", []string{"threads.c:4000", "--", prog}, []string{"4000", "^", "44"}},
		{"no file", []string{"thread.c:14", "--", prog}, []string{"thread.c", "^", "threads.c"}},
		{"no function", []string{"wrok", "--", prog}, []string{`"wrok"`, "^^^^", `"work"`}},
		{"no library", []string{"uprobe:/usr/lib/nowhere.so:f", "--", prog}, []string{"/usr/lib/nowhere.so", "^"}},
		{"no debug information", []string{"threads.c:14", "--", bare}, []string{"debug information", "^"}},
		{"no debug information for a variable", []string{"work if (i == 3)", "--", bare}, []string{"debug information", "^"}},
		{"operand missing", []string{"work if (i >", "--", prog}, []string{"^"}},
		{"parenthesis missing", []string{"work if ((i > 3)", "--", prog}, []string{"^"}},
		{"call", []string{"work if (atoi(\"3\") == i)", "--", prog}, []string{"cannot be called", "^"}},
		{"assignment", []string{"work if (i = 3)", "--", prog}, []string{"^", "=="}},
		{"increment", []string{"work if (i++ > 3)", "--", prog}, []string{"^"}},
		{"bad types", []string{"work if (*job > 3)", "--", prog}, []string{"^"}},
		{"dereference of a number", []string{"work if (*i > 3)", "--", prog}, []string{"^"}},
		{"two at once", []string{"wrok", "wokr", "--", prog}, []string{"wrok", "wokr"}},
		{"no place", []string{"--", prog}, []string{"no place"}},
		{"nothing to trace", []string{"work"}, []string{"-p"}},
		{"program and process", []string{"-p", "1", "work", "--", prog}, []string{"-p"}},
		{"no such program", []string{"work", "--", "/nowhere/prog"}, []string{"/nowhere/prog", "no such file"}},
		{"not in PATH", []string{"work", "--", "no-such-program-here"}, []string{"no-such-program-here"}},
		{"not executable", []string{"work", "--", notELF}, []string{"permission denied"}},
		{"a directory", []string{"work", "--", "/tmp"}, []string{"/tmp"}},
		{"wrong architecture", []string{"work", "--", alien}, []string{"alien"}},
		{"no such process", []string{"work", "-p", "4194399"}, []string{"4194399", "no such process"}},
		{"not a place", []string{"uprobe:", "--", prog}, []string{"^"}},
		{"not an address", []string{"*0xzz", "--", prog}, []string{"^"}},
		{"address nowhere", []string{"*0x10", "--", prog}, []string{"0x10", "^"}},
		{"address in the file", []string{file, "--", pie}, []string{"^", "uprobe:" + pie + ":0x"}},
		{"no flag", []string{"--nonsense", "work", "--", prog}, []string{"nonsense"}},
		{"bad size", []string{"--buffer", "12Q", "work", "--", prog}, []string{"12Q"}},
		{"no such file", []string{"-x", "/nowhere.tp", "--", prog}, []string{"/nowhere.tp"}},
		{"output nowhere", []string{"-o", "/nowhere/out", "work", "--", prog}, []string{"/nowhere/out"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := jalon(t, append([]string{"trace"}, tt.args...)...)
			if r.status != 1 && r.status != 2 {
				t.Errorf("status %d", r.status)
			}
			if strings.Contains(r.stdout, "sum ") {
				t.Errorf("the program has run: %q", r.stdout)
			}
			for _, w := range tt.want {
				if !strings.Contains(r.stderr, w) {
					t.Errorf("%q is not in the error output:\n%s", w, r.stderr)
				}
			}
		})
	}
}

// jalon ends as the program that it started.
func TestExitStatus(t *testing.T) {
	for _, tt := range []struct {
		script string
		status int
	}{
		{"exit 0", 0},
		{"exit 1", 1},
		{"exit 77", 77},
		{"kill -TERM $$", 128 + 15},
		{"kill -SEGV $$", 128 + 11},
		{"kill -TRAP $$", 128 + 5},
		{"kill -KILL $$", 128 + 9},
		{"exec sh -c 'exit 5'", 5},
		{"exec sh -c 'kill -ABRT $$'", 128 + 6},
	} {
		r := jalon(t, "trace", "-f", "none", "uprobe:/usr/bin/bash:execute_command", "--", "/usr/bin/bash", "-c", tt.script)
		if r.status != tt.status {
			t.Errorf("%s: status %d, want %d: %s", tt.script, r.status, tt.status, tail(r.stderr))
		}
	}
}

// The shape of -f json as it is documented.
func TestJSON(t *testing.T) {
	prog := compile(t, "gcc", "threads.c", "-g", "-O2", "-pthread")
	file := filepath.Join(t.TempDir(), "out")
	r := jalon(t, "trace", "-f", "json", "-o", file, "work if (i == 5)", "-c", "i, *job, job, job->sum * 1.5, *(int *)16", "--", prog, "3", "100")
	equal(t, "output", r.stdout, threadsSum(3, 100))
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v", st.Mode())
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines: %s", len(lines), b)
	}
	var last float64
	for _, line := range lines {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		for key, kind := range map[string]string{"time": "float64", "cpu": "float64", "pid": "float64", "tid": "float64", "comm": "string", "place": "string", "function": "string", "values": "map[string]interface {}", "errors": "map[string]interface {}"} {
			if got := fmt.Sprintf("%T", m[key]); got != kind {
				t.Errorf("%q is a %s, want %s: %s", key, got, kind, line)
			}
		}
		if len(m) != 9 {
			t.Errorf("%d keys: %s", len(m), line)
		}
		if at := m["time"].(float64); at < last {
			t.Errorf("time goes back: %s", line)
		} else {
			last = at
		}
		values := m["values"].(map[string]any)
		if values["i"] != 5.0 || m["place"] != "work" || m["function"] != "work" || m["comm"] != "threads" {
			t.Errorf("%s", line)
		}
		job, ok := values["*job"].(map[string]any)
		if !ok || job["calls"] != 100.0 || job["id"] == nil || job["sum"] == nil {
			t.Errorf("*job: %s", line)
		}
		if p, ok := values["job"].(string); !ok || !strings.HasPrefix(p, "0x") {
			t.Errorf("a pointer: %v", values["job"])
		}
		if v, ok := values["job->sum * 1.5"].(float64); !ok || v != job["sum"].(float64)*1.5 {
			t.Errorf("a product: %s", line)
		}
		if msg, _ := m["errors"].(map[string]any)["*(int *)16"].(string); !strings.Contains(msg, "0x10") {
			t.Errorf("an unreadable value: %s", line)
		}
	}
}

// The same expression in several formats is several values.
func TestJSONFormats(t *testing.T) {
	prog := compile(t, "gcc", "threads.c", "-g", "-O2", "-pthread")
	r := trace(t, "work if (i == 17)", "-c", "i, i/x", "--", prog, "1", "100")
	if len(r.events) != 1 || len(r.events[0].Values) != 2 {
		t.Errorf("%+v", r.events)
	}
}

// Lines of text: time, cpu, comm:pid/tid, place, values.
func TestText(t *testing.T) {
	prog := compile(t, "gcc", "threads.c", "-g", "-O2", "-pthread")
	r := jalon(t, "trace", "work if (i == 5)", "threads.c:43", "-c", "$pc", "--", prog, "3", "100")
	line := regexp.MustCompile(`^\d\d:\d\d:\d\d\.\d{6} \[\d{3}\] threads:\d+(/\d+)? +(work|threads\.c:43) +\$pc=.*0x[0-9a-f]+`)
	n := 0
	for _, l := range strings.Split(strings.TrimSuffix(r.stdout, "\n"), "\n") {
		switch {
		case strings.HasPrefix(l, "sum "):
		case line.MatchString(l):
			n++
		default:
			t.Errorf("line %q", l)
		}
	}
	if n != 4 {
		t.Errorf("%d events:\n%s", n, r.stdout)
	}
	for _, w := range []string{"place", "hits", "recorded", "false", "faults", "lost", "work", "exited with status 0"} {
		if !strings.Contains(r.stderr, w) {
			t.Errorf("%q is not in the summary:\n%s", w, r.stderr)
		}
	}
	if q := jalon(t, "trace", "-q", "work if (i == 5)", "--", prog, "3", "100"); q.stderr != "" {
		t.Errorf("-q: %s", q.stderr)
	}
}

// Tracepoints as GDB's `save tracepoints` writes them.
func TestFile(t *testing.T) {
	need(t, "gdb")
	prog := compile(t, "gcc", "threads.c", "-g", "-O0", "-pthread")
	dir := t.TempDir()
	file, script := filepath.Join(dir, "saved.tp"), filepath.Join(dir, "make.gdb")
	err := os.WriteFile(script, []byte(`trace work if i % 10 == 3
actions
  collect i, job->id
  collect $regs
end
trace threads.c:43
actions
  collect sum
end
trace run
actions
  collect $args
end
trace work if job->id == 77
disable 4
save tracepoints `+file+"\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if g := run(t, "gdb", "-nx", "-batch", "-x", script, prog); g.status != 0 {
		t.Fatal(g.stderr)
	}
	r := trace(t, "-x", file, "--", prog, "2", "100")
	equal(t, "output", r.stdout, threadsSum(2, 100))
	count := map[string]int{}
	for i := range r.events {
		e := &r.events[i]
		count[e.Function]++
		if e.Function == "work" && (e.Num(t, "i")%10 != 3 || e.Values["job->id"] == nil) {
			t.Errorf("%+v", e)
		}
	}
	if count["work"] != 20 || count["main"] != 1 || count["run"] != 2 {
		t.Errorf("events: %v; %s", count, r.stderr)
	}
	// Errors in a file are shown with their line.
	if err := os.WriteFile(file, []byte("trace work if ii == 3\nactions\n  collect jobb\nend\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	bad := jalon(t, "trace", "-x", file, "--", prog, "2", "100")
	if bad.status != 2 || !strings.Contains(bad.stderr, file+":1:") || !strings.Contains(bad.stderr, "^^") {
		t.Errorf("status %d: %s", bad.status, bad.stderr)
	}
}

func TestList(t *testing.T) {
	prog := compile(t, "gcc", "threads.c", "-g", "-O2", "-pthread")
	x := startTarget(t, 1, "-O2")
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{prog}, []string{"work", "main", "threads.c:"}},
		{[]string{prog, "w*"}, []string{"work"}},
		{[]string{prog + "@threads.c"}, []string{"threads.c:14", "struct job * job", "long i"}},
		{[]string{"--tactics", prog, "work"}, []string{"jump"}},
		{[]string{"-p", fmt.Sprint(x.Pid())}, []string{"checked", "libc.so.6"}},
		{[]string{"-p", fmt.Sprint(x.Pid()), "w*"}, []string{"wild", "work"}},
		{[]string{"/usr/bin/bash", "execute_*"}, []string{"execute_command"}},
	} {
		r := jalon(t, append([]string{"list"}, tt.args...)...)
		if r.status != 0 {
			t.Errorf("list %v: status %d: %s", tt.args, r.status, r.stderr)
		}
		for _, w := range tt.want {
			if !strings.Contains(r.stdout, w) {
				t.Errorf("list %v: %q is not in the output:\n%s", tt.args, w, tail(r.stdout))
			}
		}
	}
	if r := jalon(t, "list", prog, "w*"); strings.Contains(r.stdout, "main") {
		t.Errorf("list w*: %s", r.stdout)
	}
	for _, args := range [][]string{{"list"}, {"list", "/nowhere"}, {"list", "/tmp"}, {"list", "/etc/passwd"}, {"list", "-p", "4194399"}} {
		if r := jalon(t, args...); r.status == 0 || r.stderr == "" {
			t.Errorf("%v: status %d, %q", args, r.status, r.stderr)
		}
	}
	x.finish("listed")
}

func TestCheckVersionHelp(t *testing.T) {
	for _, tt := range []struct{ arg, want string }{
		{"check", "ptrace"}, {"version", "jalon"}, {"--help", "trace"}, {"", "trace"},
	} {
		args := []string{tt.arg}
		if tt.arg == "" {
			args = nil
		}
		r := jalon(t, args...)
		if r.status != 0 || !strings.Contains(r.stdout, tt.want) {
			t.Errorf("jalon %s: status %d\n%s%s", tt.arg, r.status, r.stdout, r.stderr)
		}
	}
}

// SIGTERM and SIGHUP end jalon as Ctrl-C does.
func TestSignalsEndJalon(t *testing.T) {
	x := startTarget(t, 2, "-O2")
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if signal.Ignored(sig) { // nohup make test: jalon ignores it as well
			continue
		}
		j := start(t, jalonArgs("trace", "-v", "-f", "none", "-p", fmt.Sprint(x.Pid()), "leaf", "text")...)
		eventually(t, "jalon arms", func() bool { return strings.Contains(j.Errs.String(), "armed after") || ended(j) })
		j.Signal(sig)
		if r := j.wait(); r.status != 0 || !strings.Contains(r.stderr, "detached") {
			t.Errorf("%v: status %d: %s", sig, r.status, r.stderr)
		}
		x.goesOn(sig.String())
	}
	x.finish("at the end")
}

// TestSignalTwice: timeout(1) sends its signal to jalon and then to jalon's process group. Both together end the tracing,
// with all that is printed at the end.
func TestSignalTwice(t *testing.T) {
	x := startTarget(t, 2, "-O2")
	pid := fmt.Sprint(x.Pid())
	for _, tt := range []struct {
		args        []string
		armed, last string
	}{
		{[]string{"trace", "-f", "none", "leaf", "text", "-p", pid}, "armed", "detached"},
		{[]string{"record", "-o", filepath.Join(t.TempDir(), "run"), "leaf", "-p", pid}, "armed", "detached"},
		{[]string{"run", "-e", "uprobe:" + x.Cmd.Path + ":leaf { @ = count(); } BEGIN { printf(\"armed\\n\") } END { printf(\"detached\\n\") }", "-p", pid}, "armed", "detached"},
	} {
		j := start(t, append([]string{jalonBin}, tt.args...)...)
		text := func() string { return j.Errs.String() + j.Out.String() }
		eventually(t, "jalon arms", func() bool { return strings.Contains(text(), tt.armed) || ended(j) })
		for range 50 { // more than two, because the second may come before the first is seen, and is then the same one
			_ = j.Cmd.Process.Signal(syscall.SIGTERM) // it may have ended
			time.Sleep(time.Millisecond)              // only spreads them
		}
		if r := j.wait(); r.status != 0 || !strings.Contains(r.stdout+r.stderr, tt.last) {
			t.Errorf("%s: status %d: %s%s", tt.args[0], r.status, r.stdout, r.stderr)
		}
		x.goesOn(tt.args[0])
	}
	x.finish("at the end")
}

// A reader that has seen enough (jalon | head) ends jalon quietly; the program runs on.
func TestClosedPipe(t *testing.T) {
	prog := compile(t, "gcc", "threads.c", "-g", "-O2", "-pthread")
	r := run(t, "bash", "-c", fmt.Sprintf("%s trace work -c i -- %s 2 200000 | head -5; exit ${PIPESTATUS[0]}", jalonBin, prog))
	if n := strings.Count(r.stdout, "\n"); n != 5 {
		t.Errorf("%d lines", n)
	}
	if strings.Contains(strings.ToLower(r.stderr), "broken pipe") {
		t.Errorf("error output: %s", r.stderr)
	}
}

// TestFlagNumbers: sizes, times and numbers that mean nothing are errors, with the name of their flag and its limits.
func TestFlagNumbers(t *testing.T) {
	prog := compile(t, "gcc", "threads.c", "-g", "-O2", "-pthread")
	for args, want := range map[string]string{
		"--flight 0":    `--flight: "0" is not a size between 1 and 256M`,
		"--flight 257M": `--flight: "257M" is not a size between 1 and 256M`,
		"--flight 4K --on-full overwrite --duration=-1s": "--duration -1s: it must be more than 0",
		"--buffer 257M --on-full overwrite":              `--buffer: "257M" is not a size between 1 and 256M`,
		"--buffer 2G":                                    `--buffer: "2G" is not a size between 1 and 1G`,
		"--size 0":                                       `--size: "0" is not a size between 1 and 1T`,
		"--rotate=-5s":                                   "--rotate -5s: it must be more than 0",
		"--size 1M --keep=-1":                            "--keep -1: it must be more than 0",
		"--strlen 0":                                     "--strlen 0: it must be more than 0",
		"--elements=-3":                                  "--elements -3: it must be more than 0",
		"--stack copy:x":                                 `--stack: "x" is not a size`,
		"--on-full wait:2h":                              "--on-full wait:2h: hits may wait for room for 50ms to 1h0m0s",
	} {
		dir := filepath.Join(t.TempDir(), "run")
		r := jalon(t, append(append([]string{"record", "-o", dir}, strings.Fields(args)...), "work", "--", prog)...)
		if r.status != 2 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: status %d, not %q: %s", args, r.status, want, r.stderr)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: %s was made", args, dir)
		}
	}
}
