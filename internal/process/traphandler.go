package process

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"sort"

	"golang.org/x/sys/unix"
)

// TrapSite is an int3 that was patched in, and the trampoline that it stands for.
type TrapSite struct{ Addr, To uint64 }

// trapHandlerCode is the SIGTRAP handler of an orphaned process. While jalon
// lives it is the tracer, sees the SIGTRAP of an int3 first, moves the thread and
// suppresses the signal. When jalon is dead the signal would end the program.
// This handler finds the site in the table behind itself and moves the saved pc
// to the trampoline, which sees the dead man's switch and falls through.
// Everything else goes to the action that the program had. It calls nothing of
// the program and needs no stack but its frame. Source: testdata/traphandler.S.
const trapHandlerCode = "" +
	"817e0880000000" + // handler: cmpl $0x80,0x8(%rsi)
	"7554" + // jne 5d <chain>
	"488b82a8000000" + // mov 0xa8(%rdx),%rax
	"48ffc8" + // dec %rax
	"4c8d05de000000" + // lea 0xde(%rip),%r8 # f8 <data>
	"498b4810" + // mov 0x10(%r8),%rcx
	"4d8d4818" + // lea 0x18(%r8),%r9
	"4531d2" + // xor %r10d,%r10d
	"4939ca" + // search: cmp %rcx,%r10
	"7333" + // jae 5d <chain>
	"4d8d1c0a" + // lea (%r10,%rcx,1),%r11
	"49d1eb" + // shr %r11
	"49c1e304" + // shl $0x4,%r11
	"4b390419" + // cmp %rax,(%r9,%r11,1)
	"7415" + // je 50 <found>
	"7209" + // jb 46 <right>
	"49c1eb04" + // shr $0x4,%r11
	"4c89d9" + // mov %r11,%rcx
	"ebdf" + // jmp 25 <search>
	"49c1eb04" + // right: shr $0x4,%r11
	"4d8d5301" + // lea 0x1(%r11),%r10
	"ebd5" + // jmp 25 <search>
	"4b8b441908" + // found: mov 0x8(%r9,%r11,1),%rax
	"488982a8000000" + // mov %rax,0xa8(%rdx)
	"c3" + // ret
	"4c8d0594000000" + // chain: lea 0x94(%rip),%r8 # f8 <data>
	"498b00" + // mov (%r8),%rax
	"4883f801" + // cmp $0x1,%rax
	"7224" + // jb 91 <default>
	"740c" + // je 7b <ignore>
	"41f7400800000080" + // testl $0x80000000,0x8(%r8)
	"7509" + // jne 82 <reset>
	"ffe0" + // jmp *%rax
	"837e0800" + // ignore: cmpl $0x0,0x8(%rsi)
	"7f10" + // jg 91 <default>
	"c3" + // ret
	"57" + // reset: push %rdi
	"56" + // push %rsi
	"52" + // push %rdx
	"50" + // push %rax
	"e82b000000" + // call b6 <todfl>
	"58" + // pop %rax
	"5a" + // pop %rdx
	"5e" + // pop %rsi
	"5f" + // pop %rdi
	"ffe0" + // jmp *%rax
	"e820000000" + // default: call b6 <todfl>
	"b827000000" + // mov $0x27,%eax
	"0f05" + // syscall
	"50" + // push %rax
	"b8ba000000" + // mov $0xba,%eax
	"0f05" + // syscall
	"4889c6" + // mov %rax,%rsi
	"5f" + // pop %rdi
	"ba05000000" + // mov $0x5,%edx
	"b8ea000000" + // mov $0xea,%eax
	"0f05" + // syscall
	"c3" + // ret
	"4883ec28" + // todfl: sub $0x28,%rsp
	"31c0" + // xor %eax,%eax
	"48890424" + // mov %rax,(%rsp)
	"4889442408" + // mov %rax,0x8(%rsp)
	"4889442410" + // mov %rax,0x10(%rsp)
	"4889442418" + // mov %rax,0x18(%rsp)
	"bf05000000" + // mov $0x5,%edi
	"4889e6" + // mov %rsp,%rsi
	"31d2" + // xor %edx,%edx
	"41ba08000000" + // mov $0x8,%r10d
	"b80d000000" + // mov $0xd,%eax
	"0f05" + // syscall
	"4883c428" + // add $0x28,%rsp
	"c3" + // ret
	"b80f000000" + // restorer: mov $0xf,%eax
	"0f05" + // syscall
	"660f1f440000" // nopw 0x0(%rax,%rax,1)

