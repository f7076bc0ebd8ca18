package gdb

import (
	"fmt"
	"strings"
	"testing"
)

// killOutside kills the stopped program from outside and waits until it has ended.
const killOutside = `python
import os, signal, time
def state(pid):
    try: return open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()[0]
    except OSError: return "gone"
outside = gdb.selected_inferior().pid
os.kill(outside, signal.SIGKILL)
while state(outside) not in ("Z", "X", "gone"): time.sleep(0.01)
end
echo it is dead\n
`

// TestKilledOutside: a stopped program that is killed from outside is shown in its stop state until it is
// resumed; then its end is reported to GDB, as gdbserver does.
func TestKilledOutside(t *testing.T) {
	prog := compile(t, "gcc", "work.c", "-g", "-O0", "-pthread")
	const over = "Program terminated with signal SIGKILL, Killed\\.\nThe program no longer exists\\."
	for _, c := range []struct {
		name, commands string
		want           []string
	}{
		{"continue", "continue\n", []string{over}},
		{"stepi", "stepi\n", []string{over}},
		{"next", "next\n", []string{over}},
		{"detach", "detach\ninfo threads\n", []string{"No threads"}},
		{"kill", "kill\ninfo threads\n", []string{"No threads"}},
		{"info threads", "info threads\ncontinue\n", []string{`\* \d+ +Thread .*work \(n=`, over}},
		{"registers", "maint flush register-cache\ninfo threads\ninfo registers rip\nbt 1\ncontinue\n", []string{`\* \d+ +Thread .*work \(`, `rip +0x[0-9a-f]+ +0x[0-9a-f]+ <work\+`, `#0 .*work \(`, over}},
		{"memory", "try print total\nx/x $rip\ncontinue\n", []string{`(?:error: Cannot access memory at address|\$1 = )`, over}},
		{"call", "try print half(16)\ncontinue\n", []string{"error: ", over}},
		{"traced", "tstatus\ntstop\ntfind start\nprint n\ntfind none\ncontinue\n", []string{"Collected 1 trace frame", `= \d+`, over}},
		{"run again", "continue\n", []string{over}},
	} {
		for _, threads := range []string{"0", "3"} {
			t.Run(c.name+" with "+threads+" threads", func(t *testing.T) {
				t.Parallel()
				script := "break work if n == 4\n"
				if c.name == "traced" {
					script += "trace work if n == 2\nactions\ncollect n\nend\npasscount 1\ntstart\n"
				}
				commands := c.commands
				if c.name == "traced" {
					commands = strings.Replace(commands, "tstop", "try tstop", 1)
				}
				commands = strings.ReplaceAll(commands, "x/x", "try x/x")
				s := talk(t, conversation{args: []string{prog, "20", threads}, quiet: true, script: script + "continue\n" + killOutside + commands + "echo the end\\n\n"})
				s.inOrder(append(append([]string{"it is dead"}, c.want...), "the end")...)
				s.not("internal-error", "Assertion", "BUG:", "Cannot insert breakpoint")
				if s.server.Status != 0 {
					t.Errorf("the server ends with status %d", s.server.Status)
				}
			})
		}
	}
	// The server of several programs stays, and starts the next one for the next GDB.
	server, place := serve(t, "--multi")
	for range 2 {
		s := talk(t, conversation{server: server, place: place, extended: true, file: prog, quiet: true, script: fmt.Sprintf(`set remote exec-file %s
break work
run
%scontinue
echo the end\n
`, prog, killOutside)})
		s.inOrder(`Breakpoint 1, .*work \(`, "it is dead", over, "the end")
		s.not("internal-error", "BUG:")
	}
	server.Kill()
}
