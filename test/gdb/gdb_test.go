package gdb

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// conversation is a run of GDB with a script.
type conversation struct {
	args   []string // of jalon gdbserver, after the place to listen on
	script string
	// file is the file from which GDB reads symbols; "": the program of args.
	file string
	// pipe: GDB starts the server itself and uses its standard input.
	pipe bool
	// extended: GDB comes as `target extended-remote`.
	extended bool
	// typed: the commands come as a user types them (GDB prints more then, and an
	// error does not end the script).
	typed bool
	// quiet: the output does not contain the commands.
	quiet bool
	// server is one that runs already, at place; nil: one is started.
	server *running
	place  string
	// before are commands from before the connection.
	before string
	// while is called while GDB runs; gdb is GDB's process.
	while  func(gdb, server *running)
	killed bool // by while
	alone  bool // without a server
	// env has more of the environment of GDB.
	env []string
}

// said is its output.
type said struct {
	t      testing.TB
	text   string // of GDB
	server *running
	prog   string // the program's output, when it is not GDB that started the server
}

// prelude makes GDB's text the same everywhere, and adds two commands: `try`, of
// which an error does not end the script, and `until-stopped`, which waits for the end
// of a trace run.
const prelude = `set pagination off
set confirm off
set width 0
set debuginfod enabled off
set sysroot /
set print thread-events off
set print inferior-events off
set startup-with-shell off
set tcp connect-timeout 30
python
import gdb
class Try(gdb.Command):
    def __init__(self): super(Try, self).__init__("try", gdb.COMMAND_USER)
    def invoke(self, arg, tty):
        try: gdb.execute(arg)
        except gdb.error as e: print("error:", e)
class UntilStopped(gdb.Command):
    def __init__(self): super(UntilStopped, self).__init__("until-stopped", gdb.COMMAND_USER)
    def invoke(self, arg, tty):
        while "Trace is running" in gdb.execute("tstatus", to_string=True): pass
Try()
UntilStopped()
end
`

var sockets atomic.Int32

// newPlace is a place for a server to listen on.
func newPlace() string { return fmt.Sprintf("%s/s%d", tempDir, sockets.Add(1)) }

// serve starts jalon gdbserver at a unix socket and waits until it listens.
func serve(t testing.TB, args ...string) (server *running, place string) {
	t.Helper()
	place = newPlace()
	var flags []string
	for len(args) > 0 && strings.HasPrefix(args[0], "--") && args[0] != "--attach" {
		flags, args = append(flags, args[0]), args[1:]
	}
	server = start(t, append(append([]string{jalonBin, "gdbserver"}, flags...), append([]string{"unix:" + place}, args...)...)...)
	eventually(t, "the server listens", func() bool {
		select {
		case <-server.Ended:
			t.Fatalf("the server ends: %s", server.Errs.String())
		default:
		}
		return strings.Contains(server.Errs.String(), "Listening on")
	})
	return server, place
}

// talk has the conversation.
func talk(t testing.TB, c conversation) *said {
	t.Helper()
	need(t, "gdb")
	s := &said{t: t, server: c.server}
	kind := "target remote "
	if c.extended {
		kind = "target extended-remote "
	}
	target := kind + c.place
	switch {
	case c.alone:
		target = "echo"
	case c.pipe:
		target = kind + "| " + jalonBin + " gdbserver - " + strings.Join(c.args, " ")
	case c.server == nil:
		s.server, c.place = serve(t, c.args...)
		target = kind + c.place
	}
	if c.file == "" {
		for _, a := range c.args {
			if strings.HasPrefix(a, "/") {
				c.file = a
				break
			}
		}
	}
	script := prelude + c.before
	if c.file != "" {
		script += "file " + c.file + "\n"
	}
	if !c.quiet {
		script += "set trace-commands on\n"
	}
	script += target + "\n" + c.script
	file := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("gdb", "-l", "60", "-nx", "-q", "-batch", "-x", file)
	if c.typed {
		cmd = exec.Command("gdb", "-l", "60", "-nx", "-q")
		cmd.Stdin = strings.NewReader(script)
	}
	cmd.Env = append(append(os.Environ(), "LC_ALL=C", "HOME="+t.TempDir()), c.env...)
	var out testkit.Output
	cmd.Stdout, cmd.Stderr = &out, &out
	g := startCmd(t, cmd)
	if c.while != nil {
		c.while(g, s.server)
	}
	g.Wait()
	s.text = out.String()
	if g.Status != 0 && !c.killed {
		t.Errorf("gdb ends with status %d", g.Status)
	}
	if s.server != nil {
		if c.server == nil {
			if c.extended { // it may go on, and wait for the next GDB
				s.server.Kill()
			} else {
				s.server.Wait()
			}
		}
		s.prog = s.server.Out.String()
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("GDB:\n%s", tail(s.text))
			if s.server != nil {
				t.Logf("server:\n%s\n%s", tail(s.server.Errs.String()), tail(s.server.Out.String()))
			}
		}
	})
	return s
}

