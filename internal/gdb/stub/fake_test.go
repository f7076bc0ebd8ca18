package stub

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"github.com/jalon-trace/jalon/internal/gdb/experiment"
	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// fake is a Target that exists on paper: threads with registers, processes with
// memory. It checks what it is asked for; what is wrong goes to complaints.
type fake struct {
	traced     int // process that trace packets are about
	caps       Caps
	desc       *rsp.Target
	procs      map[int]*fakeProcess
	threads    []*fakeThread
	events     chan Stop
	opts       Options
	nextPID    int
	complaints []string
	calls      []string
	atHalt     []Stop // HaltAll finds these
	gone       []Stop // ends of processes that were not reported yet
	endTold    []uint64
	monitored  []string
	launched   LaunchOptions
	lossOK     func() bool // stops need not be reported now: GDB has left
	// void says that the end of a thread's step means nothing any more: GDB has let it go on.
	void func(ThreadID) bool
}

type fakeProcess struct {
	attached bool
	memory   []byte // from memBase on
	breaks   map[breakKey]Breakpoint
}

type fakeThread struct {
	id         ThreadID
	running    bool
	regs       []byte
	unreported *Stop // not reported to GDB yet
}

const (
	memBase = 0x400000
	memSize = 0x3000
)

func newFake(caps Caps) *fake {
	return &fake{
		caps: caps, desc: rsp.TargetX86Linux(rsp.CPU{}), procs: map[int]*fakeProcess{}, events: make(chan Stop, 1<<10),
		nextPID: 100, lossOK: func() bool { return false }, void: func(ThreadID) bool { return false },
	}
}

// start makes a process of n stopped threads.
func (f *fake) start(n int) int {
	pid := f.nextPID
	f.nextPID += 100
	p := &fakeProcess{memory: make([]byte, memSize), breaks: map[breakKey]Breakpoint{}}
	for i := range p.memory {
		p.memory[i] = byte(i*7 + i>>8)
	}
	f.procs[pid] = p
	for i := range n {
		f.addThread(ThreadID{pid, pid + i}, false)
	}
	return pid
}

func (f *fake) addThread(id ThreadID, running bool) *fakeThread {
	t := &fakeThread{id: id, running: running, regs: make([]byte, f.desc.Size)}
	for i := range t.regs {
		t.regs[i] = byte(id.TID + i)
	}
	f.setReg(t, "rip", memBase+uint64(id.TID%16)*16)
	f.threads = append(f.threads, t)
	return t
}

func (f *fake) setReg(t *fakeThread, name string, v uint64) {
	for _, r := range f.desc.Registers {
		if r.Name == name {
			binary.LittleEndian.PutUint64(t.regs[r.Offset:], v)
		}
	}
}

func (f *fake) complain(format string, args ...any) {
	f.complaints = append(f.complaints, fmt.Sprintf(format, args...))
}

func (f *fake) call(format string, args ...any) {
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
}

// took returns the calls since the last time.
func (f *fake) took() []string {
	calls := f.calls
	f.calls = nil
	return calls
}

func (f *fake) thread(id ThreadID) *fakeThread {
	for _, t := range f.threads {
		if t.id == id {
			return t
		}
	}
	return nil
}

func (f *fake) must(id ThreadID, what string) *fakeThread {
	t := f.thread(id)
	if t == nil {
		f.complain("%s: there is no thread %v", what, id)
		return &fakeThread{id: id, regs: make([]byte, f.desc.Size)}
	}
	return t
}

// stopped stops a thread because of s.
func (f *fake) stopped(s Stop) {
	if t := f.thread(s.Thread); t != nil && ofThread(s) {
		t.running = false
		if s.Kind != StopHalted {
			t.unreported = &s
		}
	}
}

// happen lets s happen and delivers it.
func (f *fake) happen(s Stop) {
	f.stopped(s)
	f.events <- s
}

// removeThreads removes those that match.
func (f *fake) removeThreads(match func(ThreadID) bool) {
	f.threads = slices.DeleteFunc(f.threads, func(t *fakeThread) bool { return match(t.id) })
}

// exit ends a process.
func (f *fake) exit(s Stop) {
	f.removeThreads(func(id ThreadID) bool { return id.PID == s.Thread.PID })
	delete(f.procs, s.Thread.PID)
	f.gone = append(f.gone, s)
	f.events <- s
}

