package probe

// Function is [FILE:]FUNC, after the prologue; Offset is FUNC+OFF, OFF bytes from the
// entry instruction.
var (
	Function = kind(Kind{
		Form: "[FILE:]FUNC", Where: "a function of a program after its prologue, as GDB's `break`; each inlined copy",
		Names: "parameters, local variables, globals, registers",
		Find:  Finder.Instructions, Sites: afterPrologue,
	})
	Offset = kind(Kind{
		Form: "[FILE:]FUNC+OFF", Where: "an instruction of a function, OFF bytes from its entry",
		Names: "the local variables there, globals, registers; with +0 `arg0` to `arg5`",
		Find:  Finder.Instructions, Sites: fromEntry,
	})
)

func afterPrologue(p *Place, m Module, check func() error) ([]Site, error) {
	return p.functions(m, m.FuncSites, false, check)
}

func fromEntry(p *Place, m Module, check func() error) ([]Site, error) {
	return p.functions(m, m.FuncEntry, true, check)
}
