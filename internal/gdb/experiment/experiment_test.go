package experiment

import (
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// three defines a trap with steps and a pass count, a fast and a static one, as GDB
// 13 does.
const three = `
QTinit
QTDP:2:0000000000401252:E:3:2:X4,26000027-
QTDP:-2:0000000000401252:R0100ff-
QTDP:-2:0000000000401252:M-1,4040a0,40M-1,4040e4,4X00000001,27X0000000C,2c000222010216402d000227-
QTDP:-2:0000000000401252:X00000008,2c00012e00012927-
QTDP:-2:0000000000401252:SM-1,4040e4,4
QTDPsrc:2:401252:at:0:4:776f726b
QTDPsrc:2:401252:cmd:0:8:636f6c6c
QTDPsrc:2:401252:cmd:4:8:65637420
QTDP:3:0000000000401260:E:0:0:F9-
QTDP:-3:0000000000401260:R30
QTDP:4:00000000004012b2:D:0:0:S-
QTDP:-4:00000000004012b2:L
QTDV:1:0000000000000000:1:74726163655f74696d657374616d70
QTDV:2:fffffffffffffffd:0:76
`

func TestDefine(t *testing.T) {
	b := newBench(t)
	b.talk(three)
	s := b.spec(2)
	if s.Kind != Trap || s.Steps != 3 || !s.Enabled || s.Addr != 0x401252 || s.Program.Cond == nil {
		t.Errorf("%+v", s)
	}
	if got := s.Program.Actions[0].Regs; !slices.Equal(got, []int{0, 1, 2, 3, 4, 5, 6, 7, 16}) {
		t.Errorf("registers %v", got)
	}
	if m := s.Program.Actions[2]; len(s.Program.Actions) != 6 || m.Kind != agentexpr.CollectMemory || m.Base != -1 || m.Offset != 0x4040e4 || m.Len != 4 {
		t.Errorf("%+v", s.Program.Actions)
	}
	if len(s.StepActions) != 1 || s.StepActions[0].Len != 4 {
		t.Errorf("%+v", s.StepActions)
	}
	if b.spec(3).Kind != Fast || b.spec(4).Kind != Static || b.spec(4).Enabled || b.spec(4).Program.Actions[0].Kind != agentexpr.CollectStatic {
		t.Errorf("%+v, %+v", b.spec(3), b.spec(4))
	}
	b.talk(`
		qTfV -> 2:fffffffffffffffd:0:76
		qTsV -> 1:0:1:74726163655f74696d657374616d70
		qTsV -> l
		qTV:2 -> Vfffffffffffffffd
		qTV:9 -> U
		qTMinFTPILen -> 1
		qTfP -> T2:401252:E:3:2:X4,26000027
		qTsP -> A2:401252:R0100ff
		qTsP -> A2:401252:M-1,4040a0,40
		qTsP -> A2:401252:M-1,4040e4,4
		qTsP -> A2:401252:X00000001,27
		qTsP -> A2:401252:X0000000C,2c000222010216402d000227
		qTsP -> A2:401252:X00000008,2c00012e00012927
		qTsP -> S2:401252:M-1,4040e4,4
		qTsP -> Z2:401252:at:0:4:776f726b
		qTsP -> Z2:401252:cmd:0:8:636f6c6c65637420
		qTsP -> V2:401252:0:0
		qTsP -> T3:401260:E:0:0:F9
		qTsP -> A3:401260:R30
		qTsP -> V3:401260:0:0
		qTsP -> T4:4012b2:D:0:0:S
		qTsP -> A4:4012b2:L
		qTsP -> V4:4012b2:0:0
		qTsP -> l
		QTinit
		qTfP -> l
		qTfV -> 1:0:1:74726163655f74696d657374616d70
		qTsV -> l
	`)
}

// TestRefused: what is wrong with a definition is said in words, and it can be made
// again.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ before, packet, want string }{
		{"", "QTDP:0:1000:E:0:0", "tracepoint 0 at 0x1000: numbers go from 1 to 65535"},
		{"", "QTDP:10000:1000:E:0:0", "tracepoint 65536 at 0x1000: numbers go from 1 to 65535"},
		{"QTDP:2:1000:E:0:0", "QTDP:2:1000:E:0:0", "tracepoint 2 at 0x1000 is defined already"},
		{"", "QTDP:2:1000:E:0:0:F5:S", "tracepoint 2 at 0x1000: it cannot be both fast and static"},
		{"", "QTDP:2:1000:E:0:0:X1,27", "tracepoint 2 at 0x1000, condition: agent expression, byte 0: the condition ends without a value"},
		{"", "QTDP:2:1000:E:0:0:X2,ff27", "tracepoint 2 at 0x1000, condition: agent expression, byte 0: there is no operation 0xff"},
		{"", "QTDP:-2:1000:R01", "tracepoint 2 at 0x1000 is not defined"},
		{"QTDP:2:1000:E:0:0", "QTDP:-2:1000:R01", "tracepoint 2 at 0x1000: its definition is complete, no actions can follow"},
		{"QTDP:2:1000:E:0:0-", "QTDP:-2:1000:R01X1,02", "tracepoint 2 at 0x1000, action 2: agent expression, byte 0: add needs 2 values on the stack, 0 are there"},
		{"QTDP:2:1000:E:1:0-", "QTDP:-2:1000:SM28,0,4", "tracepoint 2 at 0x1000, stepping action 1: register 40 is no base of an address"},
		{"QTDP:2:1000:E:0:0-", "QTDP:-2:1000:R" + "01" + strings.Repeat("00", 60), "tracepoint 2 at 0x1000, action 1: there is no register 480"},
		{"QTDP:2:1000:E:0:0-", "QTDP:-2:1000:M-1,1000,80000000", "tracepoint 2 at 0x1000, action 1: 2147483648 bytes of memory"},
		{"QTDP:2:1000:E:0:0-\nQTDP:-2:1000:R01-", "QTStart", "tracepoint 2 at 0x1000: its definition is not complete"},
		{"", "QTDPsrc:2:1000:at:0:1:61", "tracepoint 2 at 0x1000 is not defined"},
		{"QTDP:2:1000:E:0:0", "QTDPsrc:2:1000:at:3:4:61", `tracepoint 2 at 0x1000: source "at" goes on at byte 3, which does not follow what came`},
		{"", "QTDV:1:0:0:76", "trace state variable 1 is $trace_timestamp and cannot be $v"},
		{"", "QTDV:10000:0:0:76", "trace state variable 65536: numbers go from 1 to 65535"},
		{"", "QTEnable:2:1000", "tracepoint 2 at 0x1000 is not defined"},
		{"", "QTro:20,10", "a read-only range that ends at 0x10, before its start 0x20"},
		{"", "QTBuffer:size:-2", "a trace buffer of -2 bytes; it can have up to 17179869184"},
		{"QTStart", "QTBuffer:size:1000", "the size of the trace buffer cannot change while the trace runs"},
		{"QTStart", "QTStart", "the trace runs already"},
		{"", "QTNotes:other:61;", `there is no note of kind "other"`},
		{"", "qTP:2:1000", "tracepoint 2 at 0x1000 is not defined"},
		{"", "QTSave:", "the name of the trace file is empty"},
	} {
		b := newBench(t)
		b.talk(c.before)
		if got := b.ask(c.packet); got != "E."+c.want {
			t.Errorf("%s: %s, want %s", c.packet, got, c.want)
		}
		if strings.HasPrefix(c.packet, "QTDP:-2:1000:") && c.before != "QTDP:2:1000:E:0:0" {
			b.talk("QTDP:2:1000:E:0:0")
		}
	}
}

