package process

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/memory"
	"github.com/jalon-trace/jalon/internal/process/sys"
)

// TrapSite is an int3 that was patched in, and the trampoline that it leads to.
type TrapSite struct{ Addr, To uint64 }

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
	sites      []TrapSite // the caller's; jalon's own breakpoint comes on top
}

// action is the signal's action with the handler. Its own signals are not blocked while
// it runs: another signal may interrupt it, whose handler comes to a site.
func (h *trapHandler) action() sigaction {
	own := sys.SigBit(unix.SIGTRAP)
	for _, sig := range faultSignals {
		own |= sys.SigBit(sig)
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
	s.p.dispositions.trap.sites = append([]TrapSite(nil), sites...)
	return s.wrap(op, s.setTrapHandler())
}

// RemoveTrapHandler forgets the sites, whose int3s must be gone, and gives SIGTRAP
// its action back when nothing needs the handler any more. In a forked child,
// whose copy has no int3, the handler changes nothing and exec resets it; only an
// ignored signal, which exec would keep, is put back.
func (s *Stopped) RemoveTrapHandler() error {
	const op = "remove the SIGTRAP handler"
	h := &s.p.dispositions.trap
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
	s.p.linker.modulesDisarm(s.sp)
	s.p.dispositions.trap.sites = nil
	return s.wrap("remove the SIGTRAP handler", s.setTrapHandler())
}

// setTrapHandler makes the handler fit the sites and the breakpoint in ld.so.
func (s *Stopped) setTrapHandler() error {
	h := &s.p.dispositions.trap
	sites := s.trapSites(0)
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
		next.size = (uint64(len(trapBlob(next.prev, sites))) + memory.PageSize - 1) &^ (memory.PageSize - 1)
		next.addr, err = s.Syscall(unix.SYS_MMAP, s.sp.Place(next.size), next.size, unix.PROT_READ|unix.PROT_EXEC,
			unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, ^uint64(0), 0)
		if err != nil {
			return err
		}
		if err := s.sp.Write(next.addr, trapBlob(next.prev, s.trapSites(next.addr))); err != nil {
			return err
		}
		act = next.action()
	}
	if ours || len(sites) > 0 { // else the program has set another meanwhile
		if err := s.setAction(unix.SIGTRAP, act); err != nil {
			return err
		}
		s.p.dispositions.actions[unix.SIGTRAP] = act
	}
	*h = next
	return s.freeHandler(old)
}

// trapSites are the sites of a handler at the address: the caller's, and jalon's own breakpoint.
func (s *Stopped) trapSites(handler uint64) []TrapSite {
	sites := slices.Clone(s.p.dispositions.trap.sites)
	if m := &s.p.linker.modules; m.addr != 0 {
		sites = append(sites, TrapSite{m.addr, m.continueAt(handler)})
	}
	return sites
}

// freeHandler unmaps a handler when no thread is in it or returns to it. While jalon lives only signals that are not
// ours get there, and threads from the breakpoint in ld.so, which execute its ret; then the pages stay.
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
		if th.Parked || th.Regs.PC()-h.addr < h.size {
			return nil
		}
		// A handler of the program that was reached through ours returns to our restorer, one that has interrupted a
		// thread at our ret returns to that: the address is then on the stack, or on the signal stack that the thread
		// is on.
		stack := stacks.From(th.Regs.SP())
		if mentions(stack, h.addr+trapRestorer) || mentions(stack, h.addr+trapReturn) {
			return nil
		}
	}
	return s.Free(h.addr, h.size)
}

func trapBlob(prev sigaction, sites []TrapSite) []byte {
	all := make([]TrapSite, 0, 2*len(sites))
	for _, site := range sites {
		// When jalon dies between moving a thread to the trampoline and letting it go without the signal, the signal
		// arrives there.
		all = append(all, site, TrapSite{site.To - 1, site.To})
	}
	return handlerBlob(prev, siteTable(all))
}

// handlerBlob is a handler with its table.
func handlerBlob(prev sigaction, table []byte) []byte {
	code, err := hex.DecodeString(trapHandlerCode)
	if err != nil {
		panic("BUG: process: the trap handler's code: " + err.Error())
	}
	b := make([]byte, trapData, trapData+16+len(table))
	copy(b, code)
	return append(append(b, prevBlob(prev)...), table...)
}

// prevBlob is what the handler knows of the action that the program had.
func prevBlob(prev sigaction) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, prev.handler), prev.flags)
}

// siteTable is the number of sites, and the sites by address.
func siteTable(sites []TrapSite) []byte {
	slices.SortFunc(sites, func(a, b TrapSite) int { return cmp.Compare(a.Addr, b.Addr) })
	le := binary.LittleEndian
	b := le.AppendUint64(make([]byte, 0, 8+16*len(sites)), uint64(len(sites)))
	for _, site := range sites {
		b = le.AppendUint64(le.AppendUint64(b, site.Addr), site.To)
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
	err = s.sp.Read(scratch, b[:])
	return decodeAction(b), err
}

func (s *Stopped) setAction(sig unix.Signal, a sigaction) error {
	scratch, err := s.scratch()
	if err != nil {
		return err
	}
	b := a.encode()
	if err := s.sp.Write(scratch, b[:]); err != nil {
		return err
	}
	_, err = s.Syscall(unix.SYS_RT_SIGACTION, uint64(sig), scratch, 0, 8)
	return err
}

// scratch is a page of the process for arguments.
func (s *Stopped) scratch() (uint64, error) {
	t, err := s.p.injector.Pick(s.sp, s.only)
	if err != nil {
		return 0, err
	}
	err = s.p.injector.NeedScratch(t, s.sp)
	return s.sp.Scratch, err
}
