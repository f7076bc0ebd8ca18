package probe

// Entry is uprobe:PATH:FUNC[+OFF], FileOff uprobe:PATH:ADDR; uprobe:PATH@FILE:LINE is a Line.
var (
	Entry = kind(Kind{
		Form: "uprobe:PATH:FUNC[+OFF] or uprobe:PATH@FILE:LINE", Where: "the entry of a function of a file (in Go behind the check of the stack), or a line; with `--all` in every process",
		Names: "parameters, `arg0` to `arg5` at the entry, globals, registers; no floating point with `--all`",
		Find:  Finder.Instructions, Sites: fromEntry, Importing: true, Own: "$args",
	})
	FileOff = kind(Kind{
		Form: "uprobe:PATH:ADDRESS", Where: "the instruction at an address of the file", Names: "as of uprobe:PATH:FUNC",
		Find: Finder.Instructions,
		Sites: func(p *Place, m Module, _ func() error) ([]Site, error) {
			s, err := ResolveAddress(m, p.Off)
			return []Site{s}, err
		},
	})
)