// TestArming: the calls of the engine.
func TestArming(t *testing.T) {
	b := newBench(t)
	b.talk(three)
	b.fake.fail["start 3 true"] = errors.New("no room for a jump")
	b.talk(`
		QTStart -> E.tracepoint 3 at 0x401260: no room for a jump
		qTStatus -> T0;tnotrun:0;tframes:0;*
	`)
	delete(b.fake.fail, "start 3 true")
	b.fake.calls = nil
	b.talk(`
		QTStart
		QTEnable:4:4012b2
		QTDisable:2:401252
		# In the run: armed with the last packet of the definition, unless disabled.
		QTDP:5:1000:E:0:0-
		QTDP:-5:1000:R01
		QTDP:6:2000:D:0:0
		QTEnable:6:2000
	`)
	b.fake.fail["add 7"] = errors.New("not in an instruction's middle")
	b.talk(`
		QTDP:7:3000:E:0:0 -> E.tracepoint 7 at 0x3000: not in an instruction's middle
		qTP:7:3000 -> E.tracepoint 7 at 0x3000 is not defined
		QTDP:7:3000:E:0:0- -> OK
		QTDP:-7:3000:R01 -> E.tracepoint 7 at 0x3000: not in an instruction's middle
	`)
	// Frames that it collected before it was refused are dropped.
	b.fake.queue = append(b.fake.queue, Hit{Spec: &Spec{Number: 7, Addr: 0x3000}})
	b.talk("qTStatus -> T1;tframes:0;*")
	b.fake.fail["enable 2 true"] = errors.New("gone")
	b.talk(`
		QTEnable:2:401252 -> E.tracepoint 2 at 0x401252: gone
		QTStop
		QTStop
		QTEnable:2:401252
	`)
	want := "start 2 true, start 3 true, start 4 false, enable 4 true, enable 2 false, add 5, add 6, add 7, add 7, enable 2 true, stop"
	if got := strings.Join(b.fake.calls, ", "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// frameOf is a frame with some registers and memory.
func frameOf(regs map[int]uint64, blocks ...agentexpr.Block) *agentexpr.Frame {
	f := &agentexpr.Frame{Blocks: blocks}
	for n := range 60 {
		if v, ok := regs[n]; ok {
			data := make([]byte, agentexpr.Registers[n].Size)
			for i := range min(8, len(data)) {
				data[i] = byte(v >> (8 * i))
			}
			f.Regs = append(f.Regs, agentexpr.RegValue{Num: n, Data: data})
		}
	}
	return f
}

func memory(addr uint64, text string) agentexpr.Block {
	return agentexpr.Block{Addr: addr, Data: []byte(text)}
}

// TestFrames: frames are found, and what they hold is read.
func TestFrames(t *testing.T) {
	b := newBench(t)
	b.talk(three)
	b.talk("QTStart")
	two, three := b.spec(2), b.spec(3)
	b.fake.queue = []Hit{
		{Spec: two, Time: 2_000_000_000, TID: 7, CPU: 1, Frame: frameOf(map[int]uint64{0: 0x1122, 16: 0x401252},
			memory(0x4040a0, "plain"), memory(0x4040a5, " text"),
			agentexpr.Block{Kind: agentexpr.VarBlock, Var: 2, Value: 5}, agentexpr.Block{Kind: agentexpr.VarBlock, Var: 2, Value: 6},
			agentexpr.Block{Kind: agentexpr.VarBlock, Var: 1, Now: true})},
		{Spec: two, Step: true, PC: 0x401257, TID: 7, Time: 2_000_001_000},
		{Spec: two, Step: true, TID: 7, Time: 2_000_002_000},
		{Spec: three, Time: 2_000_003_000, Static: "prev=1", Frame: frameOf(map[int]uint64{5: 9})},
		{Spec: three, Time: 2_000_004_000},
	}
	b.talk(`
		# By number, and the ends of it.
		QTFrame:0 -> F0T2
		QTFrame:5 -> F-1
		QTFrame:4 -> F4T3
		QTFrame:ffffffff -> OK
		# Searches begin behind the selected frame, and do not go round.
		QTFrame:tdp:3 -> F3T3
		QTFrame:tdp:3 -> F4T3
		QTFrame:tdp:3 -> F-1
		QTFrame:tdp:2 -> F-1
		QTFrame:0 -> F0T2
		QTFrame:pc:401260 -> F3T3
		QTFrame:ffffffff -> OK
		QTFrame:range:401252:401257 -> F0T2
		QTFrame:range:401252:401257 -> F1T2
		QTFrame:range:401252:401257 -> F-1
		QTFrame:0 -> F0T2
		# The pc of frame 2 is not known.
		QTFrame:outside:401252:401257 -> F3T3
		QTFrame:0 -> F0T2
		qTV:2 -> V6
		qTV:1 -> V1e8480
		qTV:3 -> U
		qTP:3:401260 -> V2:*
	`)
	regs := b.FrameRegisters()
	known := func(n int) bool {
		r := b.opt.Target.Registers[n]
		return !slices.Contains(regs.Missing[r.Offset:r.Offset+r.Bits/8], true)
	}
	if !known(0) || known(1) || !known(16) || known(17) || regs.Data[0] != 0x22 || regs.Data[16*8] != 0x52 {
		t.Errorf("registers %s", rsp.Encode(rsp.RegisterData{Values: regs}))
	}
	mem := make([]byte, 16)
	if n := b.FrameMemory(0x4040a1, mem); string(mem[:n]) != "lain text" {
		t.Errorf("memory %q", mem[:n])
	}
	if n := b.FrameMemory(0x40409f, mem); n != 0 {
		t.Errorf("%d bytes that were not collected", n)
	}
	b.fake.memory[0x40409e], b.fake.memory[0x40409f] = 'a', 'b'
	b.talk("QTro:4040,4050:40409e,404100")
	if n := b.FrameMemory(0x40409e, mem); string(mem[:n]) != "abplain text" {
		t.Errorf("memory with read-only ranges %q", mem[:n])
	}
	info := string(b.FrameInfo())
	for _, want := range []string{`<memory start="0x4040a0" length="0x5"/>`, `<memory start="0x4040a5" length="0x5"/>`, `<tvar id="0x2"/>`, `<tvar id="0x1"/>`} {
		if strings.Count(info, want) != 1 {
			t.Errorf("%s is not once in %s", want, info)
		}
	}
	if _, ok := b.StaticData(); ok {
		t.Errorf("frame 0 has static data")
	}
	b.ask("QTFrame:3")
	if data, ok := b.StaticData(); !ok || string(data) != "prev=1" {
		t.Errorf("static data %q", data)
	}
	// rip was not collected, and is the tracepoint's address; in the R block, too.
	if regs = b.FrameRegisters(); !known(5) || !known(16) || known(0) || regs.Data[16*8] != 0x60 || b.frames.view.blocks[0].Data[16*8] != 0x60 {
		t.Errorf("registers %s", rsp.Encode(rsp.RegisterData{Values: regs}))
	}
	b.ask("QTFrame:1")
	if regs = b.FrameRegisters(); !known(16) || regs.Data[16*8] != 0x57 {
		t.Errorf("a step's pc: %s", rsp.Encode(rsp.RegisterData{Values: regs}))
	}
	b.ask("QTFrame:2")
	if regs = b.FrameRegisters(); known(16) {
		t.Errorf("an unknown pc: %s", rsp.Encode(rsp.RegisterData{Values: regs}))
	}
	b.ResetFrame()
	if b.SelectedFrame() != -1 || slices.Contains(b.FrameRegisters().Missing, false) {
		t.Errorf("frame %d is still selected", b.SelectedFrame())
	}
}

// TestEnds: how runs end.
func TestEnds(t *testing.T) {
	const define = `
		QTDP:2:1000:E:0:3
		QTDP:3:2000:E:2:2
		QTDP:4:3000:E:0:0
		QTStart
	`
	for _, c := range []struct {
		name string
		do   func(b *bench)
		want string // of qTStatus, up to tfree
	}{
		{"forgotten", func(b *bench) { b.hits(4); b.ask("QTinit") }, "T0;tstop::0;tframes:0;tcreated:0"},
		{"running", func(b *bench) {}, "T1;tframes:0;tcreated:0"},
		{"stopped", func(b *bench) { b.talk("QTStop\nQTNotes:tstop:6869;") }, "T0;tstop:6869:0;tframes:0;tcreated:0"},
		{"stopped, no note", func(b *bench) { b.talk("QTNotes:tstop:;\nQTStop") }, "T0;tstop::0;tframes:0;tcreated:0"},
		{"pass count", func(b *bench) { b.hits(2, 4, 2, 4, 2, 4, 2) }, "T0;tpasscount:2;tframes:5;tcreated:5"},
		{"pass count, drained at the end", func(b *bench) {
			b.fake.kept = 9
			b.hits(2, 4, 2, 4, 2, 4, 2)
			b.ask("QTStop")
		}, "T0;tpasscount:2;tframes:5;tcreated:5"},
		{"pass count with its steps", func(b *bench) {
			b.hits(3, 3)
			b.step(3, 1, 1)
			b.hits(4)
			b.fake.queue[3].TID = 2
			b.step(3, 2, 9)
			b.step(3, 1, 9)
		}, "T0;tpasscount:3;tframes:4;tcreated:4"},
		{"steps that have not come", func(b *bench) { b.hits(3, 3); b.step(3, 1, 1); b.Tick() }, "T1;tframes:3;tcreated:3"},
		{"steps that never come", func(b *bench) { b.hits(3, 3); b.step(3, 1, 1); b.hits(4); b.ask("QTStop") }, "T0;tpasscount:3;tframes:3;tcreated:3"},
		{"gone", func(b *bench) { b.fake.gone = true; b.hits(4) }, "T0;terror:" + hex.EncodeToString([]byte("what is traced has ended")) + ":0;tframes:1;tcreated:1"},
		{"disconnected", func(b *bench) { b.hits(4); b.Disconnected() }, "T0;tdisconnected:0;tframes:1;tcreated:1"},
		{"not disconnected", func(b *bench) { b.talk("QTDisconnected:1"); b.Disconnected() }, "T1;tframes:0;tcreated:0"},
		{"full", func(b *bench) {
			b.talk("QTStop\nQTBuffer:size:32\nQTStart")
			b.hits(4, 2, 4)
		}, "T0;tfull:0;tframes:2;tcreated:2"},
		{"circular", func(b *bench) {
			b.talk("QTStop\nQTBuffer:size:32\nQTBuffer:circular:1\nQTStart")
			b.hits(4, 2, 4)
		}, "T1;tframes:2;tcreated:3"},
		{"too large for a circular one", func(b *bench) {
			b.talk("QTStop\nQTBuffer:size:10\nQTBuffer:circular:1\nQTStart")
			b.hits(4)
		}, "T0;tfull:0;tframes:0;tcreated:0"},
		{"again", func(b *bench) { b.hits(4); b.talk("QTStop\nQTStart") }, "T1;tframes:0;tcreated:0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.talk(define)
			c.do(b)
			got := b.ask("qTStatus")
			if at := strings.Index(got, ";tfree"); at < 0 || got[:at] != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			running := strings.HasPrefix(c.want, "T1")
			if b.Running() != running || (len(b.fake.armed) > 0) != running {
				t.Errorf("running %v, %d locations armed", b.Running(), len(b.fake.armed))
			}
		})
	}
}

// hits queues empty hits of thread 1.
func (b *bench) hits(numbers ...int) {
	for _, n := range numbers {
		b.fake.queue = append(b.fake.queue, Hit{Spec: b.spec(n), TID: 1, Time: b.next(), CPU: -1})
	}
}

// step queues n steps of a thread.
func (b *bench) step(number, tid, n int) {
	for range n {
		b.fake.queue = append(b.fake.queue, Hit{Spec: b.spec(number), Step: true, TID: tid, Time: b.next(), CPU: -1})
	}
}

func (b *bench) next() int64 { return int64(2_000_000_000 + 1000*len(b.fake.queue)) }

// TestStatus: all fields.
func TestStatus(t *testing.T) {
	b := newBench(t)
	b.talk(`
		qTStatus -> T0;tnotrun:0;tframes:0;tcreated:0;tfree:500000;tsize:500000;circular:0;disconn:0;starttime:0;stoptime:0;username:;notes:
		QTDP:2:1000:E:0:0
		QTBuffer:size:1000
		QTBuffer:circular:1
		QTDisconnected:1
		QTNotes:user:6d65;notes:6e6f74653a3b;
		QTStart
	`)
	b.hits(2, 2)
	b.talk(`
		qTStatus -> T1;tframes:2;tcreated:2;tfree:fd0;tsize:1000;circular:1;disconn:1;starttime:f4628;stoptime:0;username:6d65;notes:6e6f74653a3b
		qTP:2:1000 -> V2:30
		QTStop
		qTStatus -> T0;tstop::0;tframes:2;tcreated:2;tfree:fd0;tsize:1000;circular:1;disconn:1;starttime:f4628;stoptime:f4a10;username:6d65;notes:6e6f74653a3b
		QTBuffer:size:20
		qTStatus -> T0;tstop::0;tframes:1;tcreated:2;*
		QTBuffer:size:-1
		qTBuffer:0,100 -> 020000000000
		qTBuffer:6,100 -> l
		qTBuffer:0,2 -> 0200
		qTBuffer:ffff,2 -> l
	`)
}

// TestVariables: values in a run, at its end, and in the next.
func TestVariables(t *testing.T) {
	b := newBench(t)
	b.talk(`
		QTDP:2:1000:E:0:0-
		QTDP:-2:1000:X5,2c00072927
		QTDV:2:5:0:76
		qTV:2 -> V5
		QTStart
	`)
	if got, ok := b.fake.vars[7]; !ok || got != 0 {
		t.Errorf("variable 7, which bytecode uses: %d, %v", got, ok)
	}
	b.fake.vars[2] = -1
	b.talk(`
		qTV:2 -> Vffffffffffffffff
		# A new one in the run, and one that a new tracepoint uses.
		QTDV:3:8:0:77
		qTV:3 -> V8
		QTDP:3:1000:E:0:0:X4,2c000827
	`)
	if _, ok := b.fake.vars[8]; !ok {
		t.Errorf("variable 8, which a new condition uses, is not known")
	}
	b.fake.vars[3] = 9
	b.talk("QTStop")
	clear(b.fake.vars)
	b.talk(`
		qTV:2 -> Vffffffffffffffff
		qTV:3 -> V9
		qTfV -> 3:8:0:77
		qTsV -> 2:5:0:76
		qTsV -> 1:0:1:74726163655f74696d657374616d70
		qTsV -> l
		QTStart
		qTV:2 -> V5
	`)
	if first := b.ask("qTV:1"); b.ask("qTV:1") == first {
		t.Errorf("the time does not advance")
	}
}

func TestMarkers(t *testing.T) {
	b := newBench(t)
	b.fake.markers = []Marker{{0x1000, "a:b", "x"}, {0x2000, "c", ""}}
	b.talk(`
		qTfSTM -> m1000:613a62:78,2000:63:
		qTsSTM -> l
		qTSTMat:2000 -> m2000:63:
		qTSTMat:3000 -> l
	`)
	for range 100 {
		b.fake.markers = append(b.fake.markers, Marker{0x3000, strings.Repeat("n", 50), ""})
	}
	n, reply := 0, b.ask("qTfSTM")
	for ; reply != "l"; reply = b.ask("qTsSTM") {
		n += strings.Count(reply, ",") + 1
		if len(reply) > 1500 {
			t.Errorf("an answer of %d bytes", len(reply))
		}
	}
	if n != 102 {
		t.Errorf("%d markers of 102", n)
	}
	// While GDB merges what it has uploaded, no marker is reported to it, nor that a place
	// is a marker: GDB 13 crashes on either.
	b.talk(`
		QTDP:2:1000:E:0:0:S
		QTDPsrc:2:1000:at:0:11:2d7175616c6966696564202d6d20613a62
		qTfP -> T2:1000:E:0:0:S
		qTsP -> V2:1000:0:0
		qTsP -> l
		qTSTMat:1000 -> l
		qTMinFTPILen -> 1
		qTSTMat:1000 -> l
		qTStatus -> T0*
		qTSTMat:1000 -> m1000:613a62:78
	`)
	b.fake.fail["markers"] = errors.New("no tracefs")
	b.talk("qTfSTM -> E.static tracepoint markers: no tracefs")
}

// TestAllPackets: every packet of the protocol's tables about traces has a handler,
// and no other packet has.
func TestAllPackets(t *testing.T) {
	for _, packet := range []string{
		"QTinit", "QTDP:1:2:E:0:0", "QTDPsrc:1:2:at:0:1:61", "QTDV:2:0:0:76", "QTEnable:1:2", "QTDisable:1:2", "QTro", "QTStart", "QTStop",
		"QTDisconnected:1", "QTBuffer:circular:1", "QTBuffer:size:-1", "QTNotes:", "QTFrame:0", "qTStatus", "qTP:1:2", "qTV:1",
		"qTfP", "qTsP", "qTfV", "qTsV", "qTfSTM", "qTsSTM", "qTSTMat:1", "qTBuffer:0,1", "qTMinFTPILen",
	} {
		if got := newBench(t); strings.HasPrefix(got.ask(packet), "E.") && !strings.Contains(packet, ":1:2") {
			t.Errorf("%s is refused", packet)
		}
	}
	for _, packet := range []string{"qSupported", "g", "qRelocInsn:4", "QAgent:1", "what"} {
		p, err := rsp.Parse([]byte(packet))
		if err != nil {
			t.Fatal(err)
		}
		if reply, known := newBench(t).Handle(p); known || reply != (rsp.Unsupported{}) {
			t.Errorf("%s: %v, %#v", packet, known, reply)
		}
	}
}

// TestReport: what people read.
func TestReport(t *testing.T) {
	b := newBench(t)
	b.talk("QTDP:2:1000:E:0:2\nQTStart")
	b.fake.counts[b.spec(2)] = Counts{Hits: 3, False: 17, Faults: 2, Lost: 1}
	b.fake.queue = []Hit{
		{Spec: b.spec(2), Time: 5e9, TID: 42, CPU: 3, Frame: &agentexpr.Frame{
			Failures: []agentexpr.Failure{{Kind: agentexpr.BadMemory}},
			Blocks:   []agentexpr.Block{{Kind: agentexpr.PrintBlock, Printed: &agentexpr.Printed{Format: "i is %d", Args: []uint64{5}}}},
		}},
	}
	b.hits(2, 2)
	b.talk("QTFrame:0 -> F0T2")
	const want = `                                       hits   recorded      false   faults     lost unreadable
tracepoint 2 at 0x1000                   22          2         17        2        1          1
2 frames of 2, 48 of 5242880 bytes used
1 hits behind the end of the trace are left out
frame 0: thread 42, CPU 3, 5.000000000 s since the epoch
`
	if got := b.Report(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := b.text.String(); got != "printed \"i is 5\"\n" {
		t.Errorf("%s", got)
	}
}

// TestPacketTable: each row has one name of its own and says what the packet is for.
func TestPacketTable(t *testing.T) {
	names := map[string]bool{}
	for _, r := range newBench(t).packets {
		if r.name == "" || r.what == "" || names[r.name] {
			t.Errorf("the row %q, %q of %v", r.name, r.what, r.packet)
		}
		names[r.name] = true
	}
	if len(names) < 25 {
		t.Errorf("%d packets", len(names))
	}
}
