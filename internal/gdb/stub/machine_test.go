package stub

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// talk is a conversation with a Machine.
type talk struct {
	t *testing.T
	f *fake
	e *fakeExperiment
	m *Machine
}

func newTalk(t *testing.T, caps Caps, threads int, change func(*Config)) *talk {
	t.Helper()
	f := newFake(caps)
	var cfg Config
	if threads > 0 {
		pid := f.start(threads)
		cfg.First = []Stop{{Kind: StopHalted, Thread: ThreadID{pid, pid}}}
	}
	cfg.Log = func(s string) {}
	if change != nil {
		change(&cfg)
	}
	e := &fakeExperiment{size: f.desc.Size, frame: -1}
	c := &talk{t: t, f: f, e: e, m: New(f, e, cfg)}
	c.event(Event{Kind: EventOpened})
	return c
}

// event gives one to the Machine and returns what it wants as one text: packets as
// they are, "%" notifications, "!" the rest, separated by spaces.
func (c *talk) event(ev Event) string {
	c.t.Helper()
	var list []string
	for _, o := range c.m.Handle(ev) {
		switch o.Kind {
		case OutReply:
			list = append(list, string(o.Payload))
			c.f.heard(c.m, o.Payload)
		case OutNotify:
			list = append(list, "%"+string(o.Payload))
			c.f.heard(c.m, []byte(strings.TrimPrefix(string(o.Payload), "Stop:")))
		case OutStartNoAck:
			list = append(list, "!noack")
		case OutClose:
			list = append(list, "!close")
		case OutExit:
			list = append(list, fmt.Sprintf("!exit%d", o.Status))
		}
	}
	for _, s := range c.f.complaints {
		c.t.Errorf("the target was asked wrongly: %s", s)
	}
	c.f.complaints = nil
	return strings.Join(list, " ")
}

// heard records the reports to GDB.
func (f *fake) heard(m *Machine, payload []byte) {
	p, err := rsp.ParseReply(rsp.QueryHalt{}, payload)
	if err != nil {
		return
	}
	switch p := p.(type) {
	case rsp.Stopped:
		for _, t := range f.threads {
			if p.Thread != nil && m.name(t.id) == *p.Thread {
				t.unreported = nil
			}
		}
	case rsp.Exited:
		f.toldEnd(p.PID)
	case rsp.Killed:
		f.toldEnd(p.PID)
	}
}

func (f *fake) toldEnd(pid *uint64) {
	for i, s := range f.gone {
		if pid == nil || uint64(s.Thread.PID) == *pid {
			f.gone = append(f.gone[:i], f.gone[i+1:]...)
			return
		}
	}
}

// send is GDB's packet and what it gets. T packets are shortened: registers, thread
// and core are left out but for the thread's last number.
func (c *talk) send(packet string) string {
	c.t.Helper()
	return short(c.event(Event{Kind: EventPacket, Payload: []byte(packet)}))
}

// stop lets something happen and returns what GDB hears of it.
func (c *talk) stop(s Stop) string {
	c.t.Helper()
	c.f.stopped(s)
	return short(c.event(Event{Kind: EventStop, Stop: s}))
}

// short leaves out of T packets what is always the same.
func short(text string) string {
	words := strings.Split(text, " ")
	for i, w := range words {
		name := strings.TrimPrefix(w, "%Stop:")
		if len(name) < 3 || name[0] != 'T' || !strings.HasSuffix(name, ";") {
			continue
		}
		var kept []string
		for _, pair := range strings.Split(name[3:], ";") {
			key, value, _ := strings.Cut(pair, ":")
			switch key {
			case "06", "07", "10", "core", "":
			case "thread":
				kept = append(kept, value)
			default:
				kept = append(kept, pair)
			}
		}
		words[i] = w[:len(w)-len(name)] + name[:3] + "[" + strings.Join(kept, ";") + "]"
	}
	return strings.Join(words, " ")
}

// step is a line of a conversation: what is sent, or what happens, and the answer.
type step struct {
	send string
	stop *Stop
	want string
}

