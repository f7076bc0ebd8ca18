package process

import (
	"bytes"
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/memory"
)

// faultSignals are what a memory access raises.
var faultSignals = []unix.Signal{unix.SIGSEGV, unix.SIGBUS}

// FaultHandler is memory of the process with handlers that nothing leads to yet.
type FaultHandler struct {
	list []trapHandler // by faultSignals
}

// PrepareFaultHandler makes guarded accesses survive jalon's death, together with InstallFaultHandler: faults maps the
// pc of each to where its thread goes on. While jalon lives it handles the signals itself, and after its death the dead
// man's switch keeps threads from coming to such an access; but a thread may be between the two, or stopped with the
// signal on its way when jalon is killed. Then this handler moves it. All other signals are passed to the
// action that the program had.
//
// The table of ten thousand sites takes a hundred milliseconds, so it is written while the program runs.
func (s *Stopped) PrepareFaultHandler(faults map[uint64]uint64) (*FaultHandler, error) {
	const op = "make a handler of memory faults"
	if s.only != nil {
		return nil, s.wrap(op, errors.New("not in a forked child"))
	}
	f := &FaultHandler{}
	var blobs [][]byte
	var calls []Call
	table := faultTable(faults)
	for _, sig := range faultSignals {
		h := trapHandler{prev: s.p.dispositions.actions[sig]}
		b := faultBlob(sig, h.prev, table)
		h.size = (uint64(len(b)) + memory.PageSize - 1) &^ (memory.PageSize - 1)
		f.list, blobs = append(f.list, h), append(blobs, b)
		calls = append(calls, SystemCall(unix.SYS_MMAP, s.sp.Place(h.size), h.size, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, ^uint64(0), 0))
	}
	results, err := s.Syscalls(calls)
	for i := 0; err == nil && i < len(results); i++ {
		if err = results[i].Err; err == nil {
			f.list[i].addr = results[i].Value
			err = s.sp.Write(f.list[i].addr, blobs[i])
		}
	}
	if err != nil {
		return nil, errors.Join(s.wrap(op, err), s.DropFaultHandler(f))
	}
	return f, nil
}

// DropFaultHandler frees the memory of a handler that was not installed.
func (s *Stopped) DropFaultHandler(f *FaultHandler) error {
	var list []Range
	for _, h := range f.list {
		if h.addr != 0 {
			list = append(list, Range{h.addr, h.size})
		}
	}
	f.list = nil
	return s.FreeAll(list)
}

// InstallFaultHandler replaces the handlers that are installed. A program that ignores the signals, or sets a handler of
// its own afterwards, has no protection.
func (s *Stopped) InstallFaultHandler(f *FaultHandler) error {
	const op = "install a handler of memory faults"
	present, err := s.actionsOf(faultSignals)
	if err != nil {
		return s.wrap(op, err)
	}
	var sigs []unix.Signal
	var next []trapHandler
	var unused []Range
	for i, sig := range faultSignals {
		h := f.list[i]
		old, ours := s.p.dispositions.faultHandlers[sig]
		prev := present[i]
		if ours && old.addr != 0 && prev.handler == old.addr {
			prev = old.prev
		}
		if prev.kind() == sigIgn {
			unused = append(unused, Range{h.addr, h.size})
			continue
		}
		if prev != h.prev { // the program has set it meanwhile
			if err := s.sp.Write(h.addr+trapData, prevBlob(prev)); err != nil {
				return s.wrap(op, err)
			}
			h.prev = prev
		}
		sigs, next = append(sigs, sig), append(next, h)
	}
	f.list = nil
	actions := make([]sigaction, len(next))
	for i := range next {
		actions[i] = next[i].action()
	}
	if err := s.setActions(sigs, actions); err != nil {
		return s.wrap(op, err)
	}
	for i, sig := range sigs {
		old := s.p.dispositions.faultHandlers[sig]
		s.p.dispositions.actions[sig] = actions[i]
		s.p.dispositions.faultHandlers[sig] = next[i]
		if old.addr == 0 || present[slices.Index(faultSignals, sig)].handler != old.addr {
			continue // the program's own may lead to it: its pages stay
		}
		if err := s.freeHandler(old); err != nil {
			return s.wrap(op, err)
		}
	}
	return s.FreeAll(unused)
}

// actionsOf reads actions of signals.
func (s *Stopped) actionsOf(sigs []unix.Signal) (list []sigaction, err error) {
	scratch, err := s.scratch()
	if err != nil {
		return nil, err
	}
	results, err := s.Syscalls(readActions(scratch, sigs))
	for i := 0; err == nil && i < len(results); i++ {
		var b [actionSize]byte
		if err = results[i].Err; err == nil {
			err = s.sp.Read(scratch+uint64(i)*actionSize, b[:])
			list = append(list, decodeAction(b))
		}
	}
	return list, err
}

// setActions sets the actions of signals.
func (s *Stopped) setActions(sigs []unix.Signal, actions []sigaction) error {
	if len(sigs) == 0 {
		return nil
	}
	scratch, err := s.scratch()
	if err != nil {
		return err
	}
	var calls []Call
	for i, sig := range sigs {
		at, b := scratch+uint64(i)*actionSize, actions[i].encode()
		if err := s.sp.Write(at, b[:]); err != nil {
			return err
		}
		calls = append(calls, SystemCall(unix.SYS_RT_SIGACTION, uint64(sig), at, 0, 8))
	}
	results, err := s.Syscalls(calls)
	for i := 0; err == nil && i < len(results); i++ {
		err = results[i].Err
	}
	return err
}

// RemoveFaultHandler restores the actions of the signals.
func (s *Stopped) RemoveFaultHandler() error {
	const op = "remove the handler of memory faults"
	var sigs []unix.Signal
	for _, sig := range faultSignals {
		if s.p.dispositions.faultHandlers[sig].addr != 0 {
			sigs = append(sigs, sig)
		}
	}
	if len(sigs) == 0 {
		return nil
	}
	present, err := s.actionsOf(sigs)
	if err != nil {
		return s.wrap(op, err)
	}
	var ours []unix.Signal
	var prev []sigaction
	for i, sig := range sigs {
		h := s.p.dispositions.faultHandlers[sig]
		if present[i].handler != h.addr { // the program's own may lead to ours: its pages stay
			delete(s.p.dispositions.faultHandlers, sig)
			continue
		}
		ours, prev = append(ours, sig), append(prev, h.prev)
	}
	if err := s.setActions(ours, prev); err != nil {
		return s.wrap(op, err)
	}
	for i, sig := range ours {
		h := s.p.dispositions.faultHandlers[sig]
		s.p.dispositions.actions[sig] = prev[i]
		delete(s.p.dispositions.faultHandlers, sig)
		if err := s.freeHandler(h); err != nil {
			return s.wrap(op, err)
		}
	}
	return nil
}

// faultBlob is the SIGTRAP handler for another signal: it does not ask for si_code,
// its table is of the saved pc itself (the int3 handler looks for the byte before),
// and the default action that it restores and raises is that of the signal.
func faultBlob(sig unix.Signal, prev sigaction, table []byte) []byte {
	b := handlerBlob(prev, table)
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

// faultTable is the table behind the code of the handler.
func faultTable(faults map[uint64]uint64) []byte {
	sites := make([]TrapSite, 0, 2*len(faults))
	for pc, fixup := range faults {
		// When jalon dies between moving a thread and letting it go without the signal, the signal arrives at the fixup.
		sites = append(sites, TrapSite{Addr: pc - 1, To: fixup}, TrapSite{fixup - 1, fixup})
	}
	return siteTable(sites)
}
