package probe

// Line is FILE:LINE, also in uprobe:PATH@FILE:LINE.
var Line = kind(Kind{
	Form: "FILE:LINE", Where: "each address at which GDB would stop for a source line; a line without code means the next one of the same function, which jalon reports; with `--vmlinux PATH` a line of the kernel",
	Names: "local variables, globals, registers", AnySource: true,
	Find: Finder.Lines,
	Sites: func(p *Place, m Module, _ func() error) ([]Site, error) {
		return SitesOfLine(m, p.File, p.Line)
	},
})