func (c *talk) run(steps []step) {
	c.t.Helper()
	for i, s := range steps {
		var got string
		switch {
		case s.stop != nil:
			got = c.stop(*s.stop)
		case s.send == "^C":
			got = short(c.event(Event{Kind: EventInterrupt}))
		case s.send == "(gone)":
			got = short(c.event(Event{Kind: EventClosed}))
		case s.send == "(new)":
			got = short(c.event(Event{Kind: EventOpened}))
		default:
			got = c.send(s.send)
		}
		if prefix, ok := strings.CutSuffix(s.want, "..."); ok && strings.HasPrefix(got, prefix) {
			continue
		}
		if got != s.want {
			c.t.Fatalf("line %d, %q %+v:\n got %q\nwant %q", i, s.send, s.stop, got, s.want)
		}
	}
}

// calls checks what the target was asked since the last time.
func (c *talk) calls(want ...string) {
	c.t.Helper()
	if got := c.f.took(); strings.Join(got, "; ") != strings.Join(want, "; ") {
		c.t.Fatalf("the target was asked for\n%q, want\n%q", got, want)
	}
}

const gdbFeatures = "qSupported:multiprocess+;swbreak+;hwbreak+;qRelocInsn+;fork-events+;vfork-events+;exec-events+;" +
	"vContSupported+;QThreadEvents+;no-resumed+;xmlRegisters=i386"

func at(kind StopKind, pid, tid int) *Stop { return &Stop{Kind: kind, Thread: ThreadID{pid, tid}} }

func signal(pid, tid, n int) *Stop {
	return &Stop{Kind: StopSignal, Thread: ThreadID{pid, tid}, Signal: n}
}

func TestAllStop(t *testing.T) {
	c := newTalk(t, Caps{}, 2, nil)
	c.run([]step{
		{send: gdbFeatures, want: "PacketSize=4000;..."},
		{send: "QStartNoAckMode", want: "!noack OK"},
		{send: "!", want: "OK"},
		{send: "QNonStop:0", want: "OK"},
		{send: "?", want: "T05[p64.64]"},
		{send: "qC", want: "QCp64.64"},
		{send: "qAttached:64", want: "0"},
		{send: "qAttached:65", want: "E01"},
		{send: "qfThreadInfo", want: "mp64.64,p64.65"},
		{send: "qsThreadInfo", want: "l"},
		{send: "Hgp64.65", want: "OK"},
		{send: "Hgp64.99", want: "E01"},
		{send: "qC", want: "QCp64.65"},
		{send: "Tp64.65", want: "OK"},
		{send: "Tp64.66", want: "E01"},
		{send: "Hcp0.0", want: "OK"},
		{send: "vCont?", want: "vCont;c;C;s;S;t;r"},
		{send: "Z0,400010,1", want: "OK"},
		{send: "Z0,400010,1", want: "OK"},
		{send: "Z3,400010,8", want: ""},
		{send: "Z7,400010,8", want: ""},
		{send: "Z0,0,1", want: "E.no memory at 0x0"},
	})
	c.f.took()
	c.run([]step{{send: "vCont;c", want: ""}})
	c.calls("Resume 100 step=false [0x0,0x0) sig=0", "Resume 101 step=false [0x0,0x0) sig=0")

	// Two threads arrive; the second is deferred and reported when it is resumed.
	c.f.atHalt = []Stop{{Kind: StopBreakpoint, Thread: ThreadID{100, 100}, Addr: 0x400010}}
	hit := Stop{Kind: StopBreakpoint, Thread: ThreadID{100, 101}, Addr: 0x400010}
	c.run([]step{{stop: &hit, want: "T05[swbreak:;p64.65]"}})
	c.calls("HaltAll")
	c.run([]step{
		{send: "qC", want: "QCp64.65"},
		{send: "vCont;s:p64.65;c", want: "T05[swbreak:;p64.64]"},
	})
	c.calls("HaltAll") // nothing was resumed
	c.run([]step{
		{send: "z0,400010,1", want: "OK"},
		{send: "z0,400010,1", want: "OK"},
		{send: "vCont;r400010,400018:p64.64;C1e:p64.-1", want: ""},
	})
	c.calls("Resume 101 step=false [0x0,0x0) sig=10", "Resume 100 step=true [0x400010,0x400018) sig=0")
	c.run([]step{
		{send: "vCont;c", want: "E.the program runs already"},
		{stop: at(StopStep, 100, 100), want: "T05[p64.64]"},
		{send: "vCont;s:p64.64", want: ""},
	})
	c.calls("HaltAll", "Resume 100 step=true [0x0,0x0) sig=0")
	c.run([]step{{send: "^C", want: "T02[p64.64]"}, {send: "^C", want: ""}})
}

