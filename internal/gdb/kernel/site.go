package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	contract "github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/engine/kernel"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/experiment"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/printk"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/internal/sema"
)

// site is a tracepoint of a run with its programs. Nearly all have one. Where a
// static tracepoint's raw arguments are asked for and its own record too, which no
// program sees together, there are two: the first decides and records, and leaves a
// token, in its own record and for the second; that finds the kernel's record and
// puts it in the ring with the token. The kernel calls them one behind the other in
// the order in which they were attached.
type site struct {
	spec   *experiment.Spec
	e      *engine
	marker *kernel.Marker // nil: an instruction
	layout *agentexpr.Layout
	main   *contract.Program
	own    *contract.Program // the second program; nil: there is none
	// Where the bytes of the marker's own record, or the token, are in the records
	// of main and of own; -1: nowhere. They are Counted.
	static, ownStatic int
	text              *printk.Printer // nil: the record is not asked for
	line              []byte          // of StaticText

	before   *site  // whose place it has taken in the run; nil: none's
	unpaid   uint64 // hits whose room in the buffer has been given back
	given    uint64 // hits that were given out
	halfLost uint64 // those of own that did not come
	// begun is the variable without which main does nothing, of a pair: it is set when
	// both programs are attached.
	begun int64
}

// make loads what a tracepoint of the run needs.
func (e *engine) make(s *experiment.Spec) (*site, error) {
	if e.sites[s] != nil {
		return nil, fmt.Errorf("tracepoint %d at %#x is there already", s.Number, s.Addr)
	}
	st, err := e.prepare(s)
	if err != nil {
		return nil, err
	}
	e.sites[s] = st
	e.order = append(e.order, st)
	return st, nil
}

// prepare loads programs for a tracepoint.
func (e *engine) prepare(s *experiment.Spec) (*site, error) {
	if s.Steps > 0 {
		return nil, errors.New("while-stepping: the kernel is never stopped, so nothing can step through it")
	}
	st := &site{spec: s, e: e, static: -1, ownStatic: -1}
	m, err := e.markerAt(s.Addr)
	switch {
	case err != nil && s.Kind == experiment.Static:
		return nil, err
	case m != nil:
		err = st.atMarker(m)
	case s.Kind == experiment.Static:
		err = fmt.Errorf("there is no static tracepoint at %#x", s.Addr)
	default:
		err = st.load(kernel.Instruction(s.Addr), agentexpr.Options{PtRegs: true})
	}
	if err != nil {
		return nil, err
	}
	e.records.know(st)
	return st, nil
}

// atMarker chooses what a static tracepoint is seen by.
func (st *site) atMarker(m *kernel.Marker) error {
	st.marker = m
	p := &st.spec.Program
	if !wantsOwn(p) && m.Params != nil {
		return st.load(m.Arguments(), agentexpr.Options{Registers: argumentsAsCalled(m)})
	}
	var opt agentexpr.Options
	if m.Params == nil {
		opt.Registers = recordAsArgument()
	}
	if !wantsOwn(p) {
		return st.load(m.Record(), opt)
	}
	sd, err := st.e.k.OwnRecord(m)
	if err != nil {
		return err
	}
	sd.Text.TickCount = false // GDB shows the bytes
	st.text = printk.NewPrinter(sd.Text, st.e.k)
	size := ownSize(sd)
	opt.StaticSize = size
	opt.Static = func(b *ir.Builder, at int64) { st.static = int(at); copyOwn(b, sd, at, size) }
	args := argumentsAsCalled(m)
	if m.Params == nil || !args.uses(p) {
		return st.load(m.Record(), opt)
	}
	return st.pair(args, sd)
}

