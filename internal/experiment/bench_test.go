package experiment

import (
	"testing"

	"github.com/jalon-trace/jalon/internal/agentexpr"
	"github.com/jalon-trace/jalon/internal/ir/eval"
	"github.com/jalon-trace/jalon/internal/rsp"
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

func BenchmarkFrames(b *testing.B) {
	for _, c := range []struct{ name, actions string }{
		{"nothing", ""},
		{"variable", "X8,2c00022e00022927"},
		{"register", "R01"},
		{"registers", "R0100ff"},
		{"stack", "M7,0,40"},
	} {
		b.Run(c.name, func(b *testing.B) {
			x := newBench(b)
			x.talk("QTBuffer:circular:1\nQTDP:2:1000:E:0:0-\nQTDP:-2:1000:" + c.actions)
			lay, rec := record(b, &x.spec(2).Program)
			e := &repeat{fake: x.fake, hit: Hit{Spec: x.spec(2), Layout: lay, Record: rec, TID: 1}}
			x.Experiment.engine = e
			x.talk("QTStart")
			b.ReportAllocs()
			b.ResetTimer()
			e.left = b.N
			x.Tick()
		})
	}
}

// BenchmarkFind looks for a tracepoint that no frame has, through a full buffer.
func BenchmarkFind(b *testing.B) {
	x := newBench(b)
	x.talk("QTDP:2:1000:E:0:0\nQTDP:3:1000:E:0:0\nQTStart")
	e := &repeat{fake: x.fake, hit: Hit{Spec: x.spec(2)}, left: 100_000}
	x.Experiment.engine = e
	x.Tick()
	for b.Loop() {
		if r, _ := x.Handle(rsp.SelectFrame{Query: rsp.FrameQuery{Kind: rsp.FrameTracepoint, Tracepoint: 3}}); r.(rsp.FrameFound).Frame != -1 {
			b.Fatal("found")
		}
	}
}
