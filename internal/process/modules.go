package process

import (
	"debug/elf"
	"encoding/binary"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/openfile"
	"github.com/jalon-trace/jalon/internal/procdir"
	"github.com/jalon-trace/jalon/internal/process/inject"
	"github.com/jalon-trace/jalon/internal/process/memory"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// modules watches ld.so: it calls the empty function _dl_debug_state before and
// after each change of its list, for debuggers to set a breakpoint there (the
// r_debug protocol, <link.h>). A static program has none.
type modules struct {
	addr   uint64 // of the breakpoint, 0 = none
	cont   uint64 // where a thread that hit it goes on
	rdebug uint64 // struct r_debug, 0 = not found
}

const rState = 24 // offsetof(struct r_debug, r_state); 0 = RT_CONSISTENT

// modulesArm sets the breakpoint, and the handler that makes it harmless when
// jalon dies. That it cannot be had (static program, stripped or foreign ld.so, a
// sandbox) means that later modules are not noticed, no more. All threads are
// stopped.
func (p *linker) modulesArm() {
	m := &p.modules
	if p.cfg.OnModules == nil || !p.findLinker(m) || !p.planContinue(m) {
		*m = modules{}
		return
	}
	s := &Stopped{p: p.tracer, sp: p.space}
	err := s.setTrapHandler()
	if e := p.injector.End(); err == nil {
		err = e
	}
	var b [1]byte
	if err == nil {
		err = p.space.Read(m.addr, b[:])
	}
	if err == nil {
		err = p.space.WriteRaw(m.addr, []byte{memory.Int3})
	}
	if err != nil {
		*m = modules{}
		return
	}
	p.space.Breaks[m.addr] = b[0]
}

// modulesDisarm takes the breakpoint out of an address space: the process's or
// that of a child which has a copy.
func (p *linker) modulesDisarm(sp *inject.Workspace) {
	a := p.modules.addr
	if a == 0 {
		return
	}
	orig, ok := p.space.Breaks[a]
	if !ok {
		return
	}
	var b [1]byte
	if sp.Read(a, b[:]) == nil && (sp == p.space || b[0] == memory.Int3) {
		_ = sp.WriteRaw(a, []byte{orig}) // an error: the memory is gone
	}
	if sp == p.space {
		delete(sp.Breaks, a)
		p.modules = modules{}
	}
}

// modulesHit handles the breakpoint: the thread goes on as if it were not there.
func (p *linker) modulesHit(t *task, regs *Regs, addr uint64) bool {
	m := p.modules
	if m.addr == 0 || addr != m.addr {
		return false
	}
	regs.SetPC(m.cont)
	_ = sys.SetRegs(t.TID, regs) // ESRCH: dying
	p.modulesReached(t)
	return true
}

// modulesReached: a thread has come to the breakpoint and is behind it.
func (p *linker) modulesReached(t *task) {
	p.dispositions.repair(t, unix.SIGTRAP)
	var regs Regs
	if sys.GetRegs(t.TID, &regs) == nil {
		p.driver.noteFSIn(t, &regs)
	}
	if p.threads.Member(t) && p.listConsistent() && p.cfg.OnModules != nil && p.cfg.OnModules(t.TID) {
		t.Hold |= threads.HoldCaller
	}
}

func (p *linker) listConsistent() bool {
	var b [4]byte
	if p.modules.rdebug == 0 || p.space.Read(p.modules.rdebug+rState, b[:]) != nil {
		return true // not known: once too often does no harm
	}
	return binary.LittleEndian.Uint32(b[:]) == 0
}

// planContinue finds out how to go on without executing the byte under the
// breakpoint, which other threads may hit meanwhile: the function is `ret`, with
// endbr64 or nops before it. A thread at the endbr64 goes on behind it; at a bare
// `ret`, at any other byte c3 (a real one, so that shadow stacks agree).
func (p *linker) planContinue(m *modules) bool {
	var b [16]byte
	if p.space.Read(m.addr, b[:]) != nil {
		return false
	}
	skip := 0
	for _, pre := range []string{"\xf3\x0f\x1e\xfa", "\x66\x90", "\x90"} {
		if strings.HasPrefix(string(b[skip:]), pre) {
			skip += len(pre)
		}
	}
	switch {
	case skip > 0:
		m.cont = m.addr + uint64(skip)
	case b[0] == 0xc3:
		m.cont = p.anyRet(m.addr)
	}
	return m.cont != 0
}

func (p *linker) anyRet(addr uint64) uint64 {
	maps, err := memory.ReadMaps(p.space.Pid)
	if err != nil {
		return 0
	}
	for _, seg := range maps {
		if addr < seg.Start || addr >= seg.End {
			continue
		}
		for _, part := range []Mapping{{Start: addr + 1, End: seg.End}, {Start: seg.Start, End: addr}} {
			if part.Start >= part.End {
				continue
			}
			if at, ok := p.space.Find(&part, []byte{0xc3}); ok {
				return at
			}
		}
	}
	return 0
}

// findLinker fills in the addresses of ld.so's symbols.
func (p *linker) findLinker(m *modules) bool {
	aux, err := procdir.Auxv(p.space.Pid)
	if err != nil {
		return false
	}
	if base, _ := procdir.AuxValue(aux, procdir.AuxBase); base != 0 {
		path, ok := p.fileAt(base)
		return ok && p.linkerSymbols(m, path, func(f *elf.File) uint64 { return base - firstLoad(f) })
	}
	// No interpreter: a static program, or ld.so itself run as a program.
	phdr, _ := procdir.AuxValue(aux, procdir.AuxPhdr)
	return p.linkerSymbols(m, procdir.Link(p.space.Pid, "exe"), func(f *elf.File) uint64 {
		for _, ph := range f.Progs {
			if ph.Type == elf.PT_PHDR {
				return phdr - ph.Vaddr
			}
		}
		return phdr - (firstLoad(f) + 64) // the headers follow the ELF header
	})
}

// fileAt is the path, from here, of the file mapped at addr.
func (p *linker) fileAt(addr uint64) (string, bool) {
	maps, err := memory.ReadMaps(p.space.Pid)
	if err != nil {
		return "", false
	}
	for _, m := range maps {
		if m.Contains(addr) && m.Inode != 0 {
			return procdir.Link(p.space.Pid, "root"+m.Path), true
		}
	}
	return "", false
}

func firstLoad(f *elf.File) uint64 {
	for _, ph := range f.Progs {
		if ph.Type == elf.PT_LOAD {
			return ph.Vaddr &^ (memory.PageSize - 1)
		}
	}
	return 0
}

// symtabLimit keeps a large static program's symbols from being read: ld.so has
// what is needed in .dynsym.
const symtabLimit = 4 << 20

func (p *linker) linkerSymbols(m *modules, path string, bias func(*elf.File) uint64) bool {
	opened, err := openfile.OpenELF(path)
	if err != nil {
		return false
	}
	defer opened.Close()
	f := opened.File
	syms, _ := f.DynamicSymbols() // none: an error; .symtab is looked at below
	found := p.pickSymbols(m, f, syms, bias(f))
	if st := f.SectionByType(elf.SHT_SYMTAB); !found && st != nil && st.Size < symtabLimit {
		syms, _ = f.Symbols()
		found = p.pickSymbols(m, f, syms, bias(f))
	}
	return found
}

func (p *linker) pickSymbols(m *modules, f *elf.File, syms []elf.Symbol, bias uint64) bool {
	for _, s := range syms {
		switch {
		case s.Value == 0 || s.Section == elf.SHN_UNDEF:
		case s.Name == "_dl_debug_state" || s.Name == "dl_debug_state":
			if p.sameBytes(f, s.Value, bias) {
				m.addr = bias + s.Value
			}
		case s.Name == "_r_debug":
			m.rdebug = bias + s.Value
		case s.Name == "_dl_debug_addr": // musl: a pointer to it
			var b [8]byte
			if p.space.Read(bias+s.Value, b[:]) == nil {
				m.rdebug = binary.LittleEndian.Uint64(b[:])
			}
		}
	}
	return m.addr != 0
}

// sameBytes makes sure that the file is the one that is mapped: a package upgrade
// may have replaced it.
func (p *linker) sameBytes(f *elf.File, vaddr, bias uint64) bool {
	for _, ph := range f.Progs {
		if ph.Type != elf.PT_LOAD || ph.Flags&elf.PF_X == 0 || vaddr < ph.Vaddr || vaddr >= ph.Vaddr+ph.Filesz {
			continue
		}
		n := min(16, ph.Vaddr+ph.Filesz-vaddr)
		want, got := make([]byte, n), make([]byte, n)
		if _, err := ph.ReadAt(want, int64(vaddr-ph.Vaddr)); err != nil {
			return false
		}
		return p.space.Read(bias+vaddr, got) == nil && string(want) == string(got)
	}
	return false
}