// TestKeptBack: a stop that was kept back is void when its breakpoint is gone.
func TestKeptBack(t *testing.T) {
	c := newTalk(t, Caps{}, 3, nil)
	c.run([]step{{send: gdbFeatures, want: "PacketSize..."}, {send: "?", want: "T05[p64.64]"}, {send: "Z0,400010,1", want: "OK"}, {send: "c", want: ""}})
	c.f.atHalt = []Stop{
		{Kind: StopBreakpoint, Thread: ThreadID{100, 100}, Addr: 0x400010},
		{Kind: StopSignal, Thread: ThreadID{100, 102}, Signal: 10},
	}
	hit := Stop{Kind: StopBreakpoint, Thread: ThreadID{100, 101}, Addr: 0x400010}
	c.run([]step{{stop: &hit, want: "T05[swbreak:;p64.65]"}, {send: "z0,400010,1", want: "OK"}})
	c.f.took()
	// Only the two are resumed: the signal of the third waits.
	c.run([]step{{send: "vCont;c:p64.64;c:p64.65", want: ""}})
	c.calls("Resume 100 step=false [0x0,0x0) sig=0", "Resume 101 step=false [0x0,0x0) sig=0")
	c.run([]step{
		{send: "^C", want: "T02[p64.64]"},
		{send: "vCont;C0f:p64.65;c", want: "T1e[p64.66]"}, // and this signal waits now
		{send: "vCont;C1e:p64.66;c", want: ""},
	})
	c.calls("HaltAll", "HaltAll", "Resume 101 step=false [0x0,0x0) sig=15", "Resume 100 step=false [0x0,0x0) sig=0", "Resume 102 step=false [0x0,0x0) sig=10")
}

// TestReportOrder: of several threads with reports, a stepped one comes first, then the one
// reported least recently. A step has no effect on threads that continue.
func TestReportOrder(t *testing.T) {
	c := newTalk(t, Caps{}, 3, nil)
	sent := func(tid int) *Stop { return &Stop{Kind: StopSignal, Thread: ThreadID{100, tid}, Signal: 10} }
	c.run([]step{
		{send: gdbFeatures, want: "PacketSize..."},
		{send: "?", want: "T05[p64.64]"},
		{send: "c", want: ""},
		{stop: sent(101), want: "T1e[p64.65]"},
		{send: "vCont;c", want: ""},
	})
	c.f.atHalt = []Stop{*sent(102)}
	c.run([]step{{stop: sent(101), want: "T1e[p64.66]"}, {send: "vCont;c", want: "T1e[p64.65]"}, {send: "vCont;s:p64.64;c", want: ""}})
	c.f.atHalt = []Stop{*at(StopStep, 100, 100)}
	c.run([]step{{stop: sent(102), want: "T05[p64.64]"}, {send: "vCont;s:p64.65;c", want: "T1e[p64.66]"}})
	c.run([]step{{send: "vCont;s:p64.65;c", want: ""}, {stop: at(StopStep, 100, 101), want: "T05[p64.65]"}})
	c.run([]step{{send: "vCont;s:p64.64;s:p64.65;c", want: ""}})
	c.f.atHalt = []Stop{*at(StopStep, 100, 101)}
	c.run([]step{{stop: at(StopStep, 100, 100), want: "T05[p64.64]"}})
	c.f.took()
	c.run([]step{{send: "vCont;c", want: ""}})
	c.calls("Resume 102 step=false [0x0,0x0) sig=0", "Resume 101 step=false [0x0,0x0) sig=0", "Resume 100 step=false [0x0,0x0) sig=0")
}

