package process

import (
	"encoding/binary"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/image"
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
	cont   uint64 // where a thread that hit it continues; 0: at the trap handler's ret
	linker image.Linker
}

// modulesArm sets the breakpoint, and the handler that makes it harmless when jalon dies. If that is
// impossible (static program, stripped or unknown ld.so, a sandbox), the only effect is that later modules
// are not noticed. All threads are stopped.
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

// modulesHit handles the breakpoint; the thread continues as without it.
func (p *linker) modulesHit(t *task, regs *Regs, addr uint64) bool {
	m := p.modules
	if m.addr == 0 || addr != m.addr {
		return false
	}
	regs.SetPC(p.next(t))
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
	if p.threads.Member(t) && p.modules.linker.Consistent(p.space.Read) && p.cfg.OnModules != nil && p.cfg.OnModules(t.TID) {
		t.Hold |= threads.HoldCaller
	}
}

// findLinker finds the dynamic linker of the process.
func (p *linker) findLinker(m *modules) (ok bool) {
	m.linker, ok = image.FindLinker(p.space.Pid, p.space.Read)
	m.addr = m.linker.Changed
	return ok
}

// planContinue finds a way to continue without executing the byte under the breakpoint, which stays in place
// because other threads may come to it. The function is `ret`, with endbr64 or nops before it: the thread executes
// the ret of the trap handler instead (a real one, so that shadow stacks agree). No byte of the program would do: a
// tracepoint may be put over it later. A thread at another function goes on behind its endbr64 or nop.
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
	if b[skip] == 0xc3 {
		return true
	}
	m.cont = m.addr + uint64(skip)
	return skip > 0
}

// continueAt is where a thread that hit the breakpoint continues while the trap handler is at handler.
func (m *modules) continueAt(handler uint64) uint64 {
	if m.cont != 0 {
		return m.cont
	}
	return handler + trapReturn
}

// next is where a thread that hit the breakpoint continues: where a tracepoint at the same address leads, if there is
// one. Its jump or int3 lies under the breakpoint.
func (p *linker) next(t *task) uint64 {
	m := &p.modules
	to := m.continueAt(p.dispositions.trap.addr)
	var rel [4]byte
	switch p.space.Breaks[m.addr] {
	case memory.Int3:
		if p.cfg.OnTrap == nil {
			break
		}
		if pc, ok := p.cfg.OnTrap(t.TID, m.addr); ok {
			return pc
		}
	case jumpRel32:
		if p.space.Read(m.addr+1, rel[:]) == nil {
			return m.addr + 5 + uint64(int64(int32(binary.LittleEndian.Uint32(rel[:]))))
		}
	case jumpRel8:
		if p.space.Read(m.addr+1, rel[:1]) == nil {
			return m.addr + 2 + uint64(int64(int8(rel[0])))
		}
	}
	return to
}

// The first bytes of jumps.
const (
	jumpRel32 = 0xe9
	jumpRel8  = 0xeb
)

// LinkerBreak is the address of jalon's own breakpoint in ld.so; 0: there is none. For callbacks only.
func (p *Process) LinkerBreak() uint64 { return p.linker.modules.addr }
