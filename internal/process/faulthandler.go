package process

import (
	"bytes"
	"errors"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/memory"
)

// faultSignals are what a memory access raises.
var faultSignals = []unix.Signal{unix.SIGSEGV, unix.SIGBUS}

// InstallFaultHandler makes guarded accesses survive jalon's death: faults maps the pc of each to where its
// thread goes on. While jalon lives it handles the signals itself, and after its death the dead man's switch
// keeps threads from coming to such an access; but a thread may be between the two, or stopped with the
// signal on its way when jalon is killed. Then this handler moves it. All other signals are passed to the
// action that the program had. A later call replaces the table.
//
// A program that ignores the signals, or sets a handler of its own afterwards, has
// no protection.
func (s *Stopped) InstallFaultHandler(faults map[uint64]uint64) error {
	const op = "install a handler of memory faults"
	if s.only != nil {
		return s.wrap(op, errors.New("not in a forked child"))
	}
	for _, sig := range faultSignals {
		if err := s.setFaultHandler(sig, faults); err != nil {
			return s.wrap(op, err)
		}
	}
	return nil
}

// RemoveFaultHandler restores the actions of the signals.
func (s *Stopped) RemoveFaultHandler() error {
	const op = "remove the handler of memory faults"
	for _, sig := range faultSignals {
		h := s.p.dispositions.faultHandlers[sig]
		if h.addr == 0 {
			continue
		}
		cur, err := s.action(sig)
		if err != nil {
			return s.wrap(op, err)
		}
		if cur.handler != h.addr {
			delete(s.p.dispositions.faultHandlers, sig)
			continue // the program's own may lead to ours: its pages stay
		}
		if err := s.setAction(sig, h.prev); err != nil {
			return s.wrap(op, err)
		}
		s.p.dispositions.actions[sig] = h.prev
		delete(s.p.dispositions.faultHandlers, sig)
		if err := s.freeHandler(h); err != nil {
			return s.wrap(op, err)
		}
	}
	return nil
}

func (s *Stopped) setFaultHandler(sig unix.Signal, faults map[uint64]uint64) error {
	cur, err := s.action(sig)
	if err != nil {
		return err
	}
	old := s.p.dispositions.faultHandlers[sig]
	next := trapHandler{prev: cur}
	if old.addr != 0 && cur.handler == old.addr {
		next.prev = old.prev
	} else {
		old = trapHandler{} // the program's own may lead to it: its pages stay
	}
	if next.prev.kind() == sigIgn {
		return nil
	}
	blob := faultBlob(sig, next.prev, faults)
	next.size = (uint64(len(blob)) + memory.PageSize - 1) &^ (memory.PageSize - 1)
	next.addr, err = s.Syscall(unix.SYS_MMAP, 0, next.size, unix.PROT_READ|unix.PROT_EXEC,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, ^uint64(0), 0)
	if err != nil {
		return err
	}
	if err := s.sp.Write(next.addr, blob); err != nil {
		return err
	}
	act := next.action()
	if err := s.setAction(sig, act); err != nil {
		return err
	}
	s.p.dispositions.actions[sig] = act
	s.p.dispositions.faultHandlers[sig] = next
	return s.freeHandler(old)
}

// faultBlob is the SIGTRAP handler for another signal: it does not ask for si_code,
// its table is of the saved pc itself (the int3 handler looks for the byte before),
// and the default action that it restores and raises is that of the signal.
func faultBlob(sig unix.Signal, prev sigaction, faults map[uint64]uint64) []byte {
	var sites []TrapSite
	for pc, fixup := range faults {
		sites = append(sites, TrapSite{Addr: pc - 1, To: fixup})
	}
	b := trapBlob(prev, sites)
	code := b[:trapData]
	copy(code, "\x66\x0f\x1f\x44\x00\x00\x0f\x1f\x00")                     // nops for cmpl $0x80,8(%rsi); jne chain
	for _, mov := range [][]byte{{0xbf, 5, 0, 0, 0}, {0xba, 5, 0, 0, 0}} { // mov $SIGTRAP,%edi and %edx
		i := bytes.Index(code, mov)
		if i < 0 {
			panic("BUG: process: the trap handler's code has changed")
		}
		code[i+1] = byte(sig)
	}
	return b
}
