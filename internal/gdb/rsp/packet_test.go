package rsp

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

const rounds = 400 // random values of each struct

// TestRoundTrip: Parse(Encode(x)) == x for every packet of GDB, and ParseReply for
// every reply to every request.
func TestRoundTrip(t *testing.T) {
	seed := uint64(testkit.Seed(t, 20))
	r := rand.New(rand.NewPCG(seed, seed))
	n := 0
	for _, table := range tables {
		for _, rule := range table {
			typ := reflect.TypeOf(rule.packet)
			for range rounds {
				want := randomPacket(r, typ)
				payload := Encode(want)
				got, err := Parse(payload)
				check(t, payload, got, want, err)
				n++
			}
			for _, reply := range append(append([]Packet{}, universal...), rule.replies...) {
				for range rounds / 4 {
					want := randomPacket(r, reflect.TypeOf(reply))
					payload := Encode(want)
					if len(payload) == 0 && reply != (Unsupported{}) {
						continue // an empty answer always means Unsupported
					}
					got, err := ParseReply(rule.packet, payload)
					check(t, payload, got, want, err)
					n++
				}
			}
			if t.Failed() {
				t.Fatalf("%T, seed %d", rule.packet, seed)
			}
		}
	}
	t.Logf("%d values, seed %d", n, seed)
}

func check(t *testing.T, payload []byte, got, want Packet, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%T %q: %v", want, payload, err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%q:\ngot  %#v\nwant %#v", payload, got, want)
	}
}

func ptr[T any](v T) *T { return &v }

// examples are packets as GDB 13.1 and gdbserver send them, or as the manual prints
// them, with their meaning.
var examples = []struct {
	payload string
	want    Packet
}{
	{"?", QueryHalt{}},
	{"m7ffff7fcc060,1f0", ReadMemory{0x7ffff7fcc060, 0x1f0}},
	{"X5555555580a4,4:\x05\x00\x00\x00", WriteBinary{0x5555555580a4, 4, Raw("\x05\x00\x00\x00")}},
	{"P0=0100000000000000", WriteRegister{0, Bytes{1, 0, 0, 0, 0, 0, 0, 0}}},
	{"vCont;r5555555551ad,5555555551b2:p57c3.57c3;c:p57c3.-1", Resume{[]ResumeAction{
		{Kind: 'r', Range: Range{0x5555555551ad, 0x5555555551b2}, Thread: &ThreadID{0x57c3, 0x57c3, true}},
		{Kind: 'c', Thread: &ThreadID{0x57c3, -1, true}},
	}}},
	{"Hgp57c3.57ce", SelectThread{Thread: ThreadID{0x57c3, 0x57ce, true}}},
	{"Hc-1", SelectThread{Continue: true, Thread: ThreadID{TID: AllThreads}}},
	{"QPassSignals:e;10;14;", PassSignals{[]uint64{0xe, 0x10, 0x14}}},
	{"QPassSignals:", PassSignals{}},
	{"qSymbol::", SymbolLookup{}},
	{"qSymbol:5555:6d61696e", SymbolLookup{ptr(uint64(0x5555)), "main"}},
	{"qXfer:features:read:target.xml:0,1000", XferRead{"features", "target.xml", 0, 0x1000}},
	{"qXfer:siginfo:write::0:\x01:", XferWrite{"siginfo", "", 0, Raw("\x01:")}},
	{"Z0,4005d0,1;X2,2203X3,220427;cmds:1,X2,2227", InsertBreakpoint{
		Addr: 0x4005d0, Kind: 1,
		Conditions: []Expr{{0x22, 3}, {0x22, 4, 0x27}}, Persist: true, Commands: []Expr{{0x22, 0x27}},
	}},
	{"Z0,4005d0,1;cmds:0,X1,27", InsertBreakpoint{Addr: 0x4005d0, Kind: 1, Commands: []Expr{{0x27}}}},
	{"QTDP:1:555555555159:E:0:0:F5:X3,220127-", DefineTracepoint{
		Number: 1, Addr: 0x555555555159,
		Enabled: true, Fast: ptr(uint64(5)), Condition: Expr{0x22, 1, 0x27}, More: true,
	}},
	{"QTDP:2:1000:D:3:10:S", DefineTracepoint{Number: 2, Addr: 0x1000, Step: 3, Pass: 16, Static: true}},
	{"QTDP:-1:1000:R03ffX00000001,27M-1,ffffffffffffff00,1FM6,8,4L-", DefineActions{
		Number: 1, Addr: 0x1000,
		Actions: []Action{
			{Kind: 'R', Mask: Bytes{3, 0xff}},
			{Kind: 'X', Expr: Expr{0x27}},
			{Kind: 'M', Base: -1, Offset: 0xffffffffffffff00, Length: 0x1f},
			{Kind: 'M', Base: 6, Offset: 8, Length: 4},
			{Kind: 'L'},
		}, More: true,
	}},
	{"QTDP:-1:1000:SX00000001,27", DefineActions{
		Number: 1, Addr: 0x1000, Stepping: true,
		Actions: []Action{{Kind: 'X', Expr: Expr{0x27}}},
	}},
	{"QTDPsrc:1:1000:cond:0:5:693e3132", DefineSource{1, 0x1000, "cond", 0, 5, "i>12"}},
	{"QTDV:1:fffffffffffffffe:0:76", DefineVariable{1, 0xfffffffffffffffe, 0, "v"}},
	{"QTro:1000,2000:3000,4000", ReadOnlyRanges{[]Range{{0x1000, 0x2000}, {0x3000, 0x4000}}}},
	{"QTro", ReadOnlyRanges{}},
	{"QTBuffer:size:-1", SetBufferSize{-1}},
	{"QTNotes:user:7a;notes:;", SetNotes{[]Note{{"user", "z"}, {"notes", ""}}}},
	{"QTFrame:ffffffff", SelectFrame{FrameQuery{Frame: -1}}},
	{"QTFrame:outside:10:20", SelectFrame{FrameQuery{Kind: FrameOutside, Range: Range{0x10, 0x20}}}},
	{"qTBuffer:0,400", ReadTraceBuffer{0, 0x400}},
	{"qCRC:1000,20", MemoryCRC{0x1000, 0x20}},
	{"qSearch:memory:1000;20;a;b", SearchMemory{0x1000, 0x20, Raw("a;b")}},
	{"vRun;2f62696e;61;;62", Run{"/bin", []Text{"a", "", "b"}}},
	{"vRun;", Run{}},
	{"QCatchSyscalls:1;0;5", CatchSyscalls{true, []uint64{0, 5}}},
	{"vFile:pwrite:3,0,a,b;c", FileWrite{3, 0, Raw("a,b;c")}},
	{"F-1,4,C", FileResult{Result: -1, Errno: ptr(uint64(4)), Interrupted: true}},
	{"qCfoo", Unknown{Raw("qCfoo")}},
	{"vFoo;1", Unknown{Raw("vFoo;1")}},
	{"qTfXYZ", Unknown{Raw("qTfXYZ")}},
	{"", Unknown{Raw{}}},
}

