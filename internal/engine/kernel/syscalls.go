package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/debuginfo/tracefs"
)

// The kernel attaches and detaches the events of system calls one after the other, and waits for all CPUs at each. So the places of
// many of them are one event: that of all system calls (raw_syscalls), with a program that calls the places' programs by the number
// (bpf.Dispatch). The records of both are the same from the number on, as are the programs.

// manyCalls is from how many places of one Load on a dispatcher serves them: with it each system call of the machine costs some
// 50 ns more, also those that have no place.
const manyCalls = 32

// moreCalls is how many programs one system call can have by dispatchers.
const moreCalls = 8

const (
	sitesName = "calls"              // the name of a dispatcher's table of sites in instructions
	callTable = 4 * bpf.DispatchSize // its size
)

// syscalls are the dispatchers of an engine.
type syscalls struct {
	*base
	facts   *facts
	numbers once[map[string]uint32]
	list    []*dispatcher
}

// dispatcher calls one program for each system call, at the entry or at the exit.
type dispatcher struct {
	enter bool
	to    *bpf.Dispatch
	// sites has the number of the site by the number of the call, for programs that serve several.
	sites *bpf.Buffer
	taken map[uint32]*program // that are loaded for it, by number of the call
	set   map[uint32]*program // that it calls
}

// choose sets by which dispatcher programs are called, if there are many for which this is possible.
func (s *syscalls) choose(list []*program) {
	if host.Processor.Task.Compat == "" {
		return
	}
	var calls []*program
	for _, p := range list {
		if ev := p.at.v.event; ev != nil && p.first == nil && !p.gives && p.load == nil && p.at.v.target.Kind == bpf.Tracepoint && likeRaw(ev) {
			calls = append(calls, p)
		}
	}
	if len(calls) < manyCalls {
		return
	}
	numbers, err := s.numbers.get(s.k.SyscallNumbers)
	if err != nil {
		s.logf("each system call is an event of its own: %v", err)
		return
	}
	for _, p := range calls {
		name, enter := p.at.v.event.SyscallName()
		number, ok := numbers[name]
		if !ok {
			continue
		}
		d, err := s.free(number, enter)
		if err != nil {
			s.logf("each system call is an event of its own: %v", err)
			return
		}
		if d != nil {
			p.via, p.number, d.taken[number] = d, number, p
		}
	}
}

// likeRaw reports whether an event's record has the number and then a word for each argument, or the result, as that of raw_syscalls.
func likeRaw(ev *tracefs.Event) bool {
	name, enter := ev.SyscallName()
	most := int64(1)
	if enter {
		most = 6
	}
	at := int64(8)
	for i := range ev.Fields {
		f := &ev.Fields[i]
		switch {
		case f.Common():
			continue
		case f.Offset != at || at == 8 && f.Size != 4 || at > 8 && f.Size != 8 || at > 8+8*most:
			return false
		}
		at += 8
	}
	return name != "" && at > 8
}

// free is a dispatcher that has no program for a number yet, or nil if there are enough of them.
func (s *syscalls) free(number uint32, enter bool) (*dispatcher, error) {
	n := 0
	for _, d := range s.list {
		if d.enter != enter {
			continue
		}
		if p := d.taken[number]; p == nil || p.gone {
			return d, nil
		}
		n++
	}
	if n == moreCalls {
		return nil, nil
	}
	offset := s.facts.offset("task_struct", host.Processor.Task.Compat)
	if offset < 0 {
		return nil, errors.New("the kernel's BTF has no task_struct." + host.Processor.Task.Compat)
	}
	event := "sys_exit"
	if enter {
		event = "sys_enter"
	}
	to, err := s.k.NewDispatch("raw_syscalls", event, offset, host.Processor.Task.CompatBits)
	if err != nil {
		return nil, err
	}
	sites, err := s.k.NewBuffer(sitesName, callTable)
	if err != nil {
		return nil, errors.Join(err, to.Close())
	}
	d := &dispatcher{enter: enter, to: to, sites: sites, taken: map[uint32]*program{}, set: map[uint32]*program{}}
	s.list = append(s.list, d)
	return d, nil
}

// attach begins the hits of programs, which are of one load.
func (d *dispatcher) attach(list []*program) (refused map[*program]error) {
	refused = map[*program]error{}
	for _, p := range list {
		binary.NativeEndian.PutUint32(d.sites.Memory()[4*p.number:], p.id)
		if err := d.to.Set(p.number, p.load.loaded); err != nil {
			refused[p] = err
			continue
		}
		d.set[p.number] = p
	}
	err := d.to.Attach()
	if err == nil {
		return refused
	}
	for _, p := range list {
		if refused[p] == nil {
			refused[p] = err
			delete(d.set, p.number)
			_ = d.to.Clear(p.number) // it has no hits
		}
	}
	return refused
}

// detachCalls ends the hits of those programs of a list that dispatchers call, and waits for those in progress.
func detachCalls(list []*program) error {
	var of []*dispatcher
	var errs []error
	for _, p := range list {
		d := p.via
		if d == nil || d.set[p.number] != p {
			continue
		}
		p.on = false
		delete(d.set, p.number)
		if err := d.to.Clear(p.number); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.Label, err))
		}
		if !slices.Contains(of, d) {
			of = append(of, d)
		}
	}
	for _, d := range of {
		if len(d.set) == 0 {
			errs = append(errs, d.to.Detach())
		}
	}
	if len(of) > 0 {
		errs = append(errs, of[0].to.Wait())
	}
	return errors.Join(errs...)
}

// warnOfMissed reports hits at which the kernel did not call a dispatcher, so that their sites are unknown.
func (s *syscalls) warnOfMissed() {
	for _, d := range s.list {
		if n, err := d.to.Missed(); err == nil && n > 0 {
			s.warn(fmt.Sprintf("the kernel skipped %d hits of system calls, because another program was running on the same CPU", n))
		}
	}
}

func (s *syscalls) close() error {
	var errs []error
	for _, d := range s.list {
		errs = append(errs, d.to.Close(), d.sites.Close())
	}
	return errors.Join(errs...)
}