// TestLateInterrupt: an interrupt that crosses a stop is for the next resumption.
func TestLateInterrupt(t *testing.T) {
	c := newTalk(t, Caps{}, 2, nil)
	c.run([]step{
		{send: gdbFeatures, want: "PacketSize..."},
		{send: "?", want: "T05[p64.64]"},
		{send: "vCont;s:p64.64;c", want: ""},
		{stop: at(StopStep, 100, 100), want: "T05[p64.64]"},
		{send: "^C", want: ""},
		{send: "vCont;s:p64.64;c", want: "T02[p64.64]"},
		{send: "vCont;s:p64.64;c", want: ""},
		{stop: at(StopStep, 100, 100), want: "T05[p64.64]"},
		{send: "vCont;s:p64.64;c", want: ""},
	})
	c.f.atHalt = []Stop{*at(StopStep, 100, 100)}
	c.run([]step{{send: "^C", want: "T05[p64.64]"}})
	c.f.took()
	c.run([]step{{send: "vCont;s:p64.64;c", want: "T02[p64.64]"}})
	c.calls("HaltAll") // nothing was resumed
	c.run([]step{{send: "vCont;s:p64.64;c", want: ""}})
}

// TestGoneThread: the registers of a thread that was killed while it stood are not
// known; what there is no process for is not described.
func TestGoneThread(t *testing.T) {
	c := newTalk(t, Caps{Multi: true}, 1, nil)
	c.run([]step{{send: gdbFeatures, want: "PacketSize..."}, {send: "!", want: "OK"}, {send: "?", want: "T05[p64.64]"}, {send: "Hgp64.64", want: "OK"}})
	c.f.exit(Stop{Kind: StopKilled, Thread: ThreadID{PID: 100}, Signal: 9})
	c.run([]step{{send: "p10", want: "xxxxxxxxxxxxxxxx"}, {send: "qXfer:features:read:target.xml:0,10", want: "E.there is no process..."}})
}

// TestOthersStand: what happens while GDB lets one thread run alone.
func TestOthersStand(t *testing.T) {
	c := newTalk(t, Caps{Multi: true}, 3, nil)
	begin := []step{{send: gdbFeatures, want: "PacketSize..."}, {send: "?", want: "T05[p64.64]"}, {send: "vCont;c:p64.65", want: ""}}
	c.run(begin)
	// It ends.
	c.f.removeThreads(func(id ThreadID) bool { return id.TID == 101 })
	none := Stop{Kind: StopNoResumed}
	c.run([]step{{stop: &none, want: "N"}, {send: "vCont;c:p64.64;c:p64.66", want: ""}, {stop: &none, want: ""}, {send: "^C", want: "T02[p64.64]"}})
	// It runs another program: the first thread has that.
	c.run([]step{{send: "vCont;c:p64.66", want: ""}})
	c.f.removeThreads(func(id ThreadID) bool { return id.TID == 102 })
	c.run([]step{{stop: &Stop{Kind: StopExec, Thread: ThreadID{100, 100}, Path: "/x"}, want: "T05[exec:2f78;p64.64]"}})
	// The process is killed while it is stopped, and GDB detaches.
	c.f.exit(Stop{Kind: StopKilled, Thread: ThreadID{PID: 100}, Signal: 9})
	c.run([]step{{send: "!", want: "OK"}, {send: "D;64", want: "OK"}, {send: "D;64", want: "E.there is no such process"}})
}

