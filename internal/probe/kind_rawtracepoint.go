package probe

// RawTracepoint is rawtracepoint:[MODULE:]EVENT.
var RawTracepoint = kind(Kind{
	Words: []string{"rawtracepoint", "rt"}, Form: "rawtracepoint:[MODULE:]EVENT",
	Where: "any static tracepoint", Names: "its raw arguments and what they point to",
	Kernel: true, Attach: "rawtracepoint", parse: (*parser).rawTracepoint, Find: Finder.RawTracepoints, Own: "$args",
})

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
