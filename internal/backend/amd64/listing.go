package amd64

import (
	"fmt"
	"strings"
)

// Listing returns the code as text: address, bytes, instruction, with the
// operations of the program as comments and the fixups of guarded accesses.
func (c *Code) Listing() []string {
	c = c.listed()
	var out []string
	order := []section{secHot, secCold, secTail}
	if c.Cold != nil {
		order = []section{secHot, secTail, secCold}
	}
	for _, s := range order {
		nj := 0
		for k := range c.asm.insns[s] {
			i := &c.asm.insns[s][k]
			if i.kind == kNote {
				out = append(out, i.note)
				continue
			}
			off := c.linked.off(i.at)
			size := len(i.bytes)
			if i.kind == kJump {
				size = c.asm.jumps[s][nj].size
				nj++
			}
			if size > 0 {
				out = append(out, c.line(i, off, size))
			}
		}
	}
	return out
}

func (c *Code) line(i *insn, off, size int) string {
	pc := c.cfg.Addr + uint64(off)
	var b strings.Builder
	fmt.Fprintf(&b, "%12x  %-30x %s", pc, c.bytesAt(i.at.sec, off, size), c.text(i, off, size))
	for _, f := range c.Faults {
		if f.PC == pc {
			fmt.Fprintf(&b, "    ; fault -> %x", f.Fixup)
		}
	}
	for _, f := range c.Edges {
		if f.PC == pc {
			fmt.Fprintf(&b, "    ; no room -> %x", f.Fixup)
		}
	}
	return b.String()
}

// bytesAt returns the code at an offset from its address.
func (c *Code) bytesAt(s section, off, size int) []byte {
	if s == secCold && c.Cold != nil {
		off -= c.linked.secStart[secCold]
		return c.Cold[off : off+size]
	}
	return c.Bytes[off : off+size]
}

func (c *Code) text(i *insn, off, size int) string {
	w := &writer{a: c.asm, l: c.linked, next: c.cfg.Addr + uint64(off+size)}
	switch i.kind {
	case kJump:
		name := "jmp"
		if i.cc != ccAlways {
			name = "j" + ccNames[i.cc]
		}
		return fmt.Sprintf("%s %#x", name, c.cfg.Addr+uint64(c.linked.off(c.asm.labels[i.lab])))
	case kData:
		return fmt.Sprintf(".ascii %q", c.bytesAt(i.at.sec, off, size))
	}
	s := w.insn(i)
	if w.target != 0 {
		s += fmt.Sprintf(" # %x", w.target)
	}
	return s
}

// listed is the code with its instructions, which Compile does not keep.
func (c *Code) listed() *Code {
	if c.asm != nil && c.asm.keep {
		return c
	}
	tune := c.tune
	tune.list = true
	same, err := compile(c.program, c.cfg, tune)
	if err != nil {
		panic("BUG: amd64: the same program again: " + err.Error())
	}
	return same
}
