package probe

// Process is process:EVENT: exec, fork, exit and signals.
var Process = kind(Kind{
	Words: []string{"process"}, Form: "process:exec, process:fork, process:exit or process:signal",
	Where: "exec, fork, exit or signal of a process", Names: "the fields and arguments of the underlying tracepoint",
	Kernel: true, parse: (*parser).process,
	Find: func(f Finder, p *Place) error {
		at := processEvents[p.Event]
		return f.Events(p, at[0], at[1])
	},
})

// processEvents are the tracepoints for process:.
var processEvents = map[string][2]string{
	"exec":   {"sched", "sched_process_exec"},
	"fork":   {"sched", "sched_process_fork"},
	"exit":   {"sched", "sched_process_exit"},
	"signal": {"signal", "signal_generate"},
}

func (p *parser) process(pl *Place, rest part) error {
	list, err := p.parts(rest, 1, 1)
	if err != nil {
		return err
	}
	names := map[string]string{}
	for n := range processEvents {
		names[n] = n
	}
	pl.Event, err = p.oneOf(list[0], "process event", names)
	return err
}