func (f *fake) Caps() Caps { return f.caps }

func (f *fake) SetOptions(o Options) { f.opts = o }

func (f *fake) Description() *rsp.Target { return f.desc }

func (f *fake) Processes() []int {
	var list []int
	for pid := range f.procs {
		list = append(list, pid)
	}
	slices.Sort(list)
	return list
}

func (f *fake) process(pid int, what string) *fakeProcess {
	p := f.procs[pid]
	if p == nil {
		f.complain("%s: there is no process %d", what, pid)
		return &fakeProcess{breaks: map[breakKey]Breakpoint{}}
	}
	return p
}

func (f *fake) Attached(pid int) bool { return f.process(pid, "Attached").attached }

func (f *fake) Launch(opt LaunchOptions) (Stop, error) {
	if !f.caps.Multi {
		f.complain("Launch without Multi")
	}
	if opt.Args[0] == "/missing" {
		return Stop{}, errors.New("start /missing: no such file or directory")
	}
	f.launched = opt
	pid := f.start(1)
	return Stop{Kind: StopHalted, Thread: ThreadID{pid, pid}}, nil
}

func (f *fake) Attach(pid int) (Stop, error) {
	if !f.caps.Multi {
		f.complain("Attach without Multi")
	}
	if f.procs[pid] != nil {
		return Stop{}, fmt.Errorf("attach to %d: it is traced already", pid)
	}
	if pid < 1000 {
		return Stop{}, fmt.Errorf("attach to %d: no such process", pid)
	}
	f.procs[pid] = &fakeProcess{attached: true, breaks: map[breakKey]Breakpoint{}}
	for i := range 2 {
		if f.thread(ThreadID{pid, pid + i}) == nil {
			f.addThread(ThreadID{pid, pid + i}, false)
		}
	}
	return Stop{Kind: StopHalted, Thread: ThreadID{pid, pid}}, nil
}

func (f *fake) let(pid int, what string) error {
	f.process(pid, what)
	f.call("%s %d", what, pid)
	delete(f.procs, pid)
	f.removeThreads(func(id ThreadID) bool { return id.PID == pid })
	return nil
}

func (f *fake) Detach(pid int) error { return f.let(pid, "Detach") }

func (f *fake) Kill(pid int) error { return f.let(pid, "Kill") }

func (f *fake) Threads() []Thread {
	var list []Thread
	for _, t := range f.threads {
		list = append(list, Thread{ID: t.id, Stopped: !t.running})
	}
	return list
}

func (f *fake) Facts(id ThreadID) ThreadFacts {
	return ThreadFacts{Name: "worker", Extra: fmt.Sprintf("the thread %d", id.TID), Core: id.TID % 2}
}

func (f *fake) Resume(list []Resumption) error {
	if len(list) == 0 {
		f.complain("Resume of nothing")
	}
	seen := map[ThreadID]bool{}
	for _, r := range list {
		t := f.must(r.Thread, "Resume")
		switch {
		case seen[r.Thread]:
			f.complain("Resume: %v twice", r.Thread)
		case t.running:
			f.complain("Resume: %v runs", r.Thread)
		case t.unreported != nil && !f.lossOK() && (t.unreported.Kind != StopStep || r.Step && !f.void(r.Thread)): // a step is void for a thread that runs on
			f.complain("Resume: %v has %+v to report", r.Thread, *t.unreported)
		case r.Hi < r.Lo || r.Hi > 0 && !r.Step || r.Signal < 0 || r.Signal > 64:
			f.complain("Resume: %+v", r)
		}
		seen[r.Thread] = true
		t.running, t.unreported = true, nil
		f.call("Resume %d step=%v [%#x,%#x) sig=%d", r.Thread.TID, r.Step, r.Lo, r.Hi, r.Signal)
	}
	return nil
}

func (f *fake) Halt(list []ThreadID) error {
	for _, id := range list {
		f.call("Halt %d", id.TID)
		if t := f.must(id, "Halt"); t.running {
			f.happen(Stop{Kind: StopHalted, Thread: id})
		}
	}
	return nil
}

func (f *fake) HaltAll() ([]Stop, error) {
	var stops []Stop
	for _, s := range f.atHalt {
		if t := f.thread(s.Thread); t != nil && t.running {
			f.stopped(s)
			stops = append(stops, s)
		}
	}
	f.atHalt = nil
	for _, t := range f.threads {
		t.running = false
	}
	f.call("HaltAll")
	return stops, nil
}

