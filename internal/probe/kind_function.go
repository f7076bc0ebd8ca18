package probe

// Function is [FILE:]FUNC, after the prologue; Offset is FUNC+OFF, OFF bytes from the
// entry instruction.
var (
	Function = kind(Kind{
		Form: "[FILE:]FUNC", Where: "a function of a program, after the prologue as for GDB's `break`; every inlined copy",
		Names: "parameters, local variables, globals, registers",
		Find:  Finder.Instructions, Sites: afterPrologue, Own: "$args",
	})
	Offset = kind(Kind{
		Form: "[FILE:]FUNC+OFF", Where: "an instruction of a function, OFF bytes from its entry",
		Names: "local variables, globals, registers; with +0 also `arg0` to `arg5`",
		Find:  Finder.Instructions, Sites: instruction,
	})
)

func afterPrologue(p *Place, m Module, check func() error) ([]Site, error) {
	return p.functions(m, m.FuncSites, false, check)
}

func fromEntry(p *Place, m Module, check func() error) ([]Site, error) {
	return p.functions(m, m.FuncEntry, true, check)
}

// instruction is fromEntry where +0 means the entry instruction itself, in Go the first of the check.
func instruction(p *Place, m Module, check func() error) ([]Site, error) {
	sites, err := p.functions(m, m.FuncEntry, true, check)
	for i := range sites {
		if s := &sites[i]; p.Off == 0 && s.Entry != s.Addr && err == nil {
			*s, err = at(m, s.Entry)
		}
	}
	return sites, err
}
