// Package eval is the reference evaluator of package ir: it is the specification
// that every backend is tested against. It is written to be read, not to be fast.
//
// Import rule: eval imports ir only.
package eval

import (
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/ir"
)

// Memory is the traced program's memory.
type Memory interface {
	// Read copies the bytes from addr on into buf up to the first byte that
	// cannot be read, and returns how many it copied.
	Read(addr uint64, buf []byte) int
}

// Wide is the state of a processor's wide registers (arch.Wide).
type Wide interface {
	// Wide gives all bytes of wide register n, or nil: they are zero.
	Wide(n int64) []byte
}

// Machine is the state at the site. Run does not change it.
type Machine struct {
	Regs [ir.NumRegs]uint64 // by DWARF number
	Wide Wide               // nil: all are zero
	Mem  Memory             // nil: nothing can be read
	// Context is the context block; Mem has it too, at Env[ir.EnvContext]. Bytes
	// behind its end read as zero.
	Context []byte
	Env     [ir.NumEnv]uint64
	Comm    [ir.CommSize]byte
	Given   uint64 // what Take takes
	// Vars are the variables; those behind its end are 0.
	Vars []uint64
	// Maps are the maps of the program. MapsFull: they have no room for new keys.
	Maps     Maps
	MapsFull bool
	Ticks    uint64 // the time stamp counter
	// Walk follows the stack from the registers at the site by the tables of the program, reading words by
	// read: at most n pcs, and the reason of the end. Nil: the code has no tables.
	Walk func(pc, sp, fp uint64, read func(addr uint64) (uint64, bool), n int) (pcs []uint64, end uint8)
	// Intern gives the number of a stack in the table of stacks; nil, or 0: it has no place.
	Intern func(pcs []uint64, end uint8) uint32
	// UserStack gives what UserStack finds with the struct pt_regs at an address, of at most n frames; nil: the stack has no place.
	UserStack func(regs uint64, n int) uint64
	// RecordRoom says that the ring has room for a record.
	RecordRoom bool
}

// End is how a run ended.
type End uint8

// The ends.
const (
	// Exited: an Exit was reached.
	Exited End = iota
	// Full: a Reserve found no room and left.
	Full
	// BadAccess: an operation without a fault edge could not read. The program is wrong, or the assertion
	// that the address is readable; the behaviour of a backend is then undefined.
	BadAccess
)

func (e End) String() string {
	return [...]string{"exited", "ring full", "bad access"}[e]
}

// Outcome is all that a run leaves behind.
type Outcome struct {
	// Record is the published record, ir.RecordHeader zero bytes at its head;
	// nil when none was committed.
	Record []byte
	// Defined says of each byte of Record whether it is promised: false for the
	// header, for bytes of a Counted slot behind its length, and for a slot whose
	// copy took its fault edge (until something is put there again).
	Defined  []bool
	Counters [ir.Counters]uint64
	Exit     End
	Vars     []uint64 // the variables as the run left them
	Maps     Maps     // the maps likewise
	NoRoom   uint64   // keys for which a map had no room
	Given    uint64   // the value of Give, or of an untaken one
	Result   *uint32  // of Result; nil: there was none
	Signals  []uint64 // of Signal
	Faults   int      // fault edges taken
}

// Diff describes the first difference between o and the record and counters of
// another executor, "" when there is none. Bytes that are not promised are not
// compared.
func (o *Outcome) Diff(record []byte, counters [ir.Counters]uint64) string {
	if counters != o.Counters {
		return fmt.Sprintf("counters %v, want %v", counters, o.Counters)
	}
	if (record == nil) != (o.Record == nil) {
		return fmt.Sprintf("record committed: %v, want %v", record != nil, o.Record != nil)
	}
	if len(record) != len(o.Record) {
		return fmt.Sprintf("record of %d bytes, want %d", len(record), len(o.Record))
	}
	for i, defined := range o.Defined {
		if defined && record[i] != o.Record[i] {
			return fmt.Sprintf("record byte %d is %#02x, want %#02x", i, record[i], o.Record[i])
		}
	}
	return ""
}

