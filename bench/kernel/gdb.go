package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// gdbRun is GDB in front of `jalon gdbserver --kernel`, with a static tracepoint.
type gdbRun struct {
	*command
	end    string // GDB ends the trace when this file exists
	output string // what GDB prints at the end
}

// gdbEnv fills new memory with zeros. GDB 13 writes to a member of its static tracepoints before the member
// is constructed, and crashes or not depending on the contents of the memory.
var gdbEnv = []string{"GLIBC_TUNABLES=glibc.malloc.perturb=255:glibc.malloc.tcache_count=0"}

// startGDB sets the tracepoint and starts the trace. GDB's circular buffer takes every frame.
func (b *bench) startGDB(p *place, w what) (tracing, error) {
	path, err := exec.LookPath("gdb")
	if err != nil {
		return nil, errors.New("not installed")
	}
	r := &gdbRun{end: filepath.Join(b.dir, "end"), output: filepath.Join(b.dir, "gdb.out")}
	for _, f := range []string{r.end, r.output} {
		if err := os.Remove(f); err != nil && !os.IsNotExist(err) {
			return nil, err
		}
	}
	cond := [...]string{falseCond: "condition 1 " + p.gno, data: "", both: "condition 1 " + p.gyes}[w]
	script := filepath.Join(b.dir, "gdb.script")
	text := fmt.Sprintf(`set pagination off
set confirm off
set width 0
set remotetimeout 60
target remote | %s gdbserver --kernel -
strace -m %s
%s
actions
collect %s
end
set circular-trace-buffer on
set trace-buffer-size 67108864
tstart
shell while ! test -e %s; do sleep 0.05; done
tstop
set logging file %s
set logging enabled on
tstatus
info tracepoints
`, b.jalon, p.gdb, cond, p.gvalues, r.end, r.output)
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		return nil, err
	}
	if r.command, err = launch(gdbEnv, path, "-nx", "-batch", "-x", script); err != nil {
		return nil, err
	}
	return r, r.await(func(pid int) bool { return anyChild(pid, hasProgram(siteProgram)) })
}

// anyChild reports whether is holds for a process or one that it started.
func anyChild(pid int, is func(pid int) bool) bool {
	if is(pid) {
		return true
	}
	list, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", pid))
	if err != nil {
		return false
	}
	for _, f := range regexp.MustCompile(`\d+`).FindAllString(string(list), -1) {
		if child, err := strconv.Atoi(f); err == nil && anyChild(child, is) {
			return true
		}
	}
	return false
}

var framesText = regexp.MustCompile(`Collected (\d+) trace frames|of (\d+) created total`)

func (r *gdbRun) stop() (seen, error) {
	if err := os.WriteFile(r.end, nil, 0o600); err != nil {
		return seen{}, err
	}
	if !r.ends(patience) {
		r.kill()
		return seen{}, errors.New("GDB did not end")
	}
	if r.err != nil {
		return seen{}, fmt.Errorf("gdb: %w: %s", r.err, tail(r.stderr.String()))
	}
	out, err := os.ReadFile(r.output)
	if err != nil {
		return seen{}, err
	}
	s := seen{hits: -1}
	if m := framesText.FindSubmatch(out); m != nil {
		s.recorded, _ = strconv.ParseInt(string(m[1])+string(m[2]), 10, 64)
	}
	return s, nil
}