func (f *fake) EndTold(pid int) { f.endTold = append(f.endTold, uint64(pid)) }

func (f *fake) Ending() bool { return false }

func (f *fake) Confirm(s Stop) bool {
	t := f.must(s.Thread, "Confirm")
	if t.running {
		f.complain("Confirm: %v runs", s.Thread)
	}
	if s.Kind == StopBreakpoint {
		if _, ok := f.process(s.Thread.PID, "Confirm").breaks[breakKey{s.Thread.PID, 0, s.Addr, 1}]; !ok {
			t.unreported = nil
			return false
		}
	}
	return true
}

func (f *fake) Events() <-chan Stop { return f.events }

func (f *fake) Registers(id ThreadID) (rsp.Registers, error) {
	t := f.thread(id)
	if t == nil {
		return rsp.Registers{}, fmt.Errorf("thread %d is gone", id.TID)
	}
	if t.running {
		f.complain("Registers: %v runs", id)
	}
	return rsp.Registers{Data: slices.Clone(t.regs)}, nil
}

func (f *fake) SetRegisters(id ThreadID, data []byte) error {
	t := f.thread(id)
	if t == nil {
		return fmt.Errorf("thread %d is gone", id.TID)
	}
	if t.running || len(data) != f.desc.Size {
		f.complain("SetRegisters: %v runs %v, %d bytes", id, t.running, len(data))
	}
	copy(t.regs, data)
	return nil
}

func (f *fake) SetRegister(id ThreadID, n int, data []byte) error {
	t := f.thread(id)
	if t == nil {
		return fmt.Errorf("thread %d is gone", id.TID)
	}
	if t.running || n < 0 || n >= len(f.desc.Registers) || len(data) != f.desc.Registers[n].Bits/8 {
		f.complain("SetRegister: %v runs %v, register %d, %d bytes", id, t.running, n, len(data))
		return nil
	}
	copy(t.regs[f.desc.Registers[n].Offset:], data)
	return nil
}

func (f *fake) ReadMemory(pid int, addr uint64, b []byte) (int, error) {
	p := f.process(pid, "ReadMemory")
	n := copy(b, p.at(addr))
	if n < len(b) {
		return n, fmt.Errorf("no memory at %#x", addr+uint64(n))
	}
	return n, nil
}

func (f *fake) WriteMemory(pid int, addr uint64, b []byte) error {
	p := f.process(pid, "WriteMemory")
	there := p.at(addr)
	if len(there) < len(b) {
		return fmt.Errorf("no memory at %#x", addr+uint64(len(there)))
	}
	copy(there, b)
	return nil
}

// at is the memory from addr on.
func (p *fakeProcess) at(addr uint64) []byte {
	if addr < memBase || addr-memBase > uint64(len(p.memory)) {
		return nil
	}
	return p.memory[addr-memBase:]
}

func (f *fake) Insert(pid int, b Breakpoint) error {
	if b.Type == rsp.WatchpointRead {
		return ErrUnsupported
	}
	if b.Addr == 0 {
		return errors.New("no memory at 0x0")
	}
	f.process(pid, "Insert").breaks[breakKey{pid, b.Type, b.Addr, b.Kind}] = b
	return nil
}

func (f *fake) Remove(pid int, typ rsp.BreakpointType, addr uint64, kind int) error {
	delete(f.process(pid, "Remove").breaks, breakKey{pid, typ, addr, kind})
	return nil
}

func (f *fake) Object(_ ThreadID, object, annex string) ([]byte, error) {
	f.call("Object %s %s", object, annex)
	if object == "osdata" && annex == "nothing" {
		return nil, errors.New("no such table")
	}
	data := make([]byte, 5000)
	for i := range data {
		data[i] = byte(i*i>>4 + len(f.calls)) // another one each time
	}
	return data, nil
}

func (f *fake) WriteObject(_ ThreadID, _, _ string, _ uint64, data []byte) (int, error) {
	return len(data), nil
}

func (f *fake) ThreadLocal(_ ThreadID, offset, linkMap uint64) (uint64, error) {
	if linkMap == 0 {
		return 0, errors.New("no module has this link map")
	}
	return offset + linkMap, nil
}

