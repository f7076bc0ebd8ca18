package experiment

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// gdb runs commands in GDB and gives what it says.
func gdb(t *testing.T, bin string, commands string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "gdb", "-l", "60", "-q", "-nx", bin)
	cmd.Stdin = strings.NewReader("set pagination off\nset width 0\nset confirm off\nset debuginfod enabled off\nset sysroot\n" + commands + "\nkill\nquit\n")
	// For strace, GDB 13 assigns to a std::string whose constructor has not run yet
	// (static_trace_marker_id, from the constructor of its base class), and dies
	// unless the heap happens to be zero there. So the heap is zero.
	cmd.Env = append(os.Environ(), "GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.perturb=255")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("gdb: %v\n%s", err, out)
	}
	return string(out)
}

// newSimulated makes a stub whose program has been in work and mark a few times.
func newSimulated(t *testing.T) (s *stub, sim *simulated, bin string) {
	bin, symbols, live := compile(t, t.TempDir())
	sim = &simulated{fake: newFake()}
	b := newBench(t)
	x := New(sim, b.opt)
	const stack = 0x7ffff000
	for i := range uint64(4) {
		mem := ram{
			symbols["total"]: binary.LittleEndian.AppendUint32(nil, uint32(10*i+1)),
			symbols["text"]:  []byte("some text\x00______"),
			stack:            make([]byte, 64),
		}
		sim.states = append(sim.states,
			state{addr: symbols["work"], regs: map[int]uint64{0: 0xaaa0 + i, 5: i, 4: 7, 7: stack}, memory: mem},
			state{addr: symbols["mark"], regs: map[int]uint64{7: stack}, memory: mem, static: "k=" + string(rune('0'+i))})
	}
	sim.markers = []Marker{{Addr: symbols["mark"], ID: "work:mark", Extra: "k=%d"}}
	return &stub{x: x, target: b.opt.Target, pc: symbols["main"], memory: live}, sim, bin
}

// define is the experiment that the tests with GDB make.
const define = `
tvariable $v = 3
trace *work if i > 0
actions
collect i, j, total, text
collect $v, $trace_timestamp
teval $v = $v + i
while-stepping 2
collect total
end
end
strace -m work:mark
actions
collect $_sdata, $rsp
end
ftrace *work
actions
collect $regs
end
disable 3
`

// TestGDB: GDB defines, runs, looks at frames, saves them in both ways, leaves, and
// comes back.
func TestGDB(t *testing.T) {
	s, sim, bin := newSimulated(t)
	l, err := rsp.Listen(":0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan bool)
	go func() { s.serve(l); close(done) }()
	dir := t.TempDir()
	local, remote := filepath.Join(dir, "local.tf"), filepath.Join(dir, "remote.tf")
	out := gdb(t, bin, "target remote "+l.Addr()+"\ninfo static-tracepoint-markers"+define+`
set trace-user me
set trace-notes a note
set circular-trace-buffer on
set trace-buffer-size 100000
tstart
tstatus
tstop enough
tstatus
info tracepoints
tfind tracepoint 1
tdump
print $rax
print i
print total
print text
print main
tfind
print (long) $pc - (long) work
print total
print i
tfind tracepoint 2
print $_sdata
print $rsp
print $rbp
tfind pc *work
tfind outside *work, *work
tfind none
info tvariables
tsave `+local+`
tsave -r `+remote+`
set disconnected-tracing on
disconnect
`)
	expect(t, out,
		"work:mark", `"k=%d"`,
		"Trace is running on the target.", "Trace buffer is circular.",
		"Trace stopped by a tstop command (enough).", "Collected 13 trace frames.",
		"Trace user is me.", "Trace notes: a note.", " of 100000 bytes free",
		"already hit 3 times", "already hit 4 times", "trace buffer usage",
		"Found trace frame 1, tracepoint 1",
		"Data collected at tracepoint 1, trace frame 1:", "i = 1\n", "j = 7\n", "total = 11\n", `text = "some text\000______"`, "$v = 3\n", "$trace_timestamp = 4000000\n",
		"$1 = <unavailable>", "$2 = 1", "$3 = 11", `$4 = "some text\000______"`, "$5 = <unavailable>",
		"Found trace frame 2, tracepoint 1", "$6 = 1", "$7 = 11", "$8 = <unavailable>",
		"Found trace frame 4, tracepoint 2", `$9 = "k=1"`, "$10 = (void *) 0x7ffff000", "$11 = <unavailable>",
		"Found trace frame 5, tracepoint 1", "Found trace frame 6, tracepoint 1",
		"$v              3           9",
		"Trace data saved to file '"+local+"'", "Trace data saved to file '"+remote+"'",
	)
	back := gdb(t, bin, "target remote "+l.Addr()+"\ntstatus\ninfo tracepoints\ntfind 12\nprint $_sdata\ndisconnect\n")
	expect(t, back, "Trace stopped by a tstop command (enough).", "collect i, j, total, text", "teval $v = $v + i", "while-stepping 2", "if i > 0",
		"Static tracepoint 2 at", "keep n", "Created tracepoint 3 for target's tracepoint 1", `$1 = "k=3"`)
	l.Close()
	<-done
	if len(s.errors) > 0 {
		t.Errorf("errors: %v", s.errors)
	}
	if got := strings.Join(sim.calls, ", "); got != "start 1 true, start 2 true, start 3 false, stop" {
		t.Errorf("the calls of the engine: %s", got)
	}
	checkFiles(t, bin, local, remote)
	if t.Failed() {
		t.Logf("GDB said:\n%s\n%s", out, back)
	}
}

func expect(t *testing.T, out string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		at := strings.Index(out, want)
		if at < 0 {
			t.Errorf("no %q", want)
		}
	}
}

// checkFiles compares the files that GDB (through qTBuffer) and we have written, and
// what GDB says about them.
func checkFiles(t *testing.T, bin, local, remote string) {
	t.Helper()
	var frames [2][]byte
	var said [2]string
	for i, name := range []string{local, remote} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, list, err := rsp.ParseTraceFile(data); err != nil || len(list) != 13 {
			t.Errorf("%s: %d frames, %v", name, len(list), err)
		}
		_, frames[i], _ = bytes.Cut(data, []byte("\n\n"))
		out := gdb(t, bin, "target tfile "+name+`
tstatus
info tracepoints
info tvariables
tfind tracepoint 1
tdump
print $v
print $rip
tfind
tfind tracepoint 2
tdump
print $rbp
tfind 12
print $pc
`)
		said[i] = strings.ReplaceAll(out, name, "FILE")
	}
	if !bytes.Equal(frames[0], frames[1]) {
		t.Errorf("the frames of the files differ:\n%x\n%x", frames[0], frames[1])
	}
	if said[0] != said[1] {
		t.Errorf("GDB's file:\n%s\nours:\n%s", said[0], said[1])
	}
	expect(t, said[1], "Trace stopped by a tstop command (enough).", "Collected 13 trace frames.", "i = 1\n", "j = 7\n", "total = 11\n", "$1 = 3",
		"<work>", "already hit 3 times", "collect i, j, total, text", "(void *) 0x7ffff000", "$3 = (void *) 0x0", "<mark>")
	if info, err := os.Stat(remote); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, mode %v", err, info.Mode())
	}
}
