package rsp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"
)

// cannedStub replies to GDB from a table: a process stopped in work, with two threads, a trace of one frame,
// and documents of this package.
type cannedStub struct {
	target    *Target
	symbols   map[string]uint64
	documents map[Word][]byte
	memory    map[uint64][]byte
	frame     bool // frame 0 is selected
	started   bool // pieces of the tracepoint are being uploaded
	unknown   []string
	errors    []error
}

const packetSize = 0x400

// serve answers one client until it goes.
func (s *cannedStub) serve(l *Listener) error {
	stream, err := l.Accept()
	if err != nil {
		return err
	}
	c := NewConn(stream, LinkConfig{PacketSize: packetSize})
	defer c.Close()
	for e := range c.Events() {
		switch e.Kind {
		case EventClosed:
			return e.Err
		case EventPacket:
			p, err := Parse(e.Payload)
			if err != nil {
				s.errors = append(s.errors, err)
				_ = c.Send(Encode(Error{1}))
				continue
			}
			if _, ok := p.(StartNoAck); ok {
				c.StartNoAck()
			}
			if err := c.Send(Encode(s.answer(p))); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *cannedStub) answer(p Packet) Packet {
	me := ThreadID{100, 100, true}
	switch p := p.(type) {
	case QuerySupported:
		return Supported{[]Feature{
			{"PacketSize", '=', fmt.Sprintf("%x", packetSize)},
			{"QStartNoAckMode", '+', ""},
			{"multiprocess", '+', ""},
			{"qXfer:features:read", '+', ""},
			{"qXfer:threads:read", '+', ""},
			{"qXfer:auxv:read", '+', ""},
			{"qXfer:memory-map:read", '+', ""},
			{"qXfer:libraries-svr4:read", '+', ""},
			{"qXfer:traceframe-info:read", '+', ""},
			{"qXfer:exec-file:read", '+', ""},
			{"swbreak", '+', ""},
		}}
	case QueryHalt:
		return Stopped{Signal: 5, Thread: &me}
	case XferRead:
		doc, ok := s.documents[p.Object]
		if !ok {
			return Error{1}
		}
		return Chunk(doc, p.Offset, p.Length, packetSize)
	case ReadMemory:
		for start, data := range s.memory {
			if p.Addr >= start && p.Addr-start < uint64(len(data)) {
				rest := data[p.Addr-start:]
				return MemoryData{Bytes(rest[:min(p.Length, uint64(len(rest)), packetSize/2)])}
			}
		}
		return Error{14}
	case ReadRegisters:
		return RegisterData{s.registers()}
	case QueryTrace:
		return TraceStatus{
			Stop: StopFull, Frames: ptr(uint64(1)), Created: ptr(uint64(1)), Circular: ptr(false), Disconnected: ptr(false),
			Notes: ptr(Text("canned")),
		}
	case FirstTracepoint:
		s.started = true
		return UploadedTracepoint{Number: 7, Addr: s.symbols["work"], Enabled: true, Pass: 3}
	case NextTracepoint:
		if s.started {
			s.started = false
			return UploadedSource{7, s.symbols["work"], "at", 0, 4, "work"}
		}
		return EndOfList{}
	case FirstVariable:
		return UploadedVariable{Number: 1, Value: 5, Name: "canned"}
	case NextVariable:
		return EndOfList{}
	case SelectFrame:
		s.frame = p.Query.Kind == FrameNumber && p.Query.Frame == 0
		if s.frame {
			return FrameFound{0, ptr(uint64(7))}
		}
		return FrameFound{Frame: -1}
	case QueryVariable:
		return VariableValue{77}
	case QueryTracepoint:
		return TracepointUsage{1, 64}
	case QueryAttached:
		return Attached{true}
	case QueryThread:
		return CurrentThread{me}
	case FirstMarker:
		return Markers{[]Marker{{s.symbols["mark"], "my_marker", "a:b,c"}}}
	case NextMarker:
		return EndOfList{}
	case StartNoAck, SelectThread, ThreadAlive, Detach, SymbolLookup, SetAgent, ReadOnlyRanges, StopTrace, SetNonStop:
		return OK{}
	case Unknown:
		s.unknown = append(s.unknown, string(p.Payload))
	}
	return Unsupported{}
}

// registers are 0 but for rip; in the frame only rip has been collected.
func (s *cannedStub) registers() Registers {
	v := Registers{Data: make([]byte, s.target.Size)}
	if s.frame {
		v.Missing = make([]bool, s.target.Size)
	}
	for _, r := range s.target.Registers {
		if r.Name == "rip" {
			binary.LittleEndian.PutUint64(v.Data[r.Offset:], s.symbols["work"])
			continue
		}
		for i := 0; s.frame && i < r.Bits/8; i++ {
			v.Missing[r.Offset+i] = true
		}
	}
	return v
}

// TestOracleDocuments: GDB reads the documents of this package from a stub made of
// it, over TCP and over a unix socket.
func TestOracleDocuments(t *testing.T) {
	dir := t.TempDir()
	bin := build(t, dir, false)
	for _, place := range []string{":0", "unix:" + dir + "/gdb.sock"} {
		l, err := Listen(place)
		if err != nil {
			t.Fatal(err)
		}
		s := canned(t, bin)
		done := make(chan error, 1)
		go func() { done <- s.serve(l) }()
		out := drive(t, strings.Join([]string{
			"set sysroot", "target remote " + l.Addr(), "info threads", "info mem", "info sharedlibrary", "info auxv",
			"print total", "print/x $rip", "print $rsp", "tstatus", "info tracepoints", "info static-tracepoint-markers",
			"tfind 0", "print $rsp", "print total", "print where", "print $canned", "tfind none", "print where", "detach", "",
		}, "\n"), bin)
		if err := <-done; err != nil {
			t.Errorf("%s: the stub ends: %v", place, err)
		}
		l.Close()
		for _, want := range []string{
			`"first <&> thread"`, "(running & waiting)", `Thread 100.101`,
			"0x0000000000001000 0x0000000000400000 ro", "0x0000000000400000 0x0000000000800000 rw",
			"/nonexistent/lib<x>&.so", "AT_PAGESZ", "4096",
			"$1 = 1234", fmt.Sprintf("$2 = %#x", s.symbols["work"]), "$3 = (void *) 0x0",
			"Trace stopped because the buffer was full", "Trace notes: canned",
			"pass count 3", "already hit 1 time", "trace buffer usage 64 bytes", "my_marker", `"a:b,c"`,
			"Found trace frame 0, tracepoint", "$4 = <unavailable>", "$5 = 1234", "$6 = <unavailable>", "$7 = 77",
			"$8 = {x = 8, y = 9}",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q", place, want)
			}
		}
		if len(s.errors)+len(s.unknown) > 0 {
			t.Errorf("%s: errors %v, unknown %q", place, s.errors, s.unknown)
		}
		if t.Failed() {
			t.Fatalf("GDB said:\n%s", out)
		}
	}
}

// canned is a stub for the program bin.
func canned(t *testing.T, bin string) *cannedStub {
	t.Helper()
	s := &cannedStub{target: TargetX86Linux(CPU{AVX: true}), symbols: symbols(t, bin)}
	le := binary.LittleEndian
	var auxv []byte
	for _, pair := range [][2]uint64{{6, 4096}, {0, 0}} {
		auxv = le.AppendUint64(le.AppendUint64(auxv, pair[0]), pair[1])
	}
	image, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	total := s.symbols["total"]
	s.documents = map[Word][]byte{
		"features": s.target.XML(),
		"threads": ThreadsXML([]ThreadInfo{
			{ID: ThreadID{100, 100, true}, Core: 0, Name: "first <&> thread"},
			{ID: ThreadID{100, 101, true}, Core: -1, Extra: "running & waiting"},
		}),
		"auxv": auxv,
		"memory-map": MemoryMapXML([]MemoryRegion{
			{Kind: MemoryROM, Start: 0x1000, Length: 0x400000 - 0x1000},
			{Kind: MemoryRAM, Start: 0x400000, Length: 0x400000},
		}),
		"libraries-svr4": LibrariesXML(0x1000, []Library{
			{Name: "/nonexistent/lib<x>&.so", LinkMap: 0x2000, Base: 0x7f0000000000, Dynamic: 0x7f0000001000, Namespace: 0x3000},
		}),
		"exec-file":       []byte(bin),
		"traceframe-info": TraceFrameInfoXML([]MemoryRegion{{Start: total, Length: 4}}, []uint64{1}),
	}
	s.memory = map[uint64][]byte{
		total:                 le.AppendUint32(nil, 1234),
		s.symbols["where"]:    {8, 0, 0, 0, 9, 0, 0, 0},
		s.symbols["work"]:     bytes.Repeat([]byte{0x90}, 64),
		0x400000:              image[:min(len(image), 0x1000)],
		s.symbols["_DYNAMIC"]: make([]byte, 0x200),
	}
	return s
}