func TestNonStop(t *testing.T) {
	c := newTalk(t, Caps{}, 3, nil)
	c.run([]step{
		{send: gdbFeatures, want: "PacketSize..."},
		{send: "QNonStop:1", want: "OK"},
		{send: "?", want: "T05[p64.64]"},
		{send: "vStopped", want: "OK %Stop:T00[p64.65]"},
		{send: "vStopped", want: "T00[p64.66]"},
		{send: "vStopped", want: "OK"},
		{send: "vStopped", want: "OK"},
		{send: "vCont;c", want: "OK"},
		{stop: signal(100, 101, 10), want: "%Stop:T1e[p64.65]"},
		{stop: signal(100, 102, 12), want: ""},
		{send: "vCont;c:p64.-1", want: "OK"}, // neither of them: GDB has not fetched them
		{send: "Hgp64.64", want: "OK"},
		{send: "g", want: "E.thread 100 is running"},
		{send: "m400000,2", want: "0007"},
		{send: "vStopped", want: "T1f[p64.66]"},
		{send: "vStopped", want: "OK"},
		{send: "vCont;t", want: "OK"},
	})
	c.calls("Resume 100 step=false [0x0,0x0) sig=0", "Resume 101 step=false [0x0,0x0) sig=0",
		"Resume 102 step=false [0x0,0x0) sig=0", "Halt 100")
	c.run([]step{
		{stop: at(StopHalted, 100, 100), want: "%Stop:T00[p64.64]"},
		{send: "vStopped", want: "OK"},
		{send: "vCont;C1e:p64.65", want: "OK"},
		{send: "vCtrlC", want: "OK"},
		{stop: at(StopHalted, 100, 101), want: "%Stop:T02[p64.65]"},
		{send: "vStopped", want: "OK"},
		{send: "vCont;c", want: "OK"},
		{stop: &Stop{Kind: StopThreadExit, Thread: ThreadID{100, 102}, Code: 3}, want: "%Stop:w03;p64.66"},
		{send: "vStopped", want: "OK"},
		{send: "QNonStop:0", want: "OK"},
		{send: "?", want: "T00[p64.64]"},
	})
}

// TestStepIsDone: a thread's step is complete, but not reported, when GDB resumes another
// thread, and with it "all" threads that it believes stopped.
func TestStepIsDone(t *testing.T) {
	c := newTalk(t, Caps{}, 2, nil)
	c.run([]step{
		{send: gdbFeatures, want: "PacketSize..."},
		{send: "QNonStop:1", want: "OK"},
		{send: "?", want: "T05[p64.64]"},
		{send: "vStopped", want: "OK %Stop:T00[p64.65]"},
		{send: "vStopped", want: "OK"},
		{send: "vCont;s:p64.65", want: "OK"},
	})
	c.f.took()
	c.f.happen(*at(StopStep, 100, 101))
	c.run([]step{
		{send: "vCont;C1e:p64.64;c", want: "OK %Stop:T05[p64.65]"},
		{send: "vStopped", want: "OK"},
	})
	c.calls("Resume 100 step=false [0x0,0x0) sig=10")
	c.run([]step{{send: "vCont;c", want: "OK"}})
	c.calls("Resume 101 step=false [0x0,0x0) sig=0")
}

// TestInterruptedBefore: an interrupt for a program that stood, and was killed then, is
// not for the next one.
func TestInterruptedBefore(t *testing.T) {
	c := newTalk(t, Caps{Multi: true}, 1, func(cfg *Config) { cfg.Multi = true })
	c.run([]step{
		{send: gdbFeatures, want: "PacketSize..."},
		{send: "!", want: "OK"},
		{send: "?", want: "T05[p64.64]"},
		{send: "^C", want: ""},
		{send: "vKill;64", want: "OK"},
		{send: "vRun;" + hexOf("/bin/x"), want: "T05[pc8.c8]"},
		{send: "vCont;c:pc8.-1", want: ""},
	})
}

// TestReconnectAfterFork: a fork was the last report to GDB; the child is killed, and
// another GDB connects. The child is not reported to it.
func TestReconnectAfterFork(t *testing.T) {
	c := newTalk(t, Caps{Multi: true}, 1, func(cfg *Config) { cfg.Multi = true })
	begin := []step{{send: gdbFeatures, want: "PacketSize..."}, {send: "!", want: "OK"}}
	c.run(begin)
	c.run([]step{{send: "?", want: "T05[p64.64]"}, {send: "vCont;c", want: ""}})
	child := c.f.start(1)
	c.run([]step{
		{stop: &Stop{Kind: StopForked, Thread: ThreadID{100, 100}, Child: ThreadID{child, child}}, want: "T05[fork:pc8.c8;p64.64]"},
		{send: fmt.Sprintf("vKill;%x", child), want: "OK"},
		{send: "(gone)", want: ""},
	})
	c.run([]step{{send: "(new)", want: ""}})
	c.run(begin)
	c.run([]step{
		{send: "?", want: "T00[p64.64]"},
		{send: "vCont;c:pc8.-1", want: "N"},
		{send: "vCont;c:p64.-1", want: ""},
	})
}