func (f *fake) Traced(pid int)          { f.traced = pid }
func (f *fake) Offsets() (uint64, bool) { return 0x1000, f.caps.Kernel }

func (f *fake) Files(int) FileSystem { return fakeFiles{} }

func (f *fake) Monitor(command string) (string, error) {
	f.monitored = append(f.monitored, command)
	switch command {
	case "help":
		return "monitor list  what there is\n", nil
	case "list":
		return "nothing\n", nil
	case "fail":
		return "", errors.New("it fails")
	}
	return "", ErrUnsupported
}

func (f *fake) Engine() experiment.Engine { return nil }

func (f *fake) Close() error { return nil }

// fakeFiles has one file, "/hello".
type fakeFiles struct{}

const hello = "hello, $world}\n#"

func (fakeFiles) Open(path string, _, _ uint64) (int, error) {
	switch path {
	case "/hello":
		return 7, nil
	case "/long":
		return 0, syscall.ENAMETOOLONG
	case "/odd":
		return 0, syscall.EPROTO
	}
	return 0, syscall.ENOENT
}

func (fakeFiles) Close(int) error { return nil }

func (fakeFiles) Pread(_ int, b []byte, offset int64) (int, error) {
	if offset >= int64(len(hello)) {
		return 0, nil
	}
	return copy(b, hello[offset:]), nil
}

func (fakeFiles) Pwrite(_ int, b []byte, _ int64) (int, error) { return len(b), nil }

func (fakeFiles) Fstat(int) (rsp.Stat, error) { return rsp.Stat{Size: uint64(len(hello))}, nil }

func (fakeFiles) Stat(string) (rsp.Stat, error) { return rsp.Stat{}, syscall.EACCES }

func (fakeFiles) Lstat(string) (rsp.Stat, error) { return rsp.Stat{Mode: 0o120777}, nil }

func (fakeFiles) Unlink(string) error { return syscall.EROFS }

func (fakeFiles) Readlink(string) (string, error) { return "/hello", nil }

// fakeExperiment has one frame, that has one register and no memory but some at
// memBase.
type fakeExperiment struct {
	size    int
	frame   int
	goesOn  bool
	ticks   int
	handled []rsp.Packet
}

func (e *fakeExperiment) Handle(p rsp.Packet) (rsp.Packet, bool) {
	e.handled = append(e.handled, p)
	switch p := p.(type) {
	case rsp.SelectFrame:
		e.frame = -1
		if p.Query.Kind == rsp.FrameNumber && p.Query.Frame == 0 {
			e.frame = 0
		}
		return rsp.FrameFound{Frame: int64(e.frame)}, true
	case rsp.SetDisconnected:
		e.goesOn = p.On
		return rsp.OK{}, true
	case rsp.DefineTracepoint:
		return rsp.OK{}, true
	case rsp.QueryTrace:
		return rsp.TraceStatus{Running: true}, true
	}
	return nil, false
}

func (e *fakeExperiment) Features() []rsp.Feature {
	return []rsp.Feature{{Name: "tracenz", Mark: '+'}, {Name: "ConditionalTracepoints", Mark: '+'}}
}

func (e *fakeExperiment) Running() bool      { return e.goesOn }
func (e *fakeExperiment) Tick()              { e.ticks++ }
func (e *fakeExperiment) Disconnected() bool { return e.goesOn }
func (e *fakeExperiment) SelectedFrame() int { return e.frame }
func (e *fakeExperiment) Report() string     { return "1 hit\n" }
func (e *fakeExperiment) ResetFrame()        { e.frame = -1 }
func (e *fakeExperiment) FrameInfo() []byte  { return []byte("<traceframe-info/>") }

func (e *fakeExperiment) FrameRegisters() rsp.Registers {
	v := rsp.Registers{Data: make([]byte, e.size), Missing: make([]bool, e.size)}
	for i := range v.Missing {
		v.Missing[i] = i >= 8
	}
	v.Data[0] = 0x55
	return v
}

func (e *fakeExperiment) FrameMemory(addr uint64, b []byte) int {
	if addr != memBase {
		return 0
	}
	return copy(b, "\xde\xad\xbe\xef")
}

func (e *fakeExperiment) StaticData() ([]byte, bool) { return []byte("static"), e.frame >= 0 }
