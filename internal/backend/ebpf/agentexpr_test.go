package ebpf

import (
	"encoding/binary"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/agentexpr/axgen"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/irgen"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/test/testkit"
)

// TestAgentExpressions runs random tracepoints in GDB's bytecode as eBPF and
// compares with the interpreter of the bytecode. JALON_AX_RUNS sets the number of
// tracepoints, each run in a few states.
func TestAgentExpressions(t *testing.T) {
	sites, seed := envInt("JALON_AX_RUNS", 1000), testkit.Seed(t, 1)
	m := newMachine(t)
	r := rand.New(rand.NewSource(seed))
	exprs, records, large := 0, 0, 0
	for n := range sites {
		if n%16 == 0 {
			m.state = irgen.RandomState(r, irgen.Options{Kernel: true})
			m.setMemory(m.state)
		}
		opt := axgen.Options{Kernel: true, Steps: 1 + r.Intn(60)}
		s := axgen.Site(r, opt)
		p, lay, err := agentexpr.Lower(s, axgen.Lowering(opt))
		must(t, err)
		exprs += axgen.Count(s)
		if r.Intn(3) != 0 {
			must(t, ir.Optimize(p))
		}
		tr := &trial{p: p, cfg: m.randomConfig(r)}
		tr.cfg.Context = Regs
		insns, err := Compile(p, tr.cfg)
		if err != nil {
			if strings.Contains(err.Error(), "stack") {
				large++
				continue
			}
			t.Fatalf("%v\n%s", err, tr.describe())
		}
		tr.text = Listing(insns)
		if tr.prog, err = m.tryLoad(ebpf.Syscall, insns); err != nil {
			t.Fatalf("tracepoint %d: %v\n%s", n, err, tr.describe())
		}
		for range statesPerProgram {
			m.state.Registers(r)
			m.state.RecordRoom = true
			if err := m.compareFrame(tr, s, lay, &records); err != nil {
				t.Fatalf("tracepoint %d (seed %d): %v\n%s\n%s", n, seed, err, tr.describe(), tr.text)
			}
		}
		tr.prog.Close()
	}
	t.Logf("%d tracepoints with %d expressions, %d records, %d too large for the stack (seed %d)", sites, exprs, records, large, seed)
	if records == 0 || large > sites/20 {
		t.Error("too few programs ran")
	}
}

// compareFrame runs the program and the interpreter in m.state.
func (m *machine) compareFrame(tr *trial, s *agentexpr.Site, lay *agentexpr.Layout, records *int) error {
	st, l := m.state, &tr.cfg.Layout
	x := axgen.Machine(st.Machine())
	want := s.Run(x)
	word := func(at uint64) []byte { return m.mem[at : at+8] }
	put := func(at, v uint64) { binary.LittleEndian.PutUint64(word(at), v) }
	const pos = 4096
	put(l.Rings+ring.RingReserved, pos)
	put(l.Rings+ring.RingConsumed, pos)
	for k, v := range st.Vars {
		put(l.Variables+8*uint64(k), v)
	}
	m.run(tr.prog, st.Context[:])
	var counters [ir.Counters]uint64
	for k := range counters {
		counters[k] = binary.LittleEndian.Uint64(word(l.Counters + 8*uint64(k)))
		put(l.Counters+8*uint64(k), 0)
	}
	var vars [irgen.Vars]uint64
	for k := range vars {
		vars[k] = binary.LittleEndian.Uint64(word(l.Variables + 8*uint64(k)))
	}
	size := ring.Position(binary.LittleEndian.Uint64(word(l.Rings+ring.RingReserved))) - pos
	rec, err := m.take(l, pos, size)
	if err != nil {
		return err
	}
	if rec != nil {
		*records++
	}
	if d := axgen.Diff(&want, x, lay, rec, counters, vars[:]); d != "" {
		return fmt.Errorf("interpreter: %s", d)
	}
	return nil
}
