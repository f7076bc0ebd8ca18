package process

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/debuginfo/usdt"
	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/experiment"
	"github.com/jalon-trace/jalon/internal/image"
	"github.com/jalon-trace/jalon/internal/process"
)

// marker is a static tracepoint marker of a process: a probe of USDT
// (<sys/sdt.h>). Its identifier is provider:name; what `collect $_sdata` gives are
// the probe's arguments.
type marker struct {
	experiment.Marker
	semaphore uint64 // run-time address; 0: none
	args      []markerArg
}

// markerArg is an argument, as bytecode that leaves its value on the stack.
type markerArg struct {
	name   string
	size   int
	signed bool
	code   *agentexpr.Expr
	err    error // why it has no value
}

// Markers implements experiment.Engine.
func (x *markers) Markers() ([]experiment.Marker, error) {
	list, err := x.all()
	if err != nil {
		return nil, err
	}
	var out []experiment.Marker
	for _, m := range list {
		out = append(out, m.Marker)
	}
	return out, nil
}

// MarkersAt implements experiment.Engine.
func (x *markers) MarkersAt(addr uint64) ([]experiment.Marker, error) {
	list, err := x.all()
	if err != nil {
		return nil, err
	}
	var out []experiment.Marker
	for _, m := range list {
		if m.Addr == addr {
			out = append(out, m.Marker)
		}
	}
	return out, nil
}

func (x *markers) markerAt(addr uint64) (*marker, error) {
	list, err := x.all()
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		if m.Addr == addr {
			return m, nil
		}
	}
	return nil, fmt.Errorf("there is no static tracepoint marker at %#x", addr)
}

// markers are what a process had when its files were read: GDB asks again for every
// static tracepoint that it defines.
type markers struct {
	t     *Target
	files string // which of them were where
	list  []*marker
}

func (x *markers) forget() { x.files, x.list = "", nil }

// mappedFiles distinguishes the files of a process from those at another time.
func mappedFiles(pid int) (string, error) {
	maps, err := process.Maps(pid)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d", pid)
	for _, m := range maps {
		if strings.HasPrefix(m.Path, "/") {
			fmt.Fprintf(&b, " %x %s", m.Start, m.Path)
		}
	}
	return b.String(), nil
}

// all lists those of all modules of the process.
func (x *markers) all() ([]*marker, error) {
	pr, err := x.t.subject()
	if err != nil {
		return nil, err
	}
	files, err := mappedFiles(pr.pid)
	if err != nil {
		return nil, err
	}
	if x.files != files {
		list, err := x.readMarkers(pr)
		if err != nil {
			return nil, err
		}
		x.files, x.list = files, list
	}
	return x.list, nil
}

func (x *markers) readMarkers(pr *proc) ([]*marker, error) {
	files := image.NewFiles(dwarf.Options{DebugDirs: x.t.opt.DebugDirs})
	defer files.Close()
	im, err := image.OfProcess(pr.pid, files)
	if err != nil {
		return nil, fmt.Errorf("looking at process %d: %w", pr.pid, err)
	}
	var out []*marker
	for _, m := range im.Modules() {
		if m.Open() != nil {
			continue
		}
		list, err := markersOf(m.Info(), m.Bias())
		if err != nil {
			x.t.log("markers of %s: %v", m.Path, err)
		}
		out = append(out, list...)
	}
	return out, nil
}

func markersOf(info *dwarf.Module, bias uint64) ([]*marker, error) {
	probes, err := image.Markers(info)
	var out []*marker
	for i := range probes {
		p := &probes[i]
		m := &marker{Marker: experiment.Marker{Addr: p.PC + bias, ID: p.Provider + ":" + p.Name, Extra: p.ArgText}}
		if p.Semaphore != 0 {
			m.semaphore = p.Semaphore + bias
		}
		for k, v := range image.MarkerScope(info, p, nil).Args() {
			m.args = append(m.args, argOf(v, &p.Args[k], bias))
		}
		out = append(out, m)
	}
	return out, err
}

// argOf turns an argument's location into bytecode.
func argOf(v *debuginfo.Variable, a *usdt.Arg, bias uint64) markerArg {
	m := markerArg{name: v.Name, size: a.Size, signed: a.Signed}
	switch {
	case v.Loc.Unavailable != "":
		m.err = errors.New(v.Loc.Unavailable)
		return m
	case a.Float || len(v.Loc.Pieces) != 1:
		m.err = errors.New("its value is not an integer")
		return m
	}
	var code []agentexpr.Insn
	code, m.err = locationCode(&v.Loc.Pieces[0], a, bias)
	if m.err != nil {
		return m
	}
	ext := agentexpr.OpZeroExt
	if a.Signed {
		ext = agentexpr.OpExt
	}
	if a.Size < 8 {
		code = append(code, agentexpr.Insn{Op: ext, Arg: uint64(8 * a.Size)})
	}
	code = append(code, agentexpr.Insn{Op: agentexpr.OpEnd})
	m.code, m.err = agentexpr.Validate(agentexpr.Encode(code), agentexpr.ForAction)
	return m
}

