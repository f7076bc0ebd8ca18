package probe

import "strings"

// Uretprobe is uretprobe:PATH:FUNC.
var Uretprobe = kind(Kind{
	Words: []string{"uretprobe", "ur"}, Form: "uretprobe:PATH:FUNC",
	Where: "the returns of a function of a file; without a process or with `--all` in every process", Names: "`retval`, globals, registers; in one process as of FUNC%return",
	Kernel: true, Attach: "uretprobe", parse: (*parser).uretprobe, Find: Finder.Returns, Sites: fromEntry, Returns: true, Importing: true, Own: "$retval",
})

// uretprobe is PATH:FUNC; the function may have :: in it.
func (p *parser) uretprobe(pl *Place, rest part) error {
	file, fn, ok := cutPath(rest.s)
	if !ok || file == "" || fn == "" {
		return p.fail("a uretprobe place needs a file and a function", p.form)
	}
	at := part{fn, rest.lo + len(file) + 1}
	name, off, err := p.offset(fn)
	switch {
	case err != nil:
		return err
	case off != 0 || name != fn:
		return p.failAt(at, "a uretprobe place has no offset", "uprobe:PATH:FUNC+OFF is any instruction of a function")
	case strings.HasPrefix(fn, "0x"):
		return p.failAt(at, "a uretprobe place needs a function, not an address", "")
	}
	pl.Path, pl.Func = file, fn
	return nil
}
