package process

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/rsp"
	"github.com/jalon-trace/jalon/internal/process"
)

// registerFile converts between what ptrace gives and the registers of a target
// description.
type registerFile struct {
	target *rsp.Target
	layout xsaveLayout
	slots  []slot // of each register, by number
}

// slot is where a register is: a general register, a field of the legacy region or a part of a component. A
// narrower field has the low bytes of the register.
type slot struct {
	general bool // a word of what ptrace gives, at offset

	state  int // the component; the others are for it
	offset int // in it
	bytes  int
	mask   uint64 // 0: all bits; else the register has 8 bytes at most
	// initial is the value in the initial state.
	initial uint64
	special *specialRegister
}

// specialRegister is one that is not just bytes. Values are little-endian.
type specialRegister struct {
	get func(xsaveArea) uint64
	set func(xsaveArea, *xsaveLayout, uint64) error
}

var tagRegister = &specialRegister{
	get: func(a xsaveArea) uint64 {
		if !a.used(xX87) {
			return 0xffff
		}
		return uint64(agentexpr.FullTag(a[xFTW], binary.LittleEndian.Uint16(a[xFSW:]), a[xST:xXMM]))
	},
	set: func(a xsaveArea, l *xsaveLayout, v uint64) error {
		a.use(l, xX87)
		a[xFTW] = agentexpr.AbridgedTag(uint16(v))
		return nil
	},
}

var mxcsrRegister = &specialRegister{
	get: func(a xsaveArea) uint64 { return uint64(a.mxcsr()) },
	set: func(a xsaveArea, l *xsaveLayout, v uint64) error { return a.setMXCSR(l, uint32(v)) },
}

// fixedSlots are the registers of the area that do not come in rows.
var fixedSlots = map[string]slot{
	"fctrl": {state: xX87, offset: xFCW, bytes: 2, initial: initialFCW},
	"fstat": {state: xX87, offset: xFSW, bytes: 2},
	"ftag":  {state: xX87, bytes: 2, special: tagRegister},
	"fiseg": {state: xX87, offset: xFCS, bytes: 2},
	"fioff": {state: xX87, offset: xFIP, bytes: 4},
	"foseg": {state: xX87, offset: xFDS, bytes: 2},
	"fooff": {state: xX87, offset: xFDP, bytes: 4},
	"fop":   {state: xX87, offset: xFOP, bytes: 2, mask: 0x7ff},
	"mxcsr": {state: xSSE, bytes: 4, special: mxcsrRegister},
	"pkru":  {state: xPKRU, bytes: 4},
}

// rows are the registers that come in rows of one component.
var rows = []struct {
	format       string
	first, count int
	state        int
	offset       int // of the first
	stride, size int
}{
	{"st%d", 0, 8, xX87, xST, 16, 10},
	{"xmm%d", 0, 16, xSSE, 0, 16, 16},
	{"ymm%dh", 0, 16, xYmmHi, 0, 16, 16},
	{"k%d", 0, 8, xMask, 0, 8, 8},
	{"zmm%dh", 0, 16, xZmmHi, 0, 32, 32},
	{"xmm%d", 16, 16, xHi16, 0, 64, 16},
	{"ymm%dh", 16, 16, xHi16, 16, 64, 16},
	{"zmm%dh", 16, 16, xHi16, 32, 64, 32},
}

func slotTable() map[string]slot {
	all := map[string]slot{}
	for _, r := range host.Processor.Registers {
		if r.Ptrace != arch.Nowhere {
			all[r.Name] = slot{general: true, offset: r.Ptrace}
		}
	}
	for name, s := range fixedSlots {
		all[name] = s
	}
	for _, r := range rows {
		for i := range r.count {
			name := fmt.Sprintf(r.format, r.first+i)
			all[name] = slot{state: r.state, offset: r.offset + i*r.stride, bytes: r.size}
		}
	}
	return all
}

// newRegisterFile is the conversion for a target description.
func newRegisterFile(t *rsp.Target, l xsaveLayout) *registerFile {
	table := slotTable()
	f := &registerFile{target: t, layout: l}
	for _, r := range t.Registers {
		s, ok := table[r.Name]
		if !ok {
			panic("BUG: no place for register " + r.Name)
		}
		f.slots = append(f.slots, s)
	}
	return f
}

