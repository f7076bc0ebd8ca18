package experiment

import (
	"encoding/binary"
	"fmt"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// view is the selected frame. It is a copy: a circular buffer may drop the frame
// while GDB looks at it.
type view struct {
	on     bool
	number uint64 // counted from the start of the run
	form   *form
	entry  entry
	pc     uint64 // 0: not known
	blocks []rsp.Block
	static string
}

// frames are what GDB sees of the selected one.
type frames struct {
	*base
	buffer   *buffer
	runner   *runner
	encoder  *encoder
	view     *view
	readOnly []rsp.Range
}

// packets are those that it handles.
func (x *frames) packets() []row {
	return []row{
		on("QTFrame", "selects a frame", x.selectFrame),
		done("QTro", "memory that never changes", x.setReadOnly),
	}
}

func (x *frames) setReadOnly(p rsp.ReadOnlyRanges) error {
	for _, r := range p.Ranges {
		if r.End < r.Start {
			return fmt.Errorf("a read-only range that ends at %#x, before its start %#x", r.End, r.Start)
		}
	}
	x.readOnly = p.Ranges
	return nil
}

// selectFrame answers QTFrame. A search begins behind the selected frame and does
// not go round; where it finds nothing, the selected frame remains.
func (x *frames) selectFrame(p rsp.SelectFrame) (rsp.Packet, error) {
	x.runner.Tick()
	q := p.Query
	if q.Kind == rsp.FrameNumber && q.Frame == -1 {
		x.ResetFrame()
		return rsp.OK{}, nil
	}
	found := -1
	if q.Kind == rsp.FrameNumber {
		if q.Frame >= 0 && q.Frame < int64(x.buffer.count) {
			found = int(q.Frame)
		}
	} else {
		found = x.buffer.find(x.behind(), wanted(q))
	}
	if found < 0 {
		return rsp.FrameFound{Frame: -1}, nil
	}
	x.look(found)
	number := x.view.form.number
	return rsp.FrameFound{Frame: int64(found), Tracepoint: &number}, nil
}

// behind is where a search begins.
func (x *frames) behind() int {
	if !x.view.on {
		return 0
	}
	return x.SelectedFrame() + 1
}

// wanted says which frames a search is for. Both ends belong to a range. A frame
// whose pc is not known is in no range, and outside none.
type wanted rsp.FrameQuery

type verdict uint8

const (
	no verdict = iota
	yes
	perhaps // its pc decides
)

// form checks all frames of a form.
func (w *wanted) form(f *form) verdict {
	switch {
	case w.Kind == rsp.FrameTracepoint && f.number == w.Tracepoint:
		return yes
	case w.Kind == rsp.FrameTracepoint:
		return no
	case f.rip >= 0 || f.pcs:
		return perhaps
	}
	return w.pc(f.pc)
}

// pc checks a frame by its pc.
func (w *wanted) pc(pc uint64) verdict {
	lo, hi := w.Range.Start, w.Range.End
	if w.Kind == rsp.FramePC {
		hi = lo
	}
	inside := lo <= pc && pc <= hi
	if pc != 0 && inside != (w.Kind == rsp.FrameOutside) {
		return yes
	}
	return no
}

// look selects frame n.
func (x *frames) look(n int) {
	f := x.buffer.frame(n)
	frames, err := rsp.ParseFrames(x.encoder.encode(nil, &f), x.regs.Size)
	if err != nil || len(frames) != 1 {
		panic(fmt.Sprintf("BUG: %d frames in the place of frame %d: %v", len(frames), n, err))
	}
	number := x.buffer.oldest() + uint64(n)
	*x.view = view{on: true, number: number, form: f.form, entry: f.entry, pc: f.pc, blocks: frames[0].Blocks, static: x.encoder.static(&f)}
}

// SelectedFrame is the number of the selected frame; -1: none. In a circular buffer
// it becomes less while older frames are dropped, and stays at 0 when it has gone
// itself.
func (x *frames) SelectedFrame() int {
	if !x.view.on {
		return -1
	}
	if oldest := x.buffer.oldest(); x.view.number > oldest {
		return int(x.view.number - oldest)
	}
	return 0
}

// ResetFrame leaves the selected frame.
func (x *frames) ResetFrame() { *x.view = view{} }

// FrameRegisters are the registers of the selected frame.
func (x *frames) FrameRegisters() rsp.Registers {
	out := rsp.Registers{Data: make([]byte, x.regs.Size), Missing: make([]bool, x.regs.Size)}
	for i := range out.Missing {
		out.Missing[i] = true
	}
	if !x.view.on {
		return out
	}
	known := func(number int, data []byte) {
		r := &x.opt.Target.Registers[number]
		n := r.Bits / 8
		copy(out.Data[r.Offset:r.Offset+n], data)
		clear(out.Missing[r.Offset : r.Offset+n])
	}
	for _, b := range x.view.blocks {
		if b.Kind != rsp.BlockRegisters {
			continue
		}
		for _, r := range x.view.form.regs {
			if r.num >= 0 && r.num < len(x.regs.Offsets) {
				known(r.num, b.Data[x.regs.Offsets[r.num]:])
			}
		}
	}
	if pc := x.view.pc; pc != 0 {
		known(x.rip, binary.LittleEndian.AppendUint64(nil, pc))
	}
	return out
}

// FrameMemory fills b with what the selected frame has from addr on, or what never
// changes (QTro), and returns how many bytes there are.
func (x *frames) FrameMemory(addr uint64, b []byte) int {
	n := 0
	for n < len(b) {
		part := x.view.memory(addr+uint64(n), b[n:])
		if part == 0 {
			part = x.constant(addr+uint64(n), b[n:])
		}
		if part == 0 {
			break
		}
		n += part
	}
	return n
}

// memory copies from the block that has addr.
func (v *view) memory(addr uint64, b []byte) int {
	for i := range v.blocks {
		k := &v.blocks[i]
		if k.Kind == rsp.BlockMemory && addr-k.Addr < uint64(len(k.Data)) {
			return copy(b, k.Data[addr-k.Addr:])
		}
	}
	return 0
}

// constant reads live memory of the read-only range that has addr, up to the next
// byte that the frame has itself.
func (x *frames) constant(addr uint64, b []byte) int {
	for _, r := range x.readOnly {
		if addr < r.Start || addr >= r.End {
			continue
		}
		n := min(uint64(len(b)), r.End-addr)
		for i := range x.view.blocks {
			k := &x.view.blocks[i]
			if k.Kind == rsp.BlockMemory && k.Addr > addr {
				n = min(n, k.Addr-addr)
			}
		}
		if err := x.engine.Memory(addr, b[:n]); err != nil {
			return 0
		}
		return int(n)
	}
	return 0
}

// variable is the value that the frame has of a variable. It may be collected
// several times; the last one counts.
func (v *view) variable(number uint64) (value uint64, ok bool) {
	for i := range v.blocks {
		if k := &v.blocks[i]; k.Kind == rsp.BlockVariable && uint64(k.Number) == number {
			value, ok = uint64(k.Value), true
		}
	}
	return value, ok
}

// FrameInfo is the object traceframe-info of the selected frame.
func (x *frames) FrameInfo() []byte {
	var memory []rsp.MemoryRegion
	var variables []uint64
	seen := map[uint32]bool{}
	for i := range x.view.blocks {
		switch k := &x.view.blocks[i]; k.Kind {
		case rsp.BlockMemory:
			memory = append(memory, rsp.MemoryRegion{Start: k.Addr, Length: uint64(len(k.Data))})
		case rsp.BlockVariable:
			if !seen[k.Number] {
				seen[k.Number] = true
				variables = append(variables, uint64(k.Number))
			}
		}
	}
	return rsp.TraceFrameInfoXML(memory, variables)
}

// StaticData is the object sdata of the selected frame.
func (x *frames) StaticData() (data []byte, ok bool) {
	if !x.view.on || x.view.static == "" {
		return nil, false
	}
	return []byte(x.view.static), true
}
