package probe

import "strings"

func isDecimal(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// kernelFunction parses [MODULE:]FUNC, without an offset.
func (p *parser) kernelFunction(pl *Place, rest part) error {
	list, err := p.parts(rest, 1, 2)
	if err != nil {
		return err
	}
	name := list[len(list)-1]
	if i := strings.IndexByte(name.s, '+'); i >= 0 {
		_, off := name.cut(i)
		return p.failAt(off, "this kind of place has no offset", "kprobe:FUNC+OFF is any instruction of a function")
	}
	if len(list) == 2 && isDecimal(name.s) {
		return p.failAt(rest, "this kind of place takes a function, not a line", "kprobe:FILE:LINE is a line of the kernel")
	}
	return p.function(pl, list)
}

// function reads [MODULE:]FUNC.
func (p *parser) function(pl *Place, list []part) (err error) {
	if len(list) == 2 {
		if pl.Module, err = p.plain(list[0], "the module"); err != nil {
			return err
		}
	}
	pl.Func, err = p.name(list[len(list)-1], "the function")
	return err
}
