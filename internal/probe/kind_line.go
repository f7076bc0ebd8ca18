package probe

// Line is FILE:LINE, of uprobe:PATH@FILE:LINE too.
var Line = kind(Kind{
	Form: "FILE:LINE", Where: "each address at which GDB would stop for a source line; with `--vmlinux PATH` a line of the kernel",
	Names: "the local variables there, globals, registers", AnySource: true,
	Find: Finder.Lines,
	Sites: func(p *Place, m Module, _ func() error) ([]Site, error) {
		return m.LineSites(p.File, p.Line)
	},
})
