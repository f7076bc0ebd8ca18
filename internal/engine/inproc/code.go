package inproc

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/procdir"
	"github.com/jalon-trace/jalon/internal/process"
)

// maxFunction bounds the size of a function that is read and analysed as a whole.
const maxFunction = 4 << 20

func openMem(pid int) (*os.File, error) {
	f, err := procdir.Mem(pid, os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("reading the program's code: %w", err)
	}
	return f, nil
}

// ownMemory reads the memory of a process without the breakpoints of the tracer.
type ownMemory struct{ p *process.Process }

// ReadAt implements io.ReaderAt.
func (m ownMemory) ReadAt(b []byte, off int64) (int, error) {
	n, err := m.p.ReadMemory(uint64(off), b)
	if err == nil && n < len(b) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// partOf returns the start of the part of the function that contains the site. Compilers place unlikely
// code elsewhere (f.cold), and patch needs the part with the site as the main part.
func partOf(x *site, fn *dwarf.Function) uint64 {
	main, _ := parts(fn, x.where.site.Addr)
	return main.Lo + x.where.mod.bias
}

// reader reads memory of a process, or of the file, by run-time address.
type reader func(addr uint64, n int) ([]byte, error)

// mapped returns the pages of the module's segments in the process.
func (m *module) mapped() []patch.Range {
	if m.pages == nil {
		for _, seg := range m.dw.Segments() {
			lo, hi := seg.Vaddr&^(pageSize-1), (seg.Vaddr+seg.Memsz+pageSize-1)&^(pageSize-1)
			m.pages = append(m.pages, patch.Range{Lo: lo + m.bias, Hi: hi + m.bias})
		}
	}
	return m.pages
}

// functionCode reads a function and the data about it that patch needs.
func (m *module) functionCode(fn *dwarf.Function, vaddr uint64, read reader) (*patch.Code, error) {
	main, extra := parts(fn, vaddr)
	if main.Hi-main.Lo > maxFunction {
		return nil, fmt.Errorf("the function at %#x is larger than %d MiB", main.Lo+m.bias, maxFunction>>20)
	}
	if err := m.copied(fn, vaddr); err != nil {
		return nil, err
	}
	c := &patch.Code{Lo: main.Lo + m.bias, Hi: main.Hi + m.bias, ReadMem: read, Mapped: m.mapped()}
	if m.running && m.dw.IsGo() {
		c.Resumed = "goroutines that were preempted are resumed at any instruction"
	}
	var err error
	if c.Sequences, err = m.sequences(fn, read); err != nil {
		return nil, err
	}
	if c.Bytes, err = read(c.Lo, int(main.Hi-main.Lo+m.padding(main.Hi))); err != nil {
		return nil, err
	}
	for _, r := range extra {
		b, err := read(r.Lo+m.bias, int(min(r.Hi-r.Lo, maxFunction)))
		if err != nil {
			return nil, err
		}
		c.Extra = append(c.Extra, patch.Region{Addr: r.Lo + m.bias, Bytes: b})
	}
	pads, err := m.landingPads(fn)
	if err != nil {
		return nil, fmt.Errorf("the landing pads of %s are unknown, so no jump can be placed: %w", fn.Name, err)
	}
	for _, pad := range pads {
		c.LandingPads = append(c.LandingPads, pad+m.bias)
	}
	if fn.Name == "runtime.goexit" { // Go makes up a return address in it
		c.Entries = append(c.Entries, c.Lo+1)
	}
	for _, label := range m.dw.Labels(main.Lo, main.Hi) {
		c.Entries = append(c.Entries, label+m.bias)
	}
	if c.Apart = fn.FromSymbols || fn.Assembler; c.Apart {
		_, _, known := m.dw.CodeBounds(vaddr)
		c.Loose = !known
	}
	c.Text = func() (*patch.Text, error) { return m.textOf(read) }
	c.Vouched = func() []uint64 {
		rows := m.dw.Rows(vaddr, main.Lo, main.Hi)
		for i := range rows {
			rows[i] += m.bias
		}
		return rows
	}
	return c, nil
}

// padding is the number of bytes from vaddr on that belong to no function, up to the length of a jump.
func (m *module) padding(vaddr uint64) (n uint64) {
	section := m.dw.SectionAt(vaddr - 1)
	for ; n < jumpSpan && section != "" && m.dw.SectionAt(vaddr+n) == section; n++ {
		if _, ok := m.dw.FunctionAt(vaddr + n); ok {
			break
		}
	}
	return n
}

// landingPads lists the landing pads of a function, or of a part that may belong to any function.
func (m *module) landingPads(fn *dwarf.Function) ([]uint64, error) {
	if !fn.FromSymbols {
		return m.dw.LandingPads(fn)
	}
	all, err := m.dw.AllLandingPads()
	lo, _ := slices.BinarySearch(all, fn.Lo)
	hi, _ := slices.BinarySearch(all, fn.Hi)
	return all[lo:max(lo, hi)], err
}

// parts separates a function's range with the site from the other ranges.
func parts(fn *dwarf.Function, vaddr uint64) (main debuginfo.Range, extra []debuginfo.Range) {
	for _, r := range fn.Ranges {
		if r.Lo <= vaddr && vaddr < r.Hi {
			main = r
		} else {
			extra = append(extra, r)
		}
	}
	if main.Hi == 0 {
		main = debuginfo.Range{Lo: fn.Lo, Hi: fn.Hi}
	}
	return main, extra
}