func TestEnds(t *testing.T) {
	c := newTalk(t, Caps{Multi: true}, 1, func(cfg *Config) { cfg.Multi = true })
	exit := Stop{Kind: StopExited, Thread: ThreadID{PID: 100}, Code: 7}
	c.run([]step{{send: gdbFeatures, want: "PacketSize..."}, {send: "!", want: "OK"}, {send: "c", want: ""}})
	c.f.exit(exit)
	c.run([]step{
		{send: "?", want: "W07;process:64 W07;process:64"}, // the answer to c, then that to ?
		{send: "m400000,1", want: "E01"},
		{send: "vCont;c", want: "N"},
		{send: "qC", want: "E01"},
		{send: "g", want: "E.there is no thread"},
		{send: "vKill;64", want: "E.there is no such process"},
		{send: "vRun;", want: "E.no program was run before..."},
		{send: "QEnvironmentHexEncoded:" + hexOf("A=b=c"), want: "OK"},
		{send: "QEnvironmentHexEncoded:" + hexOf("novalue"), want: "E...."},
		{send: "QEnvironmentUnset:" + hexOf("HOME"), want: "OK"},
		{send: "QSetWorkingDir:" + hexOf("/tmp"), want: "OK"},
		{send: "QDisableRandomization:1", want: "OK"},
		{send: "vRun;" + hexOf("/missing"), want: "E.start /missing: no such file or directory"},
		{send: "vRun;" + hexOf("/bin/x") + ";" + hexOf("a b"), want: "T05[pc8.c8]"},
	})
	if l := c.f.launched; fmt.Sprintf("%q %v %v %s %v", l.Args, l.Env, l.Unset, l.Dir, l.RandomAddresses) != `["/bin/x" "a b"] map[A:b=c] [HOME] /tmp false` {
		t.Errorf("launched with %+v", l)
	}
	c.run([]step{
		{send: "vAttach;1388", want: "T05[p1388.1388]"},
		{send: "vAttach;5", want: "E.attach to 5: no such process"},
		{send: "qAttached:1388", want: "1"},
		{send: "vCont;c:pc8.-1", want: ""},
		{stop: &Stop{Kind: StopKilled, Thread: ThreadID{PID: 200}, Signal: 9}, want: "X09;process:c8"},
		{send: "D;1388", want: "OK"},
		{send: "D;1388", want: "E.there is no such process"},
	})
}

func hexOf(s string) string { return string(rsp.Encode(rsp.ThreadWords{Text: rsp.Text(s)})) }

// TestLeaving: when the server ends, and what becomes of the program.
func TestLeaving(t *testing.T) {
	c := newTalk(t, Caps{}, 1, nil)
	c.run([]step{{send: "?", want: "T05[64]"}, {send: "D", want: "OK !close !exit0"}})
	c.calls("HaltAll", "Detach 100")

	c = newTalk(t, Caps{}, 1, nil)
	c.run([]step{{send: "!", want: "OK"}, {send: "D;64", want: "OK"}, {send: "?", want: "W00"}, {send: "(gone)", want: ""}})

	c = newTalk(t, Caps{}, 1, func(cfg *Config) {
		cfg.Log = func(text string) {
			if strings.HasPrefix(text, "Detaching") { // it is killed while GDB lets it go
				c.f.exit(Stop{Kind: StopKilled, Thread: ThreadID{PID: 100}, Signal: 9})
			}
		}
	})
	c.run([]step{{send: "?", want: "T05[64]"}, {send: "D;64", want: "OK !close !exit0"}})
	c.calls("HaltAll")

	c = newTalk(t, Caps{}, 1, nil)
	c.run([]step{{send: "k", want: "!close !exit0"}})
	c.calls("Kill 100")

	c = newTalk(t, Caps{}, 1, func(cfg *Config) { cfg.Once = true })
	c.run([]step{{send: "(gone)", want: "!exit0"}})

	c = newTalk(t, Caps{}, 1, nil)
	c.run([]step{{send: "vKill;64", want: "OK"}, {send: "(gone)", want: "!exit0"}})

	c = newTalk(t, Caps{}, 1, nil)
	c.run([]step{{send: "qRcmd," + hexOf("exit"), want: "OK !close !exit0"}})
}