// Encode returns all registers in the order of the description. Those that the area
// does not have are missing: an area of no bytes is one that could not be read.
func (f *registerFile) Encode(regs *process.Regs, area []byte) rsp.Registers {
	out := rsp.Registers{Data: make([]byte, f.target.Size)}
	for i, r := range f.target.Registers {
		end := r.Offset + r.Bits/8
		if f.get(i, regs, area, out.Data[r.Offset:end]) {
			continue
		}
		if out.Missing == nil {
			out.Missing = make([]bool, f.target.Size)
		}
		for at := r.Offset; at < end; at++ {
			out.Missing[at] = true
		}
	}
	return out
}

// Get returns the bytes of one register; nil: they are not known.
func (f *registerFile) Get(number int, regs *process.Regs, area []byte) []byte {
	if number < 0 || number >= len(f.slots) {
		return nil
	}
	b := make([]byte, f.target.Registers[number].Bits/8)
	if !f.get(number, regs, area, b) {
		return nil
	}
	return b
}

// get writes the bytes of a register to dst, which is zero before, and reports whether they are known.
func (f *registerFile) get(number int, regs *process.Regs, area xsaveArea, dst []byte) bool {
	s := &f.slots[number]
	if s.general {
		putLow(dst, *regs.Word(s.offset))
		return true
	}
	state := area.component(&f.layout, s.state)
	if state == nil {
		return false
	}
	switch {
	case s.special != nil:
		putLow(dst, s.special.get(area))
	case !area.used(s.state):
		putLow(dst, s.initial)
	case s.mask != 0:
		putLow(dst, low(state[s.offset:s.offset+s.bytes])&s.mask)
	default:
		copy(dst, state[s.offset:s.offset+s.bytes])
	}
	return true
}

// Decode writes all registers. If one cannot have its new value, regs and area are
// as they were.
func (f *registerFile) Decode(data []byte, regs *process.Regs, area []byte) error {
	if len(data) != f.target.Size {
		return fmt.Errorf("%d bytes of registers; this target has %d", len(data), f.target.Size)
	}
	newRegs, newArea := *regs, bytes.Clone(area)
	for i, r := range f.target.Registers {
		if s := &f.slots[i]; !s.general && xsaveArea(area).component(&f.layout, s.state) == nil {
			continue // Encode marked it as missing
		}
		if err := f.set(i, data[r.Offset:r.Offset+r.Bits/8], &newRegs, newArea); err != nil {
			return err
		}
	}
	*regs = newRegs
	copy(area, newArea)
	return nil
}

// Set writes one register, of all its bytes.
func (f *registerFile) Set(number int, data []byte, regs *process.Regs, area []byte) error {
	if number < 0 || number >= len(f.slots) {
		return fmt.Errorf("this target has no register %d", number)
	}
	r := &f.target.Registers[number]
	if len(data) != r.Bits/8 {
		return fmt.Errorf("%d bytes for register %s of %d", len(data), r.Name, r.Bits/8)
	}
	return f.set(number, data, regs, area)
}

func (f *registerFile) set(number int, data []byte, regs *process.Regs, area xsaveArea) error {
	s := &f.slots[number]
	// A component whose bytes do not change is not written, so it remains in its initial state.
	var old [64]byte
	known := f.get(number, regs, area, old[:len(data)])
	if known && bytes.Equal(old[:len(data)], data) {
		return nil
	}
	if s.general {
		p := regs.Word(s.offset)
		keep := *p
		if len(data) < 8 {
			*p = keep>>32<<32 | low(data)
		} else {
			*p = low(data)
		}
		return nil
	}
	state := area.component(&f.layout, s.state)
	if state == nil {
		return fmt.Errorf("register %s is not available", f.target.Registers[number].Name)
	}
	if s.special != nil {
		return s.special.set(area, &f.layout, low(data))
	}
	area.use(&f.layout, s.state)
	if s.mask != 0 {
		var b [8]byte
		putLow(b[:], low(data)&s.mask)
		data = b[:]
	}
	copy(state[s.offset:s.offset+s.bytes], data)
	return nil
}

// low is the number in up to 8 bytes, low byte first.
func low(b []byte) uint64 {
	var w [8]byte
	copy(w[:], b)
	return binary.LittleEndian.Uint64(w[:])
}

// putLow writes the low bytes of v, and 0 behind them.
func putLow(dst []byte, v uint64) {
	var w [8]byte
	binary.LittleEndian.PutUint64(w[:], v)
	clear(dst[copy(dst, w[:]):])
}
