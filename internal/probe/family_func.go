package probe

import (
	"strconv"
	"strings"
)

// Functions: of the kernel (kprobe, kretprobe, fentry, fexit) and, beside
// uprobe:, of programs (uretprobe, usdt).

func (p *parser) kprobe(pl *Place, rest part) error {
	list, err := p.parts(rest, 1, 2)
	if err != nil {
		return err
	}
	if len(list) == 1 && strings.HasPrefix(rest.s, "0x") {
		if pl.Off, err = strconv.ParseUint(rest.s, 0, 64); err != nil {
			return p.failAt(rest, "malformed address", "an address of the kernel is written kprobe:0xffffffff81000000")
		}
		return nil
	}
	if len(list) == 2 && isDecimal(list[1].s) {
		n, err := strconv.Atoi(list[1].s)
		if err != nil || n == 0 {
			return p.failAt(list[1], "lines are numbered from 1", "")
		}
		pl.File, pl.Line = strings.Trim(list[0].s, "'\""), n
		if pl.File == "" {
			return p.failAt(list[0], "the source file is missing", "")
		}
		return nil
	}
	name := list[len(list)-1]
	if i := strings.LastIndexByte(name.s, '+'); i >= 0 {
		head, off := name.cut(i)
		if pl.Off, err = strconv.ParseUint(off.s, 0, 32); err != nil {
			return p.failAt(off, "malformed offset "+strconv.Quote(off.s), "an offset is a number of bytes: FUNCTION+0x1c")
		}
		if isGlob(head.s) {
			return p.failAt(head, "an offset has no meaning in functions of a pattern", "name one function")
		}
		list[len(list)-1] = head
	}
	return p.function(pl, list)
}

func isDecimal(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// kernelFunction is [MODULE:]FUNC, for what has no offset.
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

// uretprobe is PATH:FUNC; the function may have :: in it.
func (p *parser) uretprobe(pl *Place, rest part) error {
	file, fn, ok := cutPath(rest.s)
	if !ok || file == "" || fn == "" {
		return p.fail("a uretprobe place names a file and a function", p.form)
	}
	at := part{fn, rest.lo + len(file) + 1}
	name, off, err := p.offset(fn)
	switch {
	case err != nil:
		return err
	case off != 0 || name != fn:
		return p.failAt(at, "a function's return has no offset", "uprobe:PATH:FUNC+OFF is any instruction of a function")
	case strings.HasPrefix(fn, "0x"):
		return p.failAt(at, "a function is needed: the return of an address is not known", "")
	}
	pl.Path, pl.Func = file, fn
	return nil
}

// usdt is PATH[:PROVIDER]:NAME. A path may have colons; provider and marker have no slash.
func (p *parser) usdt(pl *Place, rest part) (err error) {
	list := rest.split()
	n := len(list)
	if n < 2 || list[0].s == "" || list[n-1].s == "" {
		return p.fail("a usdt place names a file and a marker", p.form)
	}
	if pl.Event, err = p.name(list[n-1], "the marker"); err != nil {
		return err
	}
	path := list[:n-1]
	if n > 2 && !strings.Contains(list[n-2].s, "/") {
		path = list[:n-2]
		if list[n-2].s != "" { // PATH::NAME: any provider
			if pl.System, err = p.name(list[n-2], "the provider"); err != nil {
				return err
			}
		}
	}
	last := path[len(path)-1]
	pl.Path = p.text[rest.lo : last.lo+len(last.s)]
	return nil
}
