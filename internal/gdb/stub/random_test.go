package stub

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
	"github.com/jalon-trace/jalon/test/testkit"
)

// chaos is a GDB that says anything at any time to a target to which anything
// happens, and what must be true all the same.
type chaos struct {
	r         *rand.Rand
	f         *fake
	e         *fakeExperiment
	m         *Machine
	trace     []string
	connected bool
	over      bool
	unpaid    int // requests without their reply
	failure   string
	counts    map[string]int
}

func newChaos(seed uint64) *chaos {
	c := &chaos{r: rand.New(rand.NewPCG(seed, 4)), f: newFake(Caps{Multi: seed%3 != 0, Objects: []string{"auxv"}, Writable: []string{"siginfo"}}), counts: map[string]int{}}
	pid := c.f.start(1 + c.r.IntN(4))
	c.e = &fakeExperiment{size: c.f.desc.Size, frame: -1}
	c.m = New(c.f, c.e, Config{
		PacketSize: 0x400, Multi: c.f.caps.Multi, Launch: LaunchOptions{Args: []string{"/bin/first"}},
		First: []Stop{{Kind: StopHalted, Thread: ThreadID{pid, pid}}},
	})
	c.f.lossOK = func() bool { return c.m.reporter.forward }
	c.f.void = func(id ThreadID) bool { return c.m.roster.threads[id].why.Kind == StopHalted }
	c.handle(Event{Kind: EventOpened}, "(new)")
	if seed%2 == 1 {
		c.packet(gdbFeatures)
		c.packet("QNonStop:1")
		c.packet("?")
	}
	return c
}

func (c *chaos) fail(format string, args ...any) {
	if c.failure == "" {
		c.failure = fmt.Sprintf(format, args...)
	}
}

// handle gives an event to the Machine and checks what comes out.
func (c *chaos) handle(ev Event, what string) {
	c.trace = append(c.trace, what)
	if ev.Kind == EventOpened {
		c.connected, c.unpaid = true, 0
		delete(c.counts, "?")
	}
	c.f.endTold = nil
	for _, o := range c.m.Handle(ev) {
		switch o.Kind {
		case OutReply:
			c.trace = append(c.trace, fmt.Sprintf("    -> %.60q", o.Payload))
			c.replied(ev, o.Payload)
		case OutNotify:
			c.trace = append(c.trace, fmt.Sprintf("    -> %%%.60q", o.Payload))
			c.counts["notification"]++
			if !c.m.nonStop {
				c.fail("a notification in all-stop mode")
			}
			c.f.heard(c.m, []byte(strings.TrimPrefix(string(o.Payload), "Stop:")))
		case OutExit:
			c.trace = append(c.trace, "    exit")
			c.over = true
		}
	}
	if c.m.reporter.forward {
		c.f.gone = nil // there is no client
	}
	if ev.Kind == EventClosed {
		c.connected, c.unpaid = false, 0
	}
	c.check()
}

// replied counts a reply; what `monitor` prints before it is none.
func (c *chaos) replied(ev Event, payload []byte) {
	if strings.HasPrefix(string(ev.Payload), "qRcmd,") && len(payload) > 2 && payload[0] == 'O' {
		return
	}
	if size := rsp.EscapedSize(payload); size > 2*c.f.desc.Size && size > 0x400 {
		c.fail("a reply of %d bytes", size)
	}
	c.unpaid--
	if letGo := strings.HasPrefix(string(ev.Payload), "D") || strings.HasPrefix(string(ev.Payload), "vKill"); letGo && string(payload) == "OK" {
		for _, pid := range c.f.endTold { // it had ended already, and GDB need not know
			c.f.toldEnd(&pid)
		}
	}
	if string(ev.Payload) == "?" && !c.m.nonStop && len(payload) > 0 && strings.IndexByte("WX", payload[0]) >= 0 {
		c.f.gone = nil // no process is left: a new GDB gets the end of one
	}
	if isStop(payload) {
		c.counts["stop"]++
		c.f.heard(c.m, payload)
	}
}

