package agentexpr_test

import (
	"bytes"
	"math/rand"
	"reflect"
	"testing"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/agentexpr/axgen"
	"github.com/jalon-trace/jalon/internal/gdb/rsp"
	"github.com/jalon-trace/jalon/internal/ir/eval"
	"github.com/jalon-trace/jalon/internal/ir/irgen"
	"github.com/jalon-trace/jalon/test/testkit"
)

// TestAppendBlocks: records become the same bytes that package rsp writes for what
// Frame makes of them: real records, and those that a program has scribbled over.
func TestAppendBlocks(t *testing.T) {
	r := rand.New(rand.NewSource(testkit.Seed(t, 5)))
	target := rsp.TargetX86Linux(rsp.CPU{AVX: true})
	regs := &agentexpr.RegisterBlock{Size: target.Size}
	for _, x := range target.Registers {
		regs.Offsets = append(regs.Offsets, x.Offset)
	}
	const now = 1234567
	var memory, variables, registers, failures, printed int
	for n := range 2000 {
		state := irgen.RandomState(r, irgen.Options{})
		state.RecordRoom = true
		opt := axgen.Options{Steps: 1 + r.Intn(40)}
		s := axgen.Site(r, opt)
		s.Cond = nil
		p, lay, err := agentexpr.Lower(s, axgen.Lowering(opt))
		check(t, err)
		rec := eval.Run(p, state.Machine()).Record
		if n%4 == 0 {
			r.Read(rec[min(16, len(rec)):])
		}
		f := lay.Frame(rec)
		want := rsp.AppendFrame(nil, rsp.TraceFrame{Tracepoint: 1, Blocks: blocksOf(f, target, now)})[6:]
		got, ok := lay.AppendBlocks([]byte("before"), rec, regs, now)
		if !ok || !bytes.Equal(got, append([]byte("before"), want...)) {
			t.Fatalf("run %d, record\n got %x\nwant %x\n%s", n, got[6:], want, describe(s))
		}
		if got := f.AppendBlocks(nil, regs, now); !bytes.Equal(got, want) {
			t.Fatalf("run %d, frame\n got %x\nwant %x\n%s", n, got, want, describe(s))
		}
		if n := lay.Failures(rec); n != len(f.Failures) {
			t.Fatalf("%d failures, %d in the frame", n, len(f.Failures))
		}
		var texts, wantTexts []*agentexpr.Printed
		lay.Printed(rec, func(p *agentexpr.Printed) { texts = append(texts, p) })
		for _, b := range f.Blocks {
			switch b.Kind {
			case agentexpr.MemoryBlock:
				memory++
			case agentexpr.VarBlock:
				variables++
			case agentexpr.PrintBlock:
				wantTexts = append(wantTexts, b.Printed)
			}
		}
		if !reflect.DeepEqual(texts, wantTexts) {
			t.Fatalf("printed %v, want %v", texts, wantTexts)
		}
		registers += len(f.Regs)
		failures += len(f.Failures)
		printed += len(texts)
		if _, ok := lay.AppendBlocks(nil, rec[:len(rec)-1], regs, now); ok {
			t.Fatalf("a record that is too short was taken")
		}
	}
	t.Logf("%d blocks of memory, %d variables, %d registers, %d failures, %d printed", memory, variables, registers, failures, printed)
	if min(memory, variables, registers, failures, printed) == 0 {
		t.Error("something never happened")
	}
}

// blocksOf is a frame for package rsp.
func blocksOf(f *agentexpr.Frame, target *rsp.Target, now int64) []rsp.Block {
	var out []rsp.Block
	if len(f.Regs) > 0 {
		b := rsp.Block{Kind: rsp.BlockRegisters, Data: make([]byte, target.Size)}
		for _, r := range f.Regs {
			if r.Num < len(target.Registers) {
				copy(b.Data[target.Registers[r.Num].Offset:], r.Data)
			}
		}
		out = append(out, b)
	}
	for _, b := range f.Blocks {
		switch {
		case b.Kind == agentexpr.MemoryBlock:
			out = append(out, rsp.Block{Kind: rsp.BlockMemory, Addr: b.Addr, Data: b.Data})
		case b.Kind == agentexpr.VarBlock && b.Now:
			out = append(out, rsp.Block{Kind: rsp.BlockVariable, Number: uint32(b.Var), Value: now})
		case b.Kind == agentexpr.VarBlock:
			out = append(out, rsp.Block{Kind: rsp.BlockVariable, Number: uint32(b.Var), Value: int64(b.Value)})
		}
	}
	return out
}

// TestLongBlocks: memory of more than one M block can have.
func TestLongBlocks(t *testing.T) {
	data := bytes.Repeat([]byte("x"), 3<<16)
	f := &agentexpr.Frame{Blocks: []agentexpr.Block{{Addr: 0x1000, Data: data}}}
	want := rsp.AppendFrame(nil, rsp.TraceFrame{Tracepoint: 1, Blocks: []rsp.Block{{Kind: rsp.BlockMemory, Addr: 0x1000, Data: data}}})[6:]
	if got := f.AppendBlocks(nil, &agentexpr.RegisterBlock{}, 0); !bytes.Equal(got, want) {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
}
