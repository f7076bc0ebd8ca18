package agentexpr

import "encoding/binary"

// RegisterBlock has the offsets of registers in the R blocks of a trace frame.
type RegisterBlock struct {
	Size    int
	Offsets []int // by the register's number
}

// AppendBlocks appends the data of a record as blocks of GDB's trace frames: R, M and V (package rsp has the
// format). It is Frame for callers that need bytes without allocation. Registers that were not collected are
// zero in the R block. now is the value of variables that have the time. Data without a block form (printed
// texts, static data, values) is omitted. ok is false for a record that is too short.
func (l *Layout) AppendBlocks(dst, rec []byte, regs *RegisterBlock, now uint64) (out []byte, ok bool) {
	if rec = l.Whole(rec); rec == nil {
		return dst, false
	}
	if len(l.Regs) > 0 {
		var block []byte
		var buf [wordSize]byte
		dst, block = regs.append(dst)
		for i := range l.Regs {
			r := &l.Regs[i]
			regs.set(block, r.Num, r.value(rec, &buf))
		}
	}
	d := decoder{l, rec}
	for i := range l.Blocks {
		s := &l.Blocks[i]
		if s.Kind != MemoryBlock && s.Kind != VarBlock || !d.present(s) {
			continue
		}
		if s.Kind == VarBlock {
			v := now
			if !s.Now {
				v = d.u64(s.Offset)
			}
			dst = appendVariable(dst, s.Var, v)
			continue
		}
		dst = d.appendMemory(dst, s)
	}
	return dst, true
}

func (d *decoder) appendMemory(dst []byte, s *BlockSlot) []byte {
	addr := uint64(s.Addr.off)
	if s.Addr.word != 0 {
		addr += d.u64(s.Addr.word)
	}
	if !s.Counted {
		return appendMemory(dst, addr, d.rec[s.Offset:s.Offset+s.Size], false)
	}
	data, flags := d.counted(s.Offset, s.Size)
	return appendMemory(dst, addr, data, s.Text && flags == 0)
}

// AppendBlocks is the same of a frame that is taken apart already.
func (f *Frame) AppendBlocks(dst []byte, regs *RegisterBlock, now uint64) []byte {
	if len(f.Regs) > 0 {
		var block []byte
		dst, block = regs.append(dst)
		for _, r := range f.Regs {
			regs.set(block, r.Num, r.Data)
		}
	}
	for i := range f.Blocks {
		switch b := &f.Blocks[i]; {
		case b.Kind == MemoryBlock:
			dst = appendMemory(dst, b.Addr, b.Data, false)
		case b.Kind == VarBlock && b.Now:
			dst = appendVariable(dst, b.Var, now)
		case b.Kind == VarBlock:
			dst = appendVariable(dst, b.Var, b.Value)
		}
	}
	return dst
}

// append appends a block of zeros and gives its bytes.
func (b *RegisterBlock) append(dst []byte) (out, block []byte) {
	dst = append(dst, 'R')
	at := len(dst)
	if need := at + b.Size; need <= cap(dst) {
		dst = dst[:need]
		clear(dst[at:])
	} else {
		dst = append(dst, make([]byte, b.Size)...)
	}
	return dst, dst[at:]
}

// set writes a register; one that the block has no place for is left out.
func (b *RegisterBlock) set(block []byte, num int, data []byte) {
	if num >= 0 && num < len(b.Offsets) {
		copy(block[b.Offsets[num]:], data)
	}
}

// maxBlock is how much memory one M block can have: its length has 16 bits.
const maxBlock = 1<<16 - 1

// appendMemory appends M blocks; nul: a NUL follows data.
func appendMemory(dst []byte, addr uint64, data []byte, nul bool) []byte {
	for len(data) > 0 || nul {
		n := min(len(data), maxBlock)
		size := n
		last := nul && n == len(data) && n < maxBlock
		if last {
			size++
		}
		dst = binary.LittleEndian.AppendUint64(append(dst, 'M'), addr)
		dst = binary.LittleEndian.AppendUint16(dst, uint16(size))
		dst = append(dst, data[:n]...)
		if last {
			return append(dst, 0)
		}
		addr, data = addr+uint64(n), data[n:]
	}
	return dst
}

func appendVariable(dst []byte, number int, value uint64) []byte {
	dst = binary.LittleEndian.AppendUint32(append(dst, 'V'), uint32(number))
	return binary.LittleEndian.AppendUint64(dst, value)
}

// Failures counts the actions of a record that ended early.
func (l *Layout) Failures(rec []byte) int {
	if rec = l.Whole(rec); rec == nil {
		return 0
	}
	n := 0
	for _, at := range l.fails {
		if at != 0 && Fail(binary.LittleEndian.Uint32(rec[at+4:])) != NoFail {
			n++
		}
	}
	return n
}

// Printed calls f with what the record's printf operations were given.
func (l *Layout) Printed(rec []byte, f func(*Printed)) {
	if rec = l.Whole(rec); rec == nil {
		return
	}
	d := decoder{l, rec}
	for i := range l.Blocks {
		if s := &l.Blocks[i]; s.Kind == PrintBlock && d.present(s) {
			f(d.printed(s))
		}
	}
}

// Check finds what is wrong with an action itself, whatever runs it.
func (a *Action) Check() error { return a.check() }