func isStop(payload []byte) bool {
	return len(payload) > 2 && strings.IndexByte("TWXw", payload[0]) >= 0
}

// check compares what is with what must be.
func (c *chaos) check() {
	if len(c.f.complaints) > 0 {
		c.fail("the target was asked wrongly: %s", c.f.complaints[0])
	}
	if c.over || !c.connected {
		return
	}
	owed := 0
	if c.m.reporter.owed {
		owed = 1
	}
	if c.unpaid != owed {
		c.fail("%d requests have no reply, %d are owed", c.unpaid, owed)
	}
	if c.m.nonStop || c.m.reporter.owed || c.m.reporter.forward || !c.counted("?") {
		return
	}
	for _, t := range c.f.threads {
		if t.running {
			c.fail("thread %v runs, and GDB does not know", t.id)
		}
	}
}

// counted reports whether GDB has asked for the state of the threads; before, they may run.
func (c *chaos) counted(packet string) bool { return c.counts[packet] > 0 }

// packet sends one.
func (c *chaos) packet(p string) {
	silent := strings.HasPrefix(p, "k") || strings.HasPrefix(p, "R") && c.m.extended && c.f.caps.Multi && validRestart(p)
	c.unpaid++
	if silent {
		c.unpaid--
	}
	c.counts[strings.SplitN(p, ":", 2)[0]]++
	c.handle(Event{Kind: EventPacket, Payload: []byte(p)}, fmt.Sprintf("%.80q", p))
}

func validRestart(p string) bool {
	parsed, err := rsp.Parse([]byte(p))
	_, ok := parsed.(rsp.Restart)
	return err == nil && ok
}

// id is a thread in some form, mostly one that exists.
func (c *chaos) id() string {
	pid, tid := "-1", "-1"
	if n := len(c.f.threads); n > 0 {
		t := c.f.threads[c.r.IntN(n)].id
		pid, tid = fmt.Sprintf("%x", t.PID), fmt.Sprintf("%x", t.TID)
	}
	switch c.r.IntN(8) {
	case 0:
		return "-1"
	case 1:
		return "0"
	case 2:
		return fmt.Sprintf("p%s.-1", pid)
	case 3:
		return "p-1.-1"
	case 4:
		return tid
	case 5:
		return fmt.Sprintf("p%x.%x", c.r.IntN(300), c.r.IntN(300))
	}
	return fmt.Sprintf("p%s.%s", pid, tid)
}

func (c *chaos) addr() uint64 {
	return []uint64{memBase, memBase + 0x10, memBase + 0x20, memBase + memSize - 2, 0, ^uint64(0)}[c.r.IntN(6)]
}

func (c *chaos) pid() int {
	if list := c.f.Processes(); len(list) > 0 && c.r.IntN(8) > 0 {
		return list[c.r.IntN(len(list))]
	}
	return c.r.IntN(5000)
}