// TestReconnect: the program remains as it was, and a run that is to go on does.
func TestReconnect(t *testing.T) {
	c := newTalk(t, Caps{}, 2, nil)
	c.run([]step{
		{send: gdbFeatures, want: "PacketSize..."},
		{send: "?", want: "T05[p64.64]"},
		{send: "Z0,400010,1", want: "OK"},
		{send: "QTFrame:0", want: "F0"},
		{send: "vCont;c", want: ""},
		{send: "(gone)", want: ""},
		{stop: signal(100, 101, 11), want: ""}, // kept
		{send: "(new)", want: ""},
		{send: "?", want: "T0b[65]"}, // this GDB has offered nothing
		{send: "m400000,1", want: "00"},
	})
	if n := len(c.f.procs[100].breaks); n != 0 {
		t.Errorf("%d breakpoints of a GDB that is gone", n)
	}
	c.f.took()
	c.run([]step{
		{send: gdbFeatures, want: "PacketSize..."},
		{send: "QTDisconnected:1", want: "OK"},
		{send: "vCont;c", want: ""},
		{send: "Z0,400010,1", want: "OK"},
		{send: "(gone)", want: ""},
	})
	c.calls("Resume 100 step=false [0x0,0x0) sig=0", "Resume 101 step=false [0x0,0x0) sig=0")
	c.f.lossOK = func() bool { return true }
	c.run([]step{{stop: signal(100, 101, 10), want: ""}, {stop: at(StopStep, 100, 100), want: ""}})
	c.calls("Resume 101 step=false [0x0,0x0) sig=10", "Resume 100 step=false [0x0,0x0) sig=0")
	c.run([]step{{send: "(new)", want: ""}, {send: gdbFeatures, want: "PacketSize..."}, {send: "?", want: "T00[p64.65]"}})
	c.calls("HaltAll")
	c.run([]step{{send: "D;64", want: "OK"}}) // the run goes on, so the process stays
	c.calls("Resume 100 step=false [0x0,0x0) sig=0", "Resume 101 step=false [0x0,0x0) sig=0")
	c.run([]step{{send: "(gone)", want: ""}})
	c.f.exit(Stop{Kind: StopExited, Thread: ThreadID{PID: 100}})
	if got := c.event(Event{Kind: EventStop, Stop: <-c.f.events}); got != "!exit0" {
		t.Errorf("the last process is gone: %q", got)
	}
}

func TestFork(t *testing.T) {
	c := newTalk(t, Caps{Multi: true}, 1, nil)
	fork := Stop{Kind: StopForked, Thread: ThreadID{100, 100}, Child: ThreadID{200, 200}}
	c.run([]step{{send: gdbFeatures, want: "PacketSize..."}, {send: "!", want: "OK"}, {send: "Z0,400010,1", want: "OK"}, {send: "QNonStop:1", want: "OK"}, {send: "vCont;c", want: "OK"}})
	if !c.f.opts.ForkEvents || !c.f.opts.VForkEvents || !c.f.opts.ExecEvents || !c.f.opts.NonStop {
		t.Errorf("options %+v", c.f.opts)
	}
	c.f.start(1)
	for key, b := range c.f.procs[100].breaks {
		key.pid = 200
		c.f.procs[200].breaks[key] = b
	}
	c.f.took()
	c.run([]step{
		{stop: &fork, want: "%Stop:T05[fork:pc8.c8;p64.64]"},
		{send: "qfThreadInfo", want: "mp64.64"}, // GDB does not know the child yet
		{send: "qXfer:threads:read::0,50", want: "m<?xml version=\"1.0\"?>\n<threads>\n  <thread id=\"p64.64\" core=\"0\" name=\"worker\">the"},
		{send: "qXfer:threads:read::50,100", want: "l thread 100</thread>\n</threads>\n"},
		{send: "vCont;c", want: "OK"}, // neither parent nor child: the stop was not fetched
		{send: "vStopped", want: "OK"},
		{send: "Hgpc8.c8", want: "OK"},
		{send: "z0,400010,1", want: "OK"},
		{send: "D;c8", want: "OK"},
		{send: "vCont;c:p64.-1", want: "OK"},
		{stop: &Stop{Kind: StopExec, Thread: ThreadID{100, 100}, Path: "/x"}, want: "%Stop:T05[exec:2f78;p64.64]"},
	})
	c.calls("Detach 200", "Resume 100 step=false [0x0,0x0) sig=0")
}