const (
	trapChain    = 0x5d // of the code above: the signal is not for one of the sites
	trapRestorer = 0xeb // of the code above: the handler returns to it
	trapData     = 0xf8 // {u64 handler, flags, count} and then the sites, sorted
)

const (
	saSiginfo  = 0x4
	saOnstack  = 0x08000000
	saRestart  = 0x10000000
	saNodefer  = 0x40000000
	saRestorer = 0x04000000
)

// trapHandler is what was installed.
type trapHandler struct {
	addr, size uint64 // memory in the process; addr is the handler
	prev       sigaction
	sites      []TrapSite // the owner's; jalon's own breakpoint comes on top
}

// action is the signal's action with the handler. Its own signals are not blocked while
// it runs: another signal may interrupt it, whose handler comes to a site.
func (h *trapHandler) action() sigaction {
	own := sigbit(unix.SIGTRAP)
	for _, sig := range faultSignals {
		own |= sigbit(sig)
	}
	return sigaction{
		handler:  h.addr,
		flags:    h.prev.flags&saRestart | saNodefer | saSiginfo | saOnstack | saRestorer,
		restorer: h.addr + trapRestorer,
		mask:     h.prev.mask &^ own,
	}
}

// InstallTrapHandler makes int3 sites survive jalon's death. sites are all that
// there are now; a later call replaces them, RemoveTrapHandler takes them out.
// A program that installs a SIGTRAP handler of its own afterwards has no
// protection until the next call, and a thread that blocks SIGTRAP has none.
//
// The handler is there without sites too while the loading of libraries is
// watched, which also takes an int3.
func (s *Stopped) InstallTrapHandler(sites []TrapSite) error {
	const op = "install a SIGTRAP handler"
	if s.only != nil {
		return s.wrap(op, errors.New("not in a forked child"))
	}
	s.p.trap.sites = append([]TrapSite(nil), sites...)
	return s.wrap(op, s.setTrapHandler())
}

// RemoveTrapHandler forgets the sites, whose int3s must be gone, and gives SIGTRAP
// its action back when nothing needs the handler any more. In a forked child,
// whose copy has no int3, the handler changes nothing and exec resets it; only an
// ignored signal, which exec would keep, is put back.
func (s *Stopped) RemoveTrapHandler() error {
	const op = "remove the SIGTRAP handler"
	h := &s.p.trap
	if s.only != nil {
		if h.addr == 0 || h.prev.kind() != sigIgn {
			return nil
		}
		cur, err := s.action(unix.SIGTRAP)
		if err != nil || cur.handler != h.addr {
			return s.wrap(op, err)
		}
		return s.wrap(op, s.setAction(unix.SIGTRAP, h.prev))
	}
	h.sites = nil
	return s.wrap(op, s.setTrapHandler())
}

// EndTraps takes out all int3s that jalon's own needs put in, beside the sites, and
// the handler: loading of libraries is not watched any more.
func (s *Stopped) EndTraps() error {
	s.p.modulesDisarm(s.sp)
	s.p.trap.sites = nil
	return s.wrap("remove the SIGTRAP handler", s.setTrapHandler())
}