// templates make packets; the first ones are the most frequent.
var templates = []func(c *chaos) string{
	func(c *chaos) string { return "vCont;c" },
	func(c *chaos) string { return "vCont;c" },
	func(c *chaos) string { return "vCont;s:" + c.id() + ";c" },
	func(c *chaos) string { return "vCont;c:" + c.id() },
	func(c *chaos) string { return "vCont;t:" + c.id() },
	func(c *chaos) string { return "vCont;t" },
	func(c *chaos) string {
		return fmt.Sprintf("vCont;r%x,%x:%s;C%02x:%s;c:%s", memBase, memBase+c.r.IntN(20), c.id(), c.r.IntN(80), c.id(), c.id())
	},
	func(c *chaos) string { return "vStopped" },
	func(c *chaos) string { return "vStopped" },
	func(c *chaos) string { return "vStopped" },
	func(c *chaos) string { return "?" },
	func(c *chaos) string { return fmt.Sprintf("Z0,%x,1", memBase+0x10*c.r.IntN(4)) },
	func(c *chaos) string { return fmt.Sprintf("z0,%x,1", memBase+0x10*c.r.IntN(4)) },
	func(c *chaos) string {
		return fmt.Sprintf("Z%d,%x,1;X3,220127;cmds:%d,X1,27", c.r.IntN(6), c.addr(), c.r.IntN(2))
	},
	func(c *chaos) string { return fmt.Sprintf("z%d,%x,1", c.r.IntN(6), c.addr()) },
	func(c *chaos) string { return "c" },
	func(c *chaos) string { return fmt.Sprintf("C%02x;%x", c.r.IntN(256), c.addr()) },
	func(c *chaos) string { return "s" },
	func(c *chaos) string { return fmt.Sprintf("s%x", c.addr()) },
	func(c *chaos) string { return fmt.Sprintf("m%x,%x", c.addr(), c.r.IntN(5000)) },
	func(c *chaos) string { return fmt.Sprintf("x%x,%x", c.addr(), c.r.IntN(5000)) },
	func(c *chaos) string { return fmt.Sprintf("M%x,2:1234", c.addr()) },
	func(c *chaos) string { return fmt.Sprintf("X%x,2:}$", c.addr()) },
	func(c *chaos) string { return "g" },
	func(c *chaos) string { return "G" + strings.Repeat("ab", c.f.desc.Size) },
	func(c *chaos) string { return fmt.Sprintf("p%x", c.r.IntN(70)) },
	func(c *chaos) string { return fmt.Sprintf("P%x=%016x", c.r.IntN(70), c.r.Uint64()) },
	func(c *chaos) string { return "Hg" + c.id() },
	func(c *chaos) string { return "Hc" + c.id() },
	func(c *chaos) string { return "T" + c.id() },
	func(c *chaos) string { return "qC" },
	func(c *chaos) string { return "qfThreadInfo" },
	func(c *chaos) string { return "qsThreadInfo" },
	func(c *chaos) string { return "qThreadExtraInfo," + c.id() },
	func(c *chaos) string {
		if c.r.IntN(4) > 0 {
			return "vStopped"
		}
		return fmt.Sprintf("QNonStop:%d", c.r.IntN(2))
	},
	func(c *chaos) string { return fmt.Sprintf("QThreadEvents:%d", c.r.IntN(2)) },
	func(c *chaos) string { return gdbFeatures },
	func(c *chaos) string { return "qSupported" },
	func(c *chaos) string { return "!" },
	func(c *chaos) string { return "QStartNoAckMode" },
	func(c *chaos) string { return "vCtrlC" },
	func(c *chaos) string { return fmt.Sprintf("qXfer:auxv:read::%x,%x", c.r.IntN(6000), c.r.IntN(2000)) },
	func(c *chaos) string { return "qXfer:threads:read::0,1000" },
	func(c *chaos) string { return "qXfer:siginfo:write::0:abc" },
	func(c *chaos) string { return "QSaveRegisterState" },
	func(c *chaos) string { return fmt.Sprintf("QRestoreRegisterState:%x", c.r.IntN(4)) },
	func(c *chaos) string {
		return fmt.Sprintf("qSearch:memory:%x;%x;%s", memBase, c.r.IntN(9000), "\x0e\x15")
	},
	func(c *chaos) string { return fmt.Sprintf("QTFrame:%x", c.r.IntN(2)) },
	func(c *chaos) string { return "QTFrame:ffffffff" },
	func(c *chaos) string { return fmt.Sprintf("QTDisconnected:%d", c.r.IntN(2)) },
	func(c *chaos) string {
		return "qRcmd," + hexOf([]string{"help", "list", "what", "set debug 1"}[c.r.IntN(4)])
	},
	func(c *chaos) string { return "vFile:open:" + hexOf("/hello") + ",0,0" },
	func(c *chaos) string { return fmt.Sprintf("vFile:pread:%x,100,0", c.r.IntN(4)) },
	func(c *chaos) string { return "QPassSignals:e;" },
	func(c *chaos) string { return "vRun;" + hexOf("/bin/x") },
	func(c *chaos) string { return fmt.Sprintf("vAttach;%x", 1000+100*c.r.IntN(40)) },
	func(c *chaos) string {
		switch c.r.IntN(12) {
		case 0:
			return fmt.Sprintf("D;%x", c.pid())
		case 1:
			return fmt.Sprintf("vKill;%x", c.pid())
		case 2:
			return "D"
		case 3:
			return "R00"
		case 4:
			return fmt.Sprintf("QAllow:Stop:%d;WriteMem:%d", c.r.IntN(2), c.r.IntN(2))
		}
		return "qTStatus"
	},
}