func locationCode(p *debuginfo.Piece, a *usdt.Arg, bias uint64) ([]agentexpr.Insn, error) {
	if p.Kind == debuginfo.InRegister {
		number := generalNumber(int64(p.Reg))
		if number < 0 {
			return nil, errors.New("its register is not a general one")
		}
		code := []agentexpr.Insn{{Op: agentexpr.OpReg, Arg: uint64(number)}}
		if p.BitOffset != 0 {
			code = append(code, agentexpr.Insn{Op: agentexpr.OpConst8, Arg: uint64(p.BitOffset)}, agentexpr.Insn{Op: agentexpr.OpRshUnsigned})
		}
		return code, nil
	}
	code, err := exprCode(p.Expr, bias)
	if err != nil || p.Kind == debuginfo.IsValue {
		return code, err
	}
	if p.Kind != debuginfo.InMemory {
		return nil, errors.New("its location is of an unknown kind")
	}
	refs := map[int]agentexpr.Op{1: agentexpr.OpRef8, 2: agentexpr.OpRef16, 4: agentexpr.OpRef32, 8: agentexpr.OpRef64}
	ref, ok := refs[a.Size]
	if !ok {
		return nil, fmt.Errorf("it has %d bytes", a.Size)
	}
	return append(code, agentexpr.Insn{Op: ref}), nil
}

// exprCode turns the operations of an address into bytecode.
// generalNumber is GDB's number of a general register, -1 for another register.
func generalNumber(dwarf int64) int {
	if dwarf < 0 || dwarf >= int64(host.Processor.FrameColumns) {
		return -1
	}
	return host.Processor.GDB(arch.Reg(dwarf))
}

func exprCode(list []debuginfo.Op, bias uint64) ([]agentexpr.Insn, error) {
	var code []agentexpr.Insn
	konst := func(v uint64) { code = append(code, agentexpr.Insn{Op: agentexpr.OpConst64, Arg: v}) }
	op := func(o agentexpr.Op, arg uint64) { code = append(code, agentexpr.Insn{Op: o, Arg: arg}) }
	for _, x := range list {
		switch x.Code {
		case debuginfo.OpConst:
			konst(uint64(x.Arg))
		case debuginfo.OpAddr:
			konst(uint64(x.Arg) + bias)
		case debuginfo.OpReg:
			number := generalNumber(x.Arg)
			if number < 0 {
				return nil, errors.New("its address is counted from a register that is not a general one")
			}
			op(agentexpr.OpReg, uint64(number))
		case debuginfo.OpAddConst:
			konst(uint64(x.Arg))
			op(agentexpr.OpAdd, 0)
		case debuginfo.OpAdd:
			op(agentexpr.OpAdd, 0)
		case debuginfo.OpMul:
			op(agentexpr.OpMul, 0)
		case debuginfo.OpShl:
			op(agentexpr.OpLsh, 0)
		case debuginfo.OpConvert:
			bits, o := x.Arg*8, agentexpr.OpZeroExt
			if bits < 0 {
				bits, o = -bits, agentexpr.OpExt
			}
			if bits < 64 {
				op(o, uint64(bits))
			}
		default:
			return nil, errors.New("its location is too involved for bytecode")
		}
	}
	return code, nil
}

// expandStatic puts the marker's arguments in the place of the action L.
func (a *armed) expandStatic() error {
	var out []agentexpr.Action
	for _, x := range a.site.Actions {
		if x.Kind != agentexpr.CollectStatic {
			out = append(out, x)
			continue
		}
		if a.marker == nil {
			return errors.New("$_sdata is that of static tracepoints (strace) only")
		}
		a.sdata = true
		for _, arg := range a.marker.args {
			if arg.code != nil {
				out = append(out, agentexpr.Action{Kind: agentexpr.Evaluate, Expr: arg.code, Value: true})
			}
		}
	}
	a.site.Actions = out
	return nil
}

// StaticText implements experiment.Texter, for records of the site's layout.
func (a *armed) StaticText(record []byte) string { return a.static(a.lay.Frame(record)) }

// static is the text of $_sdata: "arg0=5 arg1=0x7ffc...".
func (a *armed) static(f *agentexpr.Frame) string {
	if !a.sdata || f == nil {
		return ""
	}
	values := map[int]uint64{}
	for _, b := range f.Blocks {
		if b.Kind == agentexpr.ValueBlock {
			values[b.Action] = b.Value
		}
	}
	var parts []string
	action := a.firstArg()
	for _, arg := range a.marker.args {
		if arg.code == nil {
			parts = append(parts, arg.name+"=<"+arg.err.Error()+">")
			continue
		}
		v, ok := values[action]
		action++
		if !ok {
			parts = append(parts, arg.name+"=<unreadable>")
			continue
		}
		parts = append(parts, arg.name+"="+arg.text(v))
	}
	return strings.Join(parts, " ")
}

// firstArg is the number of the action that evaluates the first argument.
func (a *armed) firstArg() int {
	for i, x := range a.spec.Program.Actions {
		if x.Kind == agentexpr.CollectStatic {
			return i
		}
	}
	return 0
}

func (m *markerArg) text(v uint64) string {
	if m.signed {
		return fmt.Sprint(int64(v))
	}
	if v > 1<<32 {
		return fmt.Sprintf("%#x", v)
	}
	return fmt.Sprint(v)
}

// raise raises or lowers the counter that the program looks at before it prepares
// a marker's arguments.
func (e *engine) raise(a *armed, up bool) error {
	if a == nil || a.marker == nil || a.marker.semaphore == 0 || a.raised == up {
		return nil
	}
	var b [2]byte
	if n, err := e.pr.Load().p.ReadMemory(a.marker.semaphore, b[:]); err != nil || n < 2 {
		return fmt.Errorf("the semaphore of %s at %#x cannot be read", a.marker.ID, a.marker.semaphore)
	}
	v := binary.LittleEndian.Uint16(b[:])
	if up {
		v++
	} else {
		v--
	}
	binary.LittleEndian.PutUint16(b[:], v)
	if err := e.pr.Load().p.WriteMemory(a.marker.semaphore, b[:]); err != nil {
		return ended(err)
	}
	a.raised = up
	return nil
}