// run is a program in execution. Values are kept as their bits whatever their
// class, so that no NaN changes by being moved about.
type run struct {
	p      *ir.Program
	m      *Machine
	values []uint64
	record []byte
	known  []bool
	slots  []*Slot // that operations have found
	key    Key     // of KeyWord and KeyText
	out    Outcome

	args []uint64 // of an edge
	buf  []byte   // what was read last
}

// flow is what an instruction does to the flow of control.
type flow uint8

const (
	next flow = iota
	fault
	stop // the hit has ended; out.Exit has the reason
)

// Run executes p, which must be checked (ir.Check), on m.
func Run(p *ir.Program, m *Machine) Outcome {
	var r Runner
	return r.Run(p, m)
}

// Runner executes programs one after another, in the same memory: an outcome is valid until the next run.
type Runner struct{ run run }

// Run executes p, which must be checked (ir.Check), on m.
func (x *Runner) Run(p *ir.Program, m *Machine) Outcome {
	r := &x.run
	values := slices.Grow(r.values[:0], len(p.Classes))[:len(p.Classes)]
	clear(values)
	*r = run{p: p, m: m, values: values, record: r.record[:0], known: r.known[:0], args: r.args, buf: r.buf}
	r.out.Given = m.Given
	r.out.Vars = append([]uint64(nil), m.Vars...)
	if len(p.Maps) > 0 {
		r.out.Maps = m.Maps.Clone(len(p.Maps))
	}
	for b := p.Blocks[0]; b != nil; {
		b = r.block(b)
	}
	return r.out
}

// block executes b and returns the block that follows, nil at the end.
func (r *run) block(b *ir.Block) *ir.Block {
	for n := range b.Instrs {
		i := &b.Instrs[n]
		switch r.step(i) {
		case stop:
			return nil
		case fault:
			if i.Fault == ir.NoBlock {
				r.out.Exit = BadAccess
				return nil
			}
			r.out.Faults++
			to := r.p.Blocks[i.Fault]
			r.values[to.Params[0]] = r.address(i)
			return to
		}
	}
	switch t := &b.Term; {
	case t.Kind == ir.Jump:
		return r.follow(&t.Then)
	case t.Kind == ir.Branch && r.values[t.Cond] != 0:
		return r.follow(&t.Then)
	case t.Kind == ir.Branch:
		return r.follow(&t.Else)
	}
	return nil
}

// follow passes the arguments of e, all of them read before any is written.
func (r *run) follow(e *ir.Edge) *ir.Block {
	to := r.p.Blocks[e.To]
	r.args = r.args[:0]
	for _, v := range e.Args {
		r.args = append(r.args, r.values[v])
	}
	for i, v := range to.Params {
		r.values[v] = r.args[i]
	}
	return to
}

// step executes one instruction: the pure ones by ir.Compute, the others by table.
func (r *run) step(i *ir.Instr) flow {
	if f := steps[i.Op]; f != nil {
		return f(r, i)
	}
	var a, b uint64
	if i.A != ir.None {
		a = r.values[i.A]
	}
	if i.B != ir.None {
		b = r.values[i.B]
	}
	v, ok := ir.Compute(i.Op, i.W, r.p.OpClass(i), a, b)
	if !ok {
		panic("BUG: eval: no meaning for " + r.p.InstrString(i))
	}
	r.values[i.Dst] = v
	return next
}

// steps has the operations that ir.Compute does not compute. A test checks that the two together cover all
// operations.
var steps [ir.NumOps]func(r *run, i *ir.Instr) flow