// mutate damages a packet.
func (c *chaos) mutate(p string) string {
	b := []byte(p)
	for range 1 + c.r.IntN(2) {
		at := c.r.IntN(len(b) + 1)
		switch c.r.IntN(4) {
		case 0:
			b = b[:at]
		case 1:
			b = append(b[:at:at], append([]byte{byte(c.r.IntN(256))}, b[at:]...)...)
		case 2:
			if at < len(b) {
				b[at] ^= byte(1 << c.r.IntN(8))
			}
		case 3:
			b = append(b[:at:at], b...)
		}
	}
	if strings.HasPrefix(string(b), "k") || strings.HasPrefix(string(b), "qRcmd,65786974") {
		return "qC" // they end everything; other tests have them
	}
	return string(b)
}

// thing lets something happen to a thread that runs, or to its process.
func (c *chaos) thing() {
	var running []*fakeThread
	for _, t := range c.f.threads {
		if t.running {
			running = append(running, t)
		}
	}
	if len(running) == 0 {
		return
	}
	t := running[c.r.IntN(len(running))]
	s := Stop{Thread: t.id}
	kind := c.r.IntN(24)
	c.trace = append(c.trace, fmt.Sprintf("  thread %v: %d", t.id, kind))
	switch {
	case kind == 0 && len(c.f.procs) < 6 && c.f.opts.ForkEvents:
		s.Kind = StopForked
		child := c.f.nextPID
		c.f.nextPID += 100
		p := &fakeProcess{memory: c.f.procs[t.id.PID].memory, breaks: map[breakKey]Breakpoint{}}
		for key, b := range c.f.procs[t.id.PID].breaks {
			key.pid = child
			p.breaks[key] = b
		}
		c.f.procs[child] = p
		s.Child = ThreadID{child, child}
		c.f.addThread(s.Child, false)
	case kind == 1 && len(c.f.threads) < 12:
		c.newThread(t)
		return
	case kind == 2 && t.id.TID != t.id.PID:
		c.f.removeThreads(func(id ThreadID) bool { return id == t.id })
		if c.f.opts.ThreadEvents {
			c.f.events <- Stop{Kind: StopThreadExit, Thread: t.id}
		}
		return
	case kind == 3:
		s.Kind, s.Thread.TID = []StopKind{StopExited, StopKilled}[c.r.IntN(2)], 0
		c.f.exit(s)
		return
	case kind == 4 && c.f.opts.ExecEvents && t.id.TID == t.id.PID:
		s.Kind, s.Path = StopExec, "/new"
		c.f.removeThreads(func(id ThreadID) bool { return id.PID == t.id.PID && id != t.id })
		clear(c.f.procs[t.id.PID].breaks)
	case kind < 12:
		s.Kind, s.Addr = StopBreakpoint, memBase+0x10*uint64(c.r.IntN(4))
	case kind < 16:
		s.Kind, s.Signal = StopSignal, 1+c.r.IntN(64)
	default:
		s.Kind = []StopKind{StopStep, StopWatch, StopHardware, StopVForkDone, StopSyscallEntry}[c.r.IntN(5)]
	}
	if c.r.IntN(3) == 0 && s.Kind != StopForked && s.Kind != StopExec {
		c.f.atHalt = append(c.f.atHalt, s) // it comes at the next HaltAll
		return
	}
	c.f.happen(s)
}

