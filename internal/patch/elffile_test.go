package patch

import (
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
)

// program is an ELF file for tests: its bytes by address, with relative
// relocations applied, its functions and the starts of its source lines.
type program struct {
	path  string
	raw   []byte
	file  *elf.File
	loads []Region
	funcs []funcSym
	lines []uint64
	text  *Text
	cold  map[string][]funcSym
	bias  uint64 // added to the file's addresses
}

type funcSym struct {
	name     string
	addr, hi uint64
}

func openProgram(t testing.TB, path string) *program {
	return openProgramAt(t, path, 0)
}

// openProgramAt loads a position independent file at bias.
func openProgramAt(t testing.TB, path string, bias uint64) *program {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	p := &program{path: path, raw: raw, file: f, cold: map[string][]funcSym{}}
	if f.Type == elf.ET_DYN {
		p.bias = bias
	}
	for _, s := range f.Progs {
		if s.Type == elf.PT_LOAD {
			b := make([]byte, s.Filesz)
			if _, err := s.ReadAt(b, 0); err != nil {
				t.Fatal(err)
			}
			p.loads = append(p.loads, Region{s.Vaddr + p.bias, b})
			if s.Flags&elf.PF_X != 0 {
				if p.text == nil {
					p.text = &Text{}
				}
				p.text.Code = append(p.text.Code, Region{s.Vaddr + p.bias, b})
			}
		}
	}
	p.relocate()
	p.symbols(t)
	return p
}

// relocate applies R_X86_64_RELATIVE, so that tables of addresses hold them.
func (p *program) relocate() {
	s := p.file.Section(".rela.dyn")
	if s == nil {
		return
	}
	b, err := s.Data()
	if err != nil {
		return
	}
	for ; len(b) >= 24; b = b[24:] {
		if binary.LittleEndian.Uint64(b[8:]) == uint64(elf.R_X86_64_RELATIVE) {
			if m := p.mem(binary.LittleEndian.Uint64(b) + p.bias); len(m) >= 8 {
				binary.LittleEndian.PutUint64(m, binary.LittleEndian.Uint64(b[16:])+p.bias)
			}
		}
	}
}

// mem is the loaded memory from addr on.
func (p *program) mem(addr uint64) []byte {
	for _, r := range p.loads {
		if addr >= r.Addr && addr < r.end() {
			return r.Bytes[addr-r.Addr:]
		}
	}
	return nil
}

func (p *program) readMem(addr uint64, n int) ([]byte, error) {
	if b := p.mem(addr); len(b) >= n {
		return b[:n], nil
	}
	return nil, errors.New("not mapped")
}

// symbols collects the functions, from the debug file too where there is one.
func (p *program) symbols(t testing.TB) {
	byAddr := map[uint64]funcSym{}
	add := func(syms []elf.Symbol, _ error) {
		for _, s := range syms {
			s.Value += p.bias
			if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Size == 0 || s.Section == elf.SHN_UNDEF || p.mem(s.Value) == nil {
				continue
			}
			if old, ok := byAddr[s.Value]; !ok || old.hi < s.Value+s.Size {
				byAddr[s.Value] = funcSym{s.Name, s.Value, s.Value + s.Size}
			}
		}
	}
	add(p.file.DynamicSymbols())
	add(p.file.Symbols())
	dbg := p.file
	if path := p.debugPath(); path != "" {
		f, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		add(f.Symbols())
		dbg = f
	}
	for _, s := range byAddr {
		if i := strings.Index(s.name, ".cold"); i > 0 {
			p.cold[s.name[:i]] = append(p.cold[s.name[:i]], s)
		}
		p.funcs = append(p.funcs, s)
	}
	sort.Slice(p.funcs, func(i, j int) bool { return p.funcs[i].addr < p.funcs[j].addr })
	if d, err := dbg.DWARF(); err == nil {
		p.lineStarts(d)
	}
}

func (p *program) debugPath() string {
	s := p.file.Section(".note.gnu.build-id")
	if s == nil {
		return ""
	}
	b, err := s.Data()
	if err != nil || len(b) < 18 {
		return ""
	}
	id := fmt.Sprintf("%x", b[16:])
	path := filepath.Join("/usr/lib/debug/.build-id", id[:2], id[2:]+".debug")
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// lineStarts lists the addresses at which a statement begins.
func (p *program) lineStarts(d *dwarf.Data) {
	r := d.Reader()
	for {
		e, err := r.Next()
		if err != nil || e == nil {
			break
		}
		r.SkipChildren()
		lr, err := d.LineReader(e)
		if err != nil || lr == nil {
			continue
		}
		var le dwarf.LineEntry
		for last := 0; lr.Next(&le) != io.EOF; last = le.Line {
			le.Address += p.bias
			if le.IsStmt && !le.EndSequence && le.Line != 0 && le.Line != last && p.mem(le.Address) != nil {
				p.lines = append(p.lines, le.Address)
			}
		}
	}
	slices.Sort(p.lines)
	p.lines = slices.Compact(p.lines)
}

// code is the information that an engine has about a function.
func (p *program) code(f funcSym) *Code {
	m := p.mem(f.addr)
	c := &Code{Lo: f.addr, Hi: f.hi, ReadMem: p.readMem, Text: func() (*Text, error) { return p.text, nil }}
	n := f.hi - f.addr
	if n > uint64(len(m)) {
		return nil
	}
	c.Bytes = m[:p.padded(f)-f.addr]
	for _, cold := range p.cold[f.name] {
		if cm := p.mem(cold.addr); uint64(len(cm)) >= cold.hi-cold.addr {
			c.Extra = append(c.Extra, Region{cold.addr, cm[:cold.hi-cold.addr]})
		}
	}
	if name, _, isCold := strings.Cut(f.name, ".cold"); isCold {
		for _, hot := range p.funcs {
			if hot.name == name {
				c.Extra = append(c.Extra, Region{hot.addr, p.mem(hot.addr)[:hot.hi-hot.addr]})
			}
		}
	}
	if strings.TrimSuffix(f.name, ".abi0") == "runtime.goexit" {
		// The runtime makes up the return address of a goroutine's first function.
		c.Entries = append(c.Entries, f.addr+1)
	}
	for _, s := range p.funcs[p.after(f.addr):] {
		if s.addr >= f.hi {
			break
		}
		c.Entries = append(c.Entries, s.addr)
	}
	return c
}

// after is the index of the first function above addr.
func (p *program) after(addr uint64) int {
	return sort.Search(len(p.funcs), func(i int) bool { return p.funcs[i].addr > addr })
}

// padded is the end of the padding after a function.
func (p *program) padded(f funcSym) uint64 {
	limit := (f.hi + 15) &^ 15
	if i := p.after(f.addr); i < len(p.funcs) && p.funcs[i].addr < limit {
		limit = max(p.funcs[i].addr, f.hi)
	}
	if m := p.mem(f.addr); limit > f.addr+uint64(len(m)) {
		return f.hi
	}
	return limit
}

// funcAt finds the function that contains addr.
func (p *program) funcAt(addr uint64) (funcSym, bool) {
	for i := p.after(addr) - 1; i >= 0 && i > p.after(addr)-4; i-- {
		if f := p.funcs[i]; addr < f.hi {
			return f, true
		}
	}
	return funcSym{}, false
}
