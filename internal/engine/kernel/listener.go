package kernel

import (
	"fmt"

	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/bpf"
)

// nothing is a program that does nothing.
var nothing = asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}

// listener keeps a tracepoint on: a program of its own that does nothing. The code
// of the calls is only reached while the tracepoint has a program.
type listener struct {
	prog *bpf.Loaded
	link *bpf.Link
	used int // how many attached programs need it
}

// listeners are those of an engine, by tracepoint.
type listeners struct {
	k  *bpf.Kernel
	on map[string]*listener
}

// listen is called before programs at calls of tracepoints are attached.
func (s *listeners) listen(l *load) error {
	for _, p := range l.programs {
		if p.at.enable == "" || !p.on {
			continue
		}
		if err := s.listenTo(p.at.enable); err != nil {
			return fmt.Errorf("keeping the tracepoint on: %w", err)
		}
		l.listens = append(l.listens, p.at.enable)
	}
	return nil
}

func (s *listeners) listenTo(event string) error {
	on := s.on[event]
	if on == nil {
		target := bpf.Target{Kind: bpf.RawTracepoint, Name: event}
		prog, err := s.k.Load(bpf.Program{Name: "jalon_on", Insns: nothing, Kind: target.Kind, Target: target})
		if err != nil {
			return err
		}
		on = &listener{prog: prog}
		s.on[event] = on
	}
	if on.used == 0 {
		link, err := on.prog.Attach(bpf.Target{Kind: bpf.RawTracepoint, Name: event})
		if err != nil {
			return err
		}
		on.link = link
	}
	on.used++
	return nil
}

// unlisten is called when the programs of a load were detached.
func (s *listeners) unlisten(l *load) {
	for _, event := range l.listens {
		if on := s.on[event]; on != nil {
			if on.used--; on.used == 0 {
				_ = on.link.Close()
				on.link = nil
			}
		}
	}
	l.listens = nil
}
