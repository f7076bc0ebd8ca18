package experiment

import (
	"encoding/binary"
	"fmt"

	"github.com/jalon-trace/jalon/internal/rsp"
)

// view is the selected frame. It is a copy: a circular buffer may drop the frame
// while GDB looks at it.
type view struct {
	on     bool
	number uint64 // counted from the start of the run
	entry  entry
	blocks []rsp.Block
	static string
}

// selectFrame answers QTFrame. A search begins behind the selected frame and does
// not go round; where it finds nothing, the selected frame remains.
func (x *Experiment) selectFrame(p rsp.SelectFrame) (rsp.Packet, error) {
	x.Tick()
	q := p.Query
	if q.Kind == rsp.FrameNumber && q.Frame == -1 {
		x.view = view{}
		return rsp.OK{}, nil
	}
	found := -1
	if q.Kind == rsp.FrameNumber {
		if q.Frame >= 0 && q.Frame < int64(x.buffer.count) {
			found = int(q.Frame)
		}
	} else {
		x.buffer.each(x.behind(), func(n int, e *entry) bool {
			if x.matches(e, &q) {
				found = n
			}
			return found < 0
		})
	}
	if found < 0 {
		return rsp.FrameFound{Frame: -1}, nil
	}
	x.look(found)
	number := x.byIndex[x.view.entry.tp].number
	return rsp.FrameFound{Frame: int64(found), Tracepoint: &number}, nil
}

// behind is where a search begins.
func (x *Experiment) behind() int {
	if !x.view.on {
		return 0
	}
	return x.SelectedFrame() + 1
}

// matches says whether a frame is one that is sought. Both ends belong to a range.
// A frame whose pc is not known is in no range, and outside none.
func (x *Experiment) matches(e *entry, q *rsp.FrameQuery) bool {
	if q.Kind == rsp.FrameTracepoint {
		return x.byIndex[e.tp].number == q.Tracepoint
	}
	lo, hi := q.Range.Start, q.Range.End
	if q.Kind == rsp.FramePC {
		hi = lo
	}
	inside := lo <= e.pc && e.pc <= hi
	return e.pc != 0 && inside != (q.Kind == rsp.FrameOutside)
}

// look selects frame n.
func (x *Experiment) look(n int) {
	c, i := x.buffer.at(n)
	raw, static := c.frame(i)
	frames, err := rsp.ParseFrames(append([]byte(nil), raw...), x.regs.Size)
	if err != nil || len(frames) != 1 {
		panic(fmt.Sprintf("BUG: %d frames in the place of frame %d: %v", len(frames), n, err))
	}
	x.view = view{on: true, number: c.first + uint64(i), entry: c.entries[i], blocks: frames[0].Blocks, static: string(static)}
}

// SelectedFrame is the number of the selected frame; -1: none. In a circular buffer
// it becomes less while older frames are dropped, and stays at 0 when it has gone
// itself.
func (x *Experiment) SelectedFrame() int {
	if !x.view.on {
		return -1
	}
	if oldest := x.buffer.oldest(); x.view.number > oldest {
		return int(x.view.number - oldest)
	}
	return 0
}

// ResetFrame leaves the selected frame.
func (x *Experiment) ResetFrame() { x.view = view{} }

// FrameRegisters are the registers of the selected frame.
func (x *Experiment) FrameRegisters() rsp.Registers {
	out := rsp.Registers{Data: make([]byte, x.regs.Size), Missing: make([]bool, x.regs.Size)}
	for i := range out.Missing {
		out.Missing[i] = true
	}
	if !x.view.on {
		return out
	}
	e := &x.view.entry
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
		for _, n := range x.run.sets.list[e.regs].numbers {
			if n < len(x.regs.Offsets) {
				known(n, b.Data[x.regs.Offsets[n]:])
			}
		}
	}
	if e.pc != 0 {
		known(x.rip, binary.LittleEndian.AppendUint64(nil, e.pc))
	}
	return out
}

// FrameMemory fills b with what the selected frame has from addr on, or what never
// changes (QTro), and returns how many bytes there are.
func (x *Experiment) FrameMemory(addr uint64, b []byte) int {
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
func (x *Experiment) constant(addr uint64, b []byte) int {
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
func (x *Experiment) FrameInfo() []byte {
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
func (x *Experiment) StaticData() (data []byte, ok bool) {
	if !x.view.on || x.view.static == "" {
		return nil, false
	}
	return []byte(x.view.static), true
}