// In init because the functions refer to the table through run.step.
func init() {
	for op, f := range map[ir.Op]func(r *run, i *ir.Instr) flow{
		ir.Const:  func(r *run, i *ir.Instr) flow { return r.set(i, uint64(i.Imm)) },
		ir.FConst: func(r *run, i *ir.Instr) flow { return r.set(i, uint64(i.Imm)) },
		ir.Reg:    func(r *run, i *ir.Instr) flow { return r.set(i, r.m.Regs[i.Imm]) },
		ir.Ctx:    (*run).ctx,
		ir.Env:    func(r *run, i *ir.Instr) flow { return r.set(i, r.m.Env[i.Imm]) },
		ir.FReg: func(r *run, i *ir.Instr) flow {
			return r.set(i, little(r.wide(i.Imm)[:r.p.Classes[i.Dst].Bytes()]))
		},

		ir.Load:  (*run).load,
		ir.FLoad: (*run).fload,
		ir.StrEq: (*run).streq,

		ir.Reserve: (*run).reserve,
		ir.Put:     func(r *run, i *ir.Instr) flow { return r.put(i, r.values[i.A], int(i.W)) },
		ir.FPut: func(r *run, i *ir.Instr) flow {
			return r.put(i, r.values[i.A], int(r.p.Classes[i.A].Bytes()))
		},
		ir.PutReg:     (*run).putreg,
		ir.Copy:       (*run).copy,
		ir.CopyN:      (*run).copyn,
		ir.CopyStr:    (*run).copystr,
		ir.CopyMax:    (*run).copymax,
		ir.Walk:       (*run).walk,
		ir.Intern:     (*run).intern,
		ir.Commit:     (*run).commit,
		ir.CopyFrames: func(r *run, i *ir.Instr) flow { r.forget(i); return next },
		ir.CopyComm:   func(r *run, i *ir.Instr) flow { r.store(i.Imm, r.m.Comm[:]); return next },
		ir.Give:       func(r *run, i *ir.Instr) flow { r.out.Given = r.values[i.A]; return next },
		ir.Take:       (*run).take,
		ir.StackID:    func(r *run, i *ir.Instr) flow { return r.set(i, 0) },
		ir.UserStack:  (*run).userStack,
		ir.Signal: func(r *run, i *ir.Instr) flow {
			r.out.Signals = append(r.out.Signals, r.values[i.A])
			return r.set(i, 0)
		},
		ir.Result: func(r *run, i *ir.Instr) flow {
			v := uint32(r.values[i.A])
			r.out.Result = &v
			return next
		},
		ir.GetVar: func(r *run, i *ir.Instr) flow { return r.set(i, *r.variable(i.Imm)) },
		ir.SetVar: func(r *run, i *ir.Instr) flow { *r.variable(i.Imm) = r.values[i.A]; return next },
		ir.AddVar: func(r *run, i *ir.Instr) flow { *r.variable(i.Imm) += r.values[i.A]; return next },
		ir.FetchAddVar: func(r *run, i *ir.Instr) flow {
			v := r.variable(i.Imm)
			was := *v
			*v += r.values[i.A]
			return r.set(i, was)
		},
		ir.Count: func(r *run, i *ir.Instr) flow { r.out.Counters[i.Imm]++; return next },
		ir.Ticks: func(r *run, i *ir.Instr) flow { return r.set(i, r.m.Ticks) },
	} {
		steps[op] = f
	}
	for op, f := range onMaps {
		steps[op] = f
	}
}

func (r *run) set(i *ir.Instr, v uint64) flow {
	r.values[i.Dst] = v
	return next
}

func (r *run) ctx(i *ir.Instr) flow {
	var b [8]byte
	if i.Imm < int64(len(r.m.Context)) {
		copy(b[:i.W], r.m.Context[i.Imm:])
	}
	return r.set(i, extend(little(b[:i.W]), i))
}

// variable is the place of variable n.
func (r *run) variable(n int64) *uint64 {
	if need := int(n) + 1; need > len(r.out.Vars) {
		r.out.Vars = append(r.out.Vars, make([]uint64, need-len(r.out.Vars))...)
	}
	return &r.out.Vars[n]
}

// take clears the word that was given, so that it is taken only once.
func (r *run) take(i *ir.Instr) flow {
	v := r.out.Given
	r.out.Given = 0
	return r.set(i, v)
}