// pair makes the two programs.
func (st *site) pair(args registers, sd *sema.SData) error {
	var ok bool
	if st.begun, ok = st.e.reserve(); !ok {
		return fmt.Errorf("the %d variables of a trace run are in use", ring.MaxVariables)
	}
	// The slot has room for the marker's own record, which the second program brings.
	var in *ir.Builder
	opt := agentexpr.Options{Registers: args, StaticSize: ownSize(sd), Static: func(b *ir.Builder, at int64) {
		if in != b { // else it is another action that collects the same
			in, st.static = b, int(at)
			token := b.Def(ir.I64, ir.Instr{Op: ir.Env, Imm: ir.EnvTime})
			b.Emit(ir.Instr{Op: ir.Put, W: 4, A: b.Const(tokenSize), Imm: at})
			b.Emit(ir.Instr{Op: ir.Put, W: 8, A: token, Imm: at + ir.CountedHeader})
			b.Emit(ir.Instr{Op: ir.Give, A: token})
		}
	}}
	opt.Begun = &st.begun
	if err := st.load(st.marker.Arguments(), opt); err != nil {
		return err
	}
	p, at := ownProgram(st.name(), sd)
	st.ownStatic = at
	var err error
	st.own, err = st.program(st.marker.Record(), p, at+ir.CountedHeader+int(ownSize(sd)), st.main)
	return err
}

func (st *site) name() string {
	if st.marker != nil {
		return fmt.Sprintf("tracepoint %d at %s", st.spec.Number, st.marker.Name)
	}
	return fmt.Sprintf("tracepoint %d at %#x", st.spec.Number, st.spec.Addr)
}

// load makes and loads the program of the tracepoint.
func (st *site) load(at *kernel.Point, opt agentexpr.Options) error {
	opt.Kernel, opt.PC, opt.Var, opt.Epoch, opt.Stop = true, st.spec.Addr, st.e.variable, st.e.records.epoch, st.e.stops.Of(st.spec)
	program := st.spec.Program
	if program.Name == "" {
		program.Name = st.name()
	}
	p, layout, err := agentexpr.Lower(&program, &opt)
	if err != nil {
		return err
	}
	st.layout = layout
	st.main, err = st.program(at, p, layout.RecordSize, nil)
	return err
}

// program loads a program; first is the other one of a pair.
func (st *site) program(at *kernel.Point, p *ir.Program, size int, first *contract.Program) (*contract.Program, error) {
	contract.Finish(p, p.Name, true)
	x := &contract.Program{
		Key: st, Number: st.spec.Number, Label: p.Name, Site: at, IR: p, First: first,
		Schema: &event.Schema{Place: p.Name, Kernel: true, RecordSize: size},
	}
	errs, err := st.e.run.Load([]*contract.Program{x})
	return x, errors.Join(append(errs, err)...)
}

// attach lets hits of a program come.
func (st *site) attach(x *contract.Program) error {
	errs, err := st.e.run.Arm([]*contract.Program{x})
	return errors.Join(append(errs, err)...)
}

func (st *site) armed(x *contract.Program) bool { return st.e.run.Armed(x) }

// arm lets hits come. A program that decides must be called before the one that
// waits for its word, and the kernel calls all of perf's programs from the place
// where the first of them came: so all that decide are attached before any of those. They do
// nothing until the other one is there: such a hit would be half of one, but would set
// variables and count for the end of the run.
func arm(list []*site) map[*site]error {
	bad := map[*site]error{}
	for _, st := range list {
		if st.own == nil || st.armed(st.main) {
			continue
		}
		if err := st.attachFirst(); err != nil {
			bad[st] = err
		}
	}
	for _, st := range list {
		if bad[st] != nil {
			continue
		}
		if err := st.attach(st.last()); err != nil {
			bad[st] = errors.Join(err, st.detach())
		} else if st.own != nil {
			st.begin(1)
		}
	}
	return bad
}

// errOpenByPerf: the record would be made for another user of perf before our condition is evaluated.
type errOpenByPerf struct{ marker string }

func (e *errOpenByPerf) Error() string {
	return "another program has " + e.marker + " open by perf; beside it arguments ($rsi, ...) and $_sdata cannot be had at one tracepoint: take one of both, or end the other program"
}

// Others may open a tracepoint for a moment, for example to look at it.
const (
	attachAttempts = 50
	attachPause    = 10 * time.Millisecond
)

// attachFirst attaches the program that decides, while perf has no program at the tracepoint:
//
//  1. No perf event is open on it.
//  2. The program is attached. It does nothing yet.
//  3. Again no perf event is open: whichever comes now comes behind the program. One that was
//     opened between 1 and 2 would be called before it for as long as it is open, and ours with
//     it, so then the program is taken back, and all begins again.
func (st *site) attachFirst() error {
	st.begin(0)
	var err error
	for range attachAttempts {
		if err = st.exclusive(); err == nil {
			if err = st.attach(st.main); err == nil {
				err = st.exclusive()
			}
			if err == nil {
				return nil
			}
			err = errors.Join(err, st.detach())
		}
		var open *errOpenByPerf
		if !errors.As(err, &open) {
			break
		}
		time.Sleep(attachPause)
	}
	return err
}

