package experiment

import (
	"debug/elf"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// simulated is an engine that interprets what GDB asks for at hits of a program that
// does not run: states that the test has.
type simulated struct {
	*fake
	states []state
	vars   map[int]uint64
}

// state is where a thread is, with what.
type state struct {
	addr   uint64
	regs   map[int]uint64
	memory ram
	static string
}

// ram is memory by its start.
type ram map[uint64][]byte

func (m ram) Read(addr uint64, buf []byte) int {
	n := 0
	for more := true; more && n < len(buf); {
		more = false
		for start, data := range m {
			if at := addr + uint64(n); at >= start && at-start < uint64(len(data)) {
				n += copy(buf[n:], data[at-start:])
				more = true
			}
		}
	}
	return n
}

func (s *simulated) Start(list []*Spec, vars []Variable) []error {
	s.vars = map[int]uint64{}
	for _, v := range vars {
		s.vars[v.Number] = uint64(v.Value)
	}
	for k, st := range s.states {
		for _, spec := range list {
			if !spec.Enabled || spec.Addr != st.addr {
				continue
			}
			m := &agentexpr.Machine{Mem: st.memory, Vars: s.vars}
			for n, v := range st.regs {
				m.Regs[n] = v
			}
			m.Regs[16] = st.addr
			s.vars[TimestampVariable] = uint64(k+2) * 1e6
			hit := Hit{Spec: spec, Time: int64(k+2) * 1e9, TID: 100, CPU: -1, Static: st.static}
			if hit.Frame = spec.Program.Run(m).Frame; hit.Frame == nil {
				continue
			}
			s.queue = append(s.queue, hit)
			for n := range spec.Steps {
				steps := agentexpr.Site{Actions: spec.StepActions}
				m.Regs[16]++
				s.queue = append(s.queue, Hit{Spec: spec, Step: true, PC: m.Regs[16], Time: hit.Time + int64(n), TID: 100, Frame: steps.Run(m).Frame})
			}
		}
	}
	return s.fake.Start(list, vars)
}

func (s *simulated) Variable(n int) (int64, bool) { v, ok := s.vars[n]; return int64(v), ok }

// stub is a remote stub around an experiment: a stopped process.
type stub struct {
	x      *Experiment
	target *rsp.Target
	pc     uint64
	memory ram
	errors []error
}

const packetSize = 0x1000

// serve answers one client after the other until the listener is closed.
func (s *stub) serve(l *rsp.Listener) {
	for {
		stream, err := l.Accept()
		if err != nil {
			return
		}
		c := rsp.NewConn(stream, rsp.LinkConfig{PacketSize: packetSize})
		for e := range c.Events() {
			if e.Kind != rsp.EventPacket {
				continue
			}
			p, err := rsp.Parse(e.Payload)
			if err != nil {
				s.errors = append(s.errors, err)
				p = rsp.Unknown{}
			}
			reply, known := s.x.Handle(p)
			if !known {
				reply = s.answer(p)
			}
			if err := c.Send(rsp.Encode(reply)); err != nil {
				s.errors = append(s.errors, err)
			}
		}
		c.Close()
		s.x.Disconnected()
		s.x.ResetFrame()
	}
}

func (s *stub) answer(p rsp.Packet) rsp.Packet {
	me := rsp.ThreadID{PID: 100, TID: 100, Multi: true}
	switch p := p.(type) {
	case rsp.QuerySupported:
		return rsp.Supported{Features: append(s.x.Features(),
			rsp.Feature{Name: "PacketSize", Mark: '=', Value: fmt.Sprintf("%x", packetSize)},
			rsp.Feature{Name: "multiprocess", Mark: '+'},
			rsp.Feature{Name: "qXfer:features:read", Mark: '+'},
			rsp.Feature{Name: "qXfer:traceframe-info:read", Mark: '+'},
			rsp.Feature{Name: "qXfer:statictrace:read", Mark: '+'})}
	case rsp.QueryHalt:
		return rsp.Stopped{Signal: 5, Thread: &me}
	case rsp.XferRead:
		switch p.Object {
		case "features":
			return rsp.Chunk(s.target.XML(), p.Offset, p.Length, packetSize)
		case "traceframe-info":
			return rsp.Chunk(s.x.FrameInfo(), p.Offset, p.Length, packetSize)
		case "statictrace":
			if data, ok := s.x.StaticData(); ok {
				return rsp.Chunk(data, p.Offset, p.Length, packetSize)
			}
			return rsp.Error{Code: 1}
		}
	case rsp.ReadMemory:
		b := make([]byte, min(p.Length, packetSize/2))
		var n int
		if s.x.SelectedFrame() >= 0 {
			n = s.x.FrameMemory(p.Addr, b)
		} else {
			n = s.memory.Read(p.Addr, b)
		}
		if n == 0 {
			return rsp.Error{Code: 14}
		}
		return rsp.MemoryData{Data: b[:n]}
	case rsp.ReadRegisters:
		if s.x.SelectedFrame() >= 0 {
			return rsp.RegisterData{Values: s.x.FrameRegisters()}
		}
		v := rsp.Registers{Data: make([]byte, s.target.Size)}
		for i := range 8 {
			v.Data[16*8+i] = byte(s.pc >> (8 * i))
		}
		return rsp.RegisterData{Values: v}
	case rsp.QueryAttached:
		return rsp.Attached{Before: true}
	case rsp.QueryThread:
		return rsp.CurrentThread{Thread: me}
	case rsp.SelectThread, rsp.ThreadAlive, rsp.Detach, rsp.SymbolLookup:
		return rsp.OK{}
	}
	return rsp.Unsupported{}
}

// compile builds testdata/work.c and gives the addresses of its symbols, and its
// code as memory.
func compile(t *testing.T, dir string) (bin string, symbols map[string]uint64, code ram) {
	t.Helper()
	bin = filepath.Join(dir, "work")
	if out, err := exec.Command("gcc", "-g", "-O1", "-no-pie", "-fcf-protection=none", "-o", bin, "testdata/work.c").CombinedOutput(); err != nil {
		t.Fatalf("build testdata/work.c: %v\n%s", err, out)
	}
	f, err := elf.Open(bin)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	symbols = map[string]uint64{}
	for _, s := range list {
		symbols[s.Name] = s.Value
	}
	text := f.Section(".text")
	data, err := text.Data()
	if err != nil {
		t.Fatal(err)
	}
	return bin, symbols, ram{text.Addr: data}
}