func TestExamples(t *testing.T) {
	for _, e := range examples {
		got, err := Parse([]byte(e.payload))
		check(t, []byte(e.payload), got, e.want, err)
		if back := Encode(got); string(back) != e.payload {
			t.Errorf("%q comes back as %q", e.payload, back)
		}
	}
}

// replyExamples are answers to the request of their row.
var replyExamples = []struct {
	request Packet
	payload string
	want    Packet
}{
	{
		QueryHalt{},
		"T0506:0100000000000000;07:f0e6ffffff7f0000;10:ae51555555550000;thread:p57c3.57c3;core:1;",
		Stopped{Signal: 5, Registers: []RegisterValue{
			{6, Bytes{1, 0, 0, 0, 0, 0, 0, 0}},
			{7, Bytes{0xf0, 0xe6, 0xff, 0xff, 0xff, 0x7f, 0, 0}},
			{0x10, Bytes{0xae, 0x51, 0x55, 0x55, 0x55, 0x55, 0, 0}},
		}, Thread: &ThreadID{0x57c3, 0x57c3, true}, Core: ptr(uint64(1))},
	},
	{QueryHalt{}, "T05watch:00005555555580a4;", Stopped{Signal: 5, Reasons: []Reason{{Kind: WatchWrite, Number: 0x5555555580a4}}}},
	{QueryHalt{}, "T05fork:p1.2;thread:p3.3;", Stopped{
		Signal: 5, Reasons: []Reason{{Kind: Forked, Thread: ThreadID{1, 2, true}}},
		Thread: &ThreadID{3, 3, true},
	}},
	{QueryHalt{}, "T05exec:2f62;swbreak:;", Stopped{Signal: 5, Reasons: []Reason{{Kind: Execed, Text: "/b"}, {Kind: SoftwareBreak}}}},
	{QueryHalt{}, "W03;process:57c3", Exited{3, ptr(uint64(0x57c3))}},
	{QueryHalt{}, "w00;p1.2", ThreadExited{0, ThreadID{1, 2, true}}},
	{ReadMemory{}, "E01", Error{1}},
	{ReadMemory{}, "e001", MemoryData{Bytes{0xe0, 1}}},
	{ReadMemory{}, "E.no such address", ErrorText{Raw("no such address")}},
	{ReadMemory{}, "", Unsupported{}},
	{ReadRegisters{}, "00xx01", RegisterData{Registers{[]byte{0, 0, 1}, []bool{false, true, false}}}},
	{FirstThreads{}, "mp1.1,p1.2", Threads{[]ThreadID{{1, 1, true}, {1, 2, true}}}},
	{FirstThreads{}, "l", EndOfList{}},
	{FileRead{}, "F3;a;b", FileReply{Result: 3, Data: Raw("a;b")}},
	{FileRead{}, "F0;", FileReply{Data: Raw{}}},
	{FileOpen{}, "F-1,2", FileReply{Result: -1, Errno: ptr(uint64(2))}},
	{QueryOffsets{}, "Text=10;Data=20;Bss=20", SectionOffsets{0x10, 0x20, ptr(uint64(0x20))}},
	{SelectFrame{}, "F-1", FrameFound{Frame: -1}},
	{SelectFrame{}, "F0T1", FrameFound{0, ptr(uint64(1))}},
	{QueryTrace{}, "T0;tstop:616263:0;tframes:5", TraceStatus{Stop: StopRequested, StopText: "abc", Frames: ptr(uint64(5))}},
	{QueryVariable{}, "U", VariableUnknown{}},
	{FirstMarker{}, "m1000:6162:,2000:63:64", Markers{[]Marker{{0x1000, "ab", ""}, {0x2000, "c", "d"}}}},
	{StartTrace{}, "qRelocInsn:1000;2000", RelocateInstruction{0x1000, 0x2000}},
	{Monitor{}, "O6f6b0a", Output{"ok\n"}},
	{Monitor{}, "OK", OK{}},
}

