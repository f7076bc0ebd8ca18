package probe

// Fault is fault:user or fault:kernel: page faults of programs or of the kernel.
var Fault = kind(Kind{
	Words: []string{"fault"}, Form: "fault:user or fault:kernel",
	Where: "a page fault at an instruction of a program, or of the kernel", Names: "`address`, `regs`, `error_code`, and the fields `args->address`, `args->ip`, `args->error_code`",
	Kernel: true, parse: (*parser).fault,
	Find: func(f Finder, p *Place) error { return f.Events(p, "exceptions", "page_fault_"+p.Event) },
})

func (p *parser) fault(pl *Place, rest part) error {
	list, err := p.parts(rest, 1, 1)
	if err != nil {
		return err
	}
	pl.Event, err = p.oneOf(list[0], "side of a page fault", map[string]string{"user": "user", "kernel": "kernel"})
	return err
}