// begin sets whether the first program of a pair does something.
func (st *site) begin(value uint64) { st.e.run.Rings().SetVariable(int(st.begun), value) }

// exclusive checks that no other program would be called before ours.
func (st *site) exclusive() error {
	n, err := st.e.run.Others(st.marker)
	if err == nil && n > 0 {
		err = &errOpenByPerf{st.marker.Name.String()}
	}
	return err
}

// last is the program that completes a hit.
func (st *site) last() *contract.Program {
	if st.own != nil {
		return st.own
	}
	return st.main
}

// byRecord reports whether a program of the site hangs on the marker's record.
func (st *site) byRecord() bool {
	return st.marker != nil && (st.text != nil || st.marker.Params == nil)
}

// detach ends the hits; the programs stay loaded. The second program goes last: what
// the first one has begun is completed.
func (st *site) detach() error {
	return st.e.run.Detach([]*contract.Program{st.last()})
}

const (
	tokenSize = 8
	// dynamicBytes is what is kept of each dynamic array of a record, ownBytes of the
	// whole of it: perf's own limit.
	dynamicBytes = 512
	ownBytes     = 8192
)

func ownSize(sd *sema.SData) int64 {
	return int64(min(sd.Fixed+dynamicBytes*len(sd.Dynamic), ownBytes)+7) &^ 7
}

// copyOwn emits the copy of the marker's own record; where its lengths are wrong
// there are no bytes.
func copyOwn(b *ir.Builder, sd *sema.SData, at, size int64) {
	if len(sd.Dynamic) == 0 {
		sd.Copy(b, at, size, ir.NoBlock)
		return
	}
	lost, on := b.NewBlock("the record's lengths are wrong", ir.I64), b.NewBlock("")
	sd.Copy(b, at, size, lost)
	b.Jump(on)
	b.Start(lost)
	b.Emit(ir.Instr{Op: ir.Put, W: 8, A: b.Const(0), Imm: at})
	b.Jump(on)
	b.Start(on)
}

// tokenAt is the offset of the token in the records of a second program.
const tokenAt = ring.RecHeader

// ownProgram is the second program of a pair.
func ownProgram(name string, sd *sema.SData) (p *ir.Program, static int) {
	const at = tokenAt + tokenSize
	size := ownSize(sd)
	b := ir.NewBuilder(name + ", its own record")
	token := b.Def(ir.I64, ir.Instr{Op: ir.Take})
	hit, miss := b.NewBlock("hit"), b.NewBlock("no hit")
	b.Branch(token, hit, miss)
	b.Start(hit)
	b.Emit(ir.Instr{Op: ir.Reserve, Imm: at + ir.CountedHeader + size})
	b.Emit(ir.Instr{Op: ir.Put, W: 8, A: token, Imm: tokenAt})
	copyOwn(b, sd, at, size)
	b.Emit(ir.Instr{Op: ir.Commit})
	b.Exit()
	b.Start(miss)
	b.Exit()
	return b.Finish(), at
}

// counted is what a Counted slot holds; nil where the record is damaged.
func counted(rec []byte, at int) []byte {
	if at < 0 || at+ir.CountedHeader > len(rec) {
		return nil
	}
	n := int64(binary.LittleEndian.Uint32(rec[at:]))
	rest := rec[at+ir.CountedHeader:]
	if n > int64(len(rest)) {
		return nil
	}
	return rest[:n]
}

// counts are those of the site's own programs.
func (st *site) counts() experiment.Counts {
	got := st.e.records.recorded(st)
	n := st.e.run.Counts(st.main)
	c := experiment.Counts{False: n.False, Faults: n.Faults, Lost: n.Lost}
	c.Hits = got + c.Lost - min(c.Lost, st.halfLost)
	return c
}

// missed is how many hits the kernel kept from the programs.
func (st *site) missed() uint64 {
	n := st.e.run.Counts(st.last()).Missed // of both of a pair
	if st.before != nil {
		n += st.before.missed()
	}
	return n
}
