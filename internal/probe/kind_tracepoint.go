package probe

// Tracepoint is tracepoint:SYSTEM:EVENT.
var Tracepoint = kind(Kind{
	Words: []string{"tracepoint", "t"}, Form: "tracepoint:SUBSYSTEM:EVENT",
	Where:  "a static tracepoint with an event in tracefs",
	Names:  "the fields of its record (`args->x`), its raw arguments (`x`), and what these point to",
	Kernel: true, Gate: true, parse: (*parser).tracepoint,
	Find: func(f Finder, p *Place) error { return f.Events(p, p.System, p.Event) },
})

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