// newThread is a clone; with thread events it is stopped at first.
func (c *chaos) newThread(parent *fakeThread) {
	c.f.nextPID++
	id := ThreadID{parent.id.PID, c.f.nextPID}
	c.f.addThread(id, true)
	if c.f.opts.ThreadEvents {
		c.f.happen(Stop{Kind: StopCloned, Thread: id})
	}
}

// step is one event of any kind.
func (c *chaos) step() {
	switch n := c.r.IntN(100); {
	case n < 25:
		c.thing()
	case n < 45:
		select {
		case s := <-c.f.events:
			c.handle(Event{Kind: EventStop, Stop: s}, fmt.Sprintf("stop %+v", s))
		default:
		}
	case !c.connected:
		c.handle(Event{Kind: EventOpened}, "(new)")
		c.packet(gdbFeatures)
		c.packet(fmt.Sprintf("QNonStop:%d", c.r.IntN(2)))
		c.packet("?")
	case n < 50:
		c.handle(Event{Kind: EventInterrupt}, "^C")
	case n < 51:
		c.handle(Event{Kind: EventClosed}, "(gone)")
	case n < 52:
		c.handle(Event{Kind: EventTick}, "tick")
	case n < 53:
		c.unpaid++
		c.handle(Event{Kind: EventTooLong}, "(too long)")
	case n < 65 && len(c.m.backlog.queue) > 0:
		c.packet("vStopped")
	case n < 65 && c.m.nonStop:
		c.packet("vCont;c")
	default:
		p := templates[c.r.IntN(len(templates))](c)
		if c.r.IntN(10) == 0 {
			p = c.mutate(p)
		}
		c.packet(p)
	}
}

// finish asks until everything has been reported.
func (c *chaos) finish() {
	if !c.connected {
		c.handle(Event{Kind: EventOpened}, "(new)")
	}
	for len(c.f.events) > 0 {
		c.handle(Event{Kind: EventStop, Stop: <-c.f.events}, "stop")
	}
	c.packet("QAllow:Stop:1")
	c.packet(gdbFeatures)
	c.packet("QNonStop:0")
	c.packet("?")
	for range 200 {
		if c.over || len(c.f.threads) == 0 || c.quiet() {
			break
		}
		c.packet("vCont;c")
		if c.m.reporter.owed {
			c.handle(Event{Kind: EventInterrupt}, "^C")
		}
	}
	if !c.over && !c.quiet() && len(c.f.threads) > 0 {
		for _, s := range c.f.gone {
			c.fail("%+v was never reported to GDB", s)
		}
		for _, t := range c.f.threads {
			if t.unreported != nil {
				c.fail("%+v was never reported to GDB", *t.unreported)
			}
		}
	}
}

func (c *chaos) quiet() bool {
	for _, t := range c.f.threads {
		if t.unreported != nil {
			return false
		}
	}
	return len(c.f.gone) == 0
}

// TestRandom: no order of packets and stops confuses the Machine: every request has
// one reply, nothing is asked of the target that it cannot do, no stop is lost, and
// in all-stop mode nothing runs behind GDB's back.
func TestRandom(t *testing.T) {
	runs, steps := 1000, 300
	if os.Getenv("JALON_FULL") != "" {
		runs = 10_000
	}
	total := map[string]int{}
	first := uint64(testkit.Seed(t, 0))
	for seed := first; seed < first+uint64(runs); seed++ {
		c := newChaos(seed)
		for i := 0; i < steps && !c.over && c.failure == ""; i++ {
			c.step()
		}
		if !c.over && c.failure == "" {
			c.finish()
		}
		if c.failure != "" {
			tail := c.trace[max(0, len(c.trace)-60):]
			t.Fatalf("seed %d: %s\n%s", seed, c.failure, strings.Join(tail, "\n"))
		}
		for what, n := range c.counts {
			total[what] += n
		}
	}
	if total["stop"] < 10*runs || total["notification"] < runs {
		t.Errorf("only %d stops and %d notifications were reported", total["stop"], total["notification"])
	}
}