// inOrder looks for patterns in GDB's output, each after the one before.
func (s *said) inOrder(want ...string) {
	s.t.Helper()
	testkit.InOrder(s.t, s.text, want...)
}

// not lists text that must not be printed.
func (s *said) not(patterns ...string) {
	s.t.Helper()
	for _, w := range patterns {
		if m := regexp.MustCompile(`(?m)` + w).FindString(s.text); m != "" {
			s.t.Errorf("GDB prints %q", m)
		}
	}
}

// unstable matches the parts that differ between runs.
var unstable = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`0x[0-9a-f]{7,16}`), "ADDR"},
	{regexp.MustCompile(`[Pp]rocess \d+`), "process PID"},
	{regexp.MustCompile(`Thread \d+\.\d+`), "Thread PID.TID"},
	{regexp.MustCompile(`LWP \d+`), "LWP TID"},
	{regexp.MustCompile(`\d+\.\d+ secs`), "TIME secs"},
	{regexp.MustCompile(`has \d+ bytes of \d+ bytes free \(\d+%`), "has N bytes of M bytes free (P%"},
	{regexp.MustCompile(`\d+ of \d+ bytes used`), "N of M bytes used"},
	{regexp.MustCompile(`thread \d+, CPU \d+, \d+\.\d+ s since`), "thread TID, CPU N, TIME s since"},
	{regexp.MustCompile(`\d{16}`), "MICROSECONDS"},
	{regexp.MustCompile(`/\S*/(\w+\.(c|cc|go))\b`), "$1"},
	{regexp.MustCompile(`trace buffer usage \d+ bytes`), "trace buffer usage N bytes"},
}

// stable returns GDB's output without the parts that differ between runs.
func (s *said) stable() string {
	text := s.text
	if _, rest, ok := strings.Cut(text, "+target "); ok {
		text = rest
	}
	if at := strings.Index(text, "\n(gdb) "); at >= 0 { // before it are the connection's own words
		text = text[at+1:]
	}
	text = strings.ReplaceAll(text, tempDir, "TMP")
	for _, u := range unstable {
		text = u.pattern.ReplaceAllString(text, u.with)
	}
	return text
}

// golden compares GDB's output with testdata/NAME.golden.
func (s *said) golden(name string) {
	s.t.Helper()
	path := filepath.Join("testdata", name+".golden")
	got := s.stable()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			s.t.Fatal(err)
		}
		return
	}
	b, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	have, want := strings.Split(got, "\n"), strings.Split(string(b), "\n")
	for i := range max(len(have), len(want)) {
		if i == len(have) || i == len(want) || have[i] != want[i] {
			s.t.Errorf("%s:%d differs\n got: %q\nwant: %q", path, i+1, at(have, i), at(want, i))
			return
		}
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(the end)"
}

// interrupt sends GDB the signal of Ctrl-C.
func interrupt(gdb *running) { _ = syscall.Kill(gdb.Pid(), syscall.SIGINT) }
