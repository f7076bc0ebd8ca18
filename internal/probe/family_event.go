package probe

// Events that the kernel names: tracepoints, system calls, what happens to processes.

// ProcessEvents are what process: takes.
var ProcessEvents = []string{"exec", "fork", "exit", "signal"}

func (p *parser) tracepoint(pl *Place, rest part) error {
	list, err := p.parts(rest, 2, 2)
	if err != nil {
		return err
	}
	if pl.System, err = p.name(list[0], "the subsystem"); err != nil {
		return err
	}
	pl.Event, err = p.name(list[1], "the event")
	return err
}

func (p *parser) rawTracepoint(pl *Place, rest part) error {
	list, err := p.parts(rest, 1, 2)
	if err != nil {
		return err
	}
	if len(list) == 2 {
		if pl.Module, err = p.plain(list[0], "the module"); err != nil {
			return err
		}
	}
	pl.Event, err = p.name(list[len(list)-1], "the event")
	return err
}

func (p *parser) syscall(pl *Place, rest part) error {
	list, err := p.parts(rest, 1, 2)
	if err != nil {
		return err
	}
	if pl.Event, err = p.name(list[0], "the name of a system call"); err != nil || len(list) == 1 {
		return err
	}
	when, err := p.oneOf(list[1], "side of a system call", map[string]string{"entry": "entry", "exit": "exit"})
	pl.Exit = when == "exit"
	return err
}

func (p *parser) process(pl *Place, rest part) error {
	list, err := p.parts(rest, 1, 1)
	if err != nil {
		return err
	}
	names := map[string]string{}
	for _, n := range ProcessEvents {
		names[n] = n
	}
	pl.Event, err = p.oneOf(list[0], "process event", names)
	return err
}