func TestReplyExamples(t *testing.T) {
	for _, e := range replyExamples {
		got, err := ParseReply(e.request, []byte(e.payload))
		check(t, []byte(e.payload), got, e.want, err)
		back := Encode(got)
		again, err := ParseReply(e.request, back)
		check(t, back, again, e.want, err)
	}
}

// TestMalformed: what is known and wrong is an error that points at the place.
func TestMalformed(t *testing.T) {
	for _, e := range []struct {
		payload string
		offset  int
	}{
		{"m", 1},
		{"m12", 3},
		{"m12,", 4},
		{"mxyz,1", 1},
		{"m1,2junk", 4},
		{"m11112222333344445,1", 1},
		{"M1000,2:123", 8},
		{"Z5,1,1", 1},
		{"Z0,1,1;X5,00", 10},
		{"Hx1", 1},
		{"Hgp1.99999999999", 16},
		{"vCont;q", 6},
		{"vCont;", 6},
		{"vCont;C5", 8 - 1},
		{"QTDP:1:1000:X:0:0", 12},
		{"QTDP:-1:1000:Q", 13},
		{"QTDP:-1:1000:X00000009,27", 23},
		{"QTFrame:range:1", 15},
		{"QNonStop:2", 10},
		{"qSupported:", 11},
		{"qSupported:foo", 14},
		{"kk", 1},
		{"vFile:open:2,0,0", 11},
		{"G123", 1},
		{"QTDP:-1:1000:MFFFFFFFFFFFFFFFF,0,1", 30},
	} {
		p, err := Parse([]byte(e.payload))
		var s *SyntaxError
		if !errors.As(err, &s) {
			t.Errorf("%q: %#v, %v", e.payload, p, err)
		} else if s.Offset != e.offset {
			t.Errorf("%q: offset %d, want %d: %v", e.payload, s.Offset, e.offset, err)
		}
	}
}

func TestStopNotification(t *testing.T) {
	want := Stopped{Signal: 5, Thread: &ThreadID{1, 2, true}}
	payload := StopNotification(want)
	got, err := ParseNotification(payload)
	check(t, payload, got, want, err)
	if got, err := ParseNotification([]byte("Later:x")); err != nil || !reflect.DeepEqual(got, Unknown{Raw("Later:x")}) {
		t.Errorf("%#v, %v", got, err)
	}
}

func TestChunk(t *testing.T) {
	doc := bytes.Repeat([]byte("ab$}"), 100)
	var back []byte
	for {
		c := Chunk(doc, uint64(len(back)), 1000, 50)
		if n := EscapedSize(Encode(c)); n > 50 {
			t.Fatalf("%d bytes in a packet of 50", n)
		}
		back = append(back, c.Data...)
		if c.Last {
			break
		}
	}
	if !bytes.Equal(back, doc) {
		t.Errorf("%q", back)
	}
	if c := Chunk(doc, 1<<63, 10, 100); !c.Last || len(c.Data) != 0 {
		t.Errorf("behind the end: %v", c)
	}
	if c := Chunk(doc, 399, 1<<63, 100); !c.Last || string(c.Data) != "}" {
		t.Errorf("at the end: %v", c)
	}
}

// TestCRC32 is the example that GDB's own tests use: the checksum of 123456789 with
// this polynomial and start value (CRC-32/MPEG-2).
func TestCRC32(t *testing.T) {
	if sum := CRC32(0xffffffff, []byte("123456789")); sum != 0x0376e6e7 {
		t.Errorf("%#x", sum)
	}
}