// setTrapHandler makes the handler fit the sites and the breakpoint in ld.so.
func (s *Stopped) setTrapHandler() error {
	h := &s.p.trap
	sites := append([]TrapSite(nil), h.sites...)
	if m := s.p.modules; m.addr != 0 {
		sites = append(sites, TrapSite{m.addr, m.cont})
	}
	if len(sites) == 0 && h.addr == 0 {
		return nil
	}
	cur, err := s.action(unix.SIGTRAP)
	if err != nil {
		return err
	}
	ours := h.addr != 0 && cur.handler == h.addr
	old, next := *h, trapHandler{prev: cur, sites: h.sites}
	if ours {
		next.prev = h.prev
	}
	act := next.prev
	if len(sites) > 0 {
		// A new copy each time: a thread may be in the old one's search.
		blob := trapBlob(next.prev, sites)
		next.size = (uint64(len(blob)) + pageSize - 1) &^ (pageSize - 1)
		next.addr, err = s.Syscall(unix.SYS_MMAP, 0, next.size, unix.PROT_READ|unix.PROT_EXEC,
			unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, ^uint64(0), 0)
		if err != nil {
			return err
		}
		if err := s.sp.write(next.addr, blob); err != nil {
			return err
		}
		act = next.action()
	}
	if ours || len(sites) > 0 { // else the program has set another meanwhile
		if err := s.setAction(unix.SIGTRAP, act); err != nil {
			return err
		}
		s.p.actions[unix.SIGTRAP] = act
	}
	*h = next
	return s.freeHandler(old)
}

// freeHandler unmaps a handler when no thread is in it or returns to it. While
// jalon lives only signals that are not ours get there; then the pages stay.
func (s *Stopped) freeHandler(h trapHandler) error {
	if h.addr == 0 {
		return nil
	}
	ths, err := s.Threads()
	if err != nil {
		return err
	}
	stacks := s.Stacks()
	for _, th := range ths {
		if th.Parked || th.Regs.Rip-h.addr < h.size {
			return nil
		}
		// A handler of the program that was reached through ours returns to our
		// restorer: its address is then on the stack, or on the signal stack
		// that the thread is on.
		if mentions(stacks.From(th.Regs.Rsp), h.addr+trapRestorer) {
			return nil
		}
	}
	return s.Free(h.addr, h.size)
}

func trapBlob(prev sigaction, sites []TrapSite) []byte {
	code, err := hex.DecodeString(trapHandlerCode)
	if err != nil {
		panic("BUG: process: the trap handler's code: " + err.Error())
	}
	b := make([]byte, trapData, trapData+24+32*len(sites))
	copy(b, code)
	le := binary.LittleEndian
	b = le.AppendUint64(b, prev.handler)
	b = le.AppendUint64(b, prev.flags)
	// When jalon dies between moving a thread to the trampoline and letting it go
	// without the signal, the signal arrives there.
	var sorted []TrapSite
	for _, site := range sites {
		sorted = append(sorted, site, TrapSite{site.To - 1, site.To})
	}
	b = le.AppendUint64(b, uint64(len(sorted)))
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].Addr < sorted[j].Addr })
	for _, site := range sorted {
		b = le.AppendUint64(b, site.Addr)
		b = le.AppendUint64(b, site.To)
	}
	return b
}

// action reads a signal's action, setAction sets it.
func (s *Stopped) action(sig unix.Signal) (a sigaction, err error) {
	scratch, err := s.scratch()
	if err != nil {
		return a, err
	}
	if _, err := s.Syscall(unix.SYS_RT_SIGACTION, uint64(sig), 0, scratch, 8); err != nil {
		return a, err
	}
	var b [32]byte
	err = s.sp.read(scratch, b[:])
	return decodeAction(b), err
}

func (s *Stopped) setAction(sig unix.Signal, a sigaction) error {
	scratch, err := s.scratch()
	if err != nil {
		return err
	}
	b := a.encode()
	if err := s.sp.write(scratch, b[:]); err != nil {
		return err
	}
	_, err = s.Syscall(unix.SYS_RT_SIGACTION, uint64(sig), scratch, 0, 8)
	return err
}

// scratch is a page of the process for arguments.
func (s *Stopped) scratch() (uint64, error) {
	t, err := s.p.pick(s.sp, s.only)
	if err != nil {
		return 0, err
	}
	err = s.p.needScratch(t, s.sp)
	return s.sp.scratch, err
}
