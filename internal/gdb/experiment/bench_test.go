package experiment

import (
	"fmt"
	"testing"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/rsp"
	"github.com/jalon-trace/jalon/internal/ir/eval"
)

// repeat is an engine that gives one hit again and again.
type repeat struct {
	*fake
	hit  Hit
	left int
}

func (r *repeat) Drain(_ bool, f func(*Hit)) {
	for ; r.left > 0; r.left-- {
		r.hit.Time += 100
		f(&r.hit)
	}
}

// pattern is memory that can be read everywhere: bytes are those of their address.
type pattern struct{}

func (pattern) Read(addr uint64, buf []byte) int {
	for i := range buf {
		buf[i] = byte(addr) + byte(i)
	}
	return len(buf)
}

// record lowers a location's program and runs it once.
func record(t testing.TB, s *agentexpr.Site) (*agentexpr.Layout, []byte) {
	p, lay, err := agentexpr.Lower(s, &agentexpr.Options{Var: func(n int) (agentexpr.Variable, bool) {
		return agentexpr.Variable{Index: int64(n), Now: n == TimestampVariable}, true
	}})
	if err != nil {
		t.Fatal(err)
	}
	m := &eval.Machine{RecordRoom: true, Vars: make([]uint64, 8)}
	m.Regs[0] = 0x1122334455667788
	m.Mem = pattern{}
	return lay, eval.Run(p, m).Record
}

// BenchmarkFrames drains hits into a circular buffer.
func BenchmarkFrames(b *testing.B) {
	for _, c := range []struct{ name, actions string }{
		{"nothing", ""},
		{"variable", "X8,2c00022e00022927"},
		{"register", "R01"},
		{"registers", "R0100ff"},
		{"stack", "M7,0,40"},
	} {
		b.Run(c.name, func(b *testing.B) { drainRecords(b, c.actions, 1) })
	}
}

// BenchmarkFill fills buffers of 64 MB.
func BenchmarkFill(b *testing.B) {
	for _, c := range []struct{ name, actions string }{{"nothing", ""}, {"registers", "R0100ff"}} {
		b.Run(c.name, func(b *testing.B) { drainRecords(b, c.actions, 0) })
	}
}

// drainRecords drains hits that do those actions.
func drainRecords(b *testing.B, actions string, circular int) {
	x := newBench(b)
	x.talk("QTBuffer:size:4000000")
	x.talk(fmt.Sprintf("QTBuffer:circular:%d\nQTDP:2:1000:E:0:0-\nQTDP:-2:1000:%s", circular, actions))
	lay, rec := record(b, &x.spec(2).Program)
	e := &repeat{fake: x.fake, hit: Hit{Spec: x.spec(2), Layout: lay, Record: rec, TID: 1}}
	x.Experiment.engine = e
	b.SetBytes(int64(len(rec)))
	b.ReportAllocs()
	b.ResetTimer()
	for left := b.N; left > 0; {
		e.left = min(left, 100_000)
		left -= e.left
		if !x.Running() {
			x.talk("QTStart")
		}
		x.Tick()
	}
}

// BenchmarkFind looks through a million frames for what none of them has.
func BenchmarkFind(b *testing.B) {
	for _, c := range []struct {
		name, actions string
		query         rsp.FrameQuery
	}{
		{"tracepoint", "R01", rsp.FrameQuery{Kind: rsp.FrameTracepoint, Tracepoint: 3}},
		{"pc of a location", "R01", rsp.FrameQuery{Kind: rsp.FramePC, Range: rsp.Range{Start: 5}}},
		{"pc in records", "R0100ff", rsp.FrameQuery{Kind: rsp.FramePC, Range: rsp.Range{Start: 5}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			x := newBench(b)
			x.talk("QTBuffer:size:20000000\nQTDP:2:1000:E:0:0-\nQTDP:-2:1000:" + c.actions + "\nQTDP:3:1000:E:0:0\nQTStart")
			lay, rec := record(b, &x.spec(2).Program)
			e := &repeat{fake: x.fake, hit: Hit{Spec: x.spec(2), Layout: lay, Record: rec}, left: 1_000_000}
			x.Experiment.engine = e
			x.Tick()
			for b.Loop() {
				if r, _ := x.Handle(rsp.SelectFrame{Query: c.query}); r.(rsp.FrameFound).Frame != -1 {
					b.Fatal("found")
				}
			}
		})
	}
}

// BenchmarkRead fetches frames as GDB does.
func BenchmarkRead(b *testing.B) {
	x := newBench(b)
	x.talk("QTDP:2:1000:E:0:0-\nQTDP:-2:1000:R0100ff\nQTStart")
	lay, rec := record(b, &x.spec(2).Program)
	e := &repeat{fake: x.fake, hit: Hit{Spec: x.spec(2), Layout: lay, Record: rec}, left: 10_000}
	x.Experiment.engine = e
	x.Tick()
	frames := 0
	for b.Loop() {
		for offset := uint64(0); ; {
			r, _ := x.Handle(rsp.ReadTraceBuffer{Offset: offset, Length: 2000})
			data, ok := r.(rsp.TraceData)
			if !ok {
				break
			}
			offset += uint64(len(data.Data))
		}
		frames += x.buffer.count
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(frames), "ns/frame")
}