// TestUnreportedChild: a child is not a thread for GDB before the fork is reported, and ends
// with a parent that is killed before.
func TestUnreportedChild(t *testing.T) {
	c := newTalk(t, Caps{Multi: true}, 2, nil)
	c.run([]step{{send: gdbFeatures, want: "PacketSize..."}, {send: "!", want: "OK"}, {send: "?", want: "T05[p64.64]"}, {send: "vCont;c", want: ""}})
	c.f.start(1)
	c.f.took()
	hit := Stop{Kind: StopBreakpoint, Thread: ThreadID{100, 100}, Addr: 0x400010}
	c.f.happen(Stop{Kind: StopForked, Thread: ThreadID{100, 101}, Child: ThreadID{200, 200}})
	c.run([]step{
		{stop: &hit, want: "T05[swbreak:;p64.64]"},
		{send: "qfThreadInfo", want: "mp64.64,p64.65"},
		{send: "qsThreadInfo", want: "l"},
	})
	if got := c.send("qXfer:threads:read::0,1000"); strings.Contains(got, "pc8.c8") || !strings.Contains(got, "p64.65") {
		t.Errorf("threads: %s", got)
	}
	c.run([]step{{send: "vKill;64", want: "OK"}, {send: "qfThreadInfo", want: "l"}})
	c.calls("HaltAll", "Kill 200", "Kill 100")
}

// TestOffers: features that GDB lacks are neither offered nor reported.
func TestOffers(t *testing.T) {
	c := newTalk(t, Caps{}, 1, nil)
	if got := c.send("qSupported:xmlRegisters=i386"); strings.Contains(got, "fork-events") {
		t.Errorf("fork events are offered: %s", got)
	}
	hit := Stop{Kind: StopBreakpoint, Thread: ThreadID{100, 100}, Addr: 0x400010}
	c.run([]step{{send: "?", want: "T05[64]"}, {send: "c", want: ""}, {stop: &hit, want: "T05[64]"}, {send: "Hg64", want: "OK"}, {send: "vCont;c:99", want: "E.no thread is left..."}})
	got := c.send(gdbFeatures)
	for _, want := range []string{"fork-events+", "QNonStop+", "tracenz+", "ConditionalTracepoints+", "qXfer:features:read+"} {
		if strings.Count(got, want) < 1 {
			t.Errorf("no %s in %s", want, got)
		}
	}
}

func TestReasons(t *testing.T) {
	for _, test := range []struct {
		stop Stop
		want string
	}{
		{Stop{Kind: StopHardware}, "T05[hwbreak:;p64.64]"},
		{Stop{Kind: StopWatch, Watch: rsp.WatchpointWrite, Addr: 0x1234}, "T05[watch:0000000000001234;p64.64]"},
		{Stop{Kind: StopWatch, Watch: rsp.WatchpointAccess, Addr: 0x1234}, "T05[awatch:0000000000001234;p64.64]"},
		{Stop{Kind: StopWatch, Watch: rsp.WatchpointRead, Addr: 1}, "T05[rwatch:0000000000000001;p64.64]"},
		{Stop{Kind: StopVForkDone}, "T05[vforkdone:;p64.64]"},
		{Stop{Kind: StopCloned}, "T05[create:;p64.64]"},
		{Stop{Kind: StopSyscallEntry, Syscall: 59}, "T05[syscall_entry:3b;p64.64]"},
		{Stop{Kind: StopSyscallReturn, Syscall: 59}, "T05[syscall_return:3b;p64.64]"},
		{Stop{Kind: StopLibraries}, "T05[p64.64;library:]"},
		{Stop{Kind: StopSignal, Signal: 34}, "T2e[p64.64]"},
	} {
		c := newTalk(t, Caps{}, 1, nil)
		test.stop.Thread = ThreadID{100, 100}
		c.run([]step{{send: gdbFeatures, want: "PacketSize..."}, {send: "c", want: ""}, {stop: &test.stop, want: test.want}})
	}
}
