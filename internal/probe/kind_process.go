package probe

// Process is process:EVENT: what happens to processes.
var Process = kind(Kind{
	Words: []string{"process"}, Form: "process:exec, process:fork, process:exit or process:signal",
	Where: "the life of processes", Names: "the fields and arguments of the tracepoint behind it",
	Kernel: true, parse: (*parser).process,
	Find: func(f Finder, p *Place) error {
		at := processEvents[p.Event]
		return f.Events(p, at[0], at[1])
	},
})

// processEvents are the tracepoints behind process:.
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
