package probe

import (
	"strconv"
	"strings"
)

// Kprobe is kprobe:[MODULE:]FUNC[+OFF], kprobe:0xADDR (no Func and no File) or kprobe:FILE:LINE.
var Kprobe = kind(Kind{
	Words: []string{"kprobe", "k"}, Form: "kprobe:[MODULE:]FUNC[+OFF], kprobe:0xADDR or kprobe:FILE:LINE",
	Where:  "an instruction of the kernel; a line with `--vmlinux PATH`",
	Names:  "at the entry the parameters (BTF) and `arg0` to `arg5`; registers; with `--vmlinux` every local variable",
	Kernel: true, Attach: "kprobe", parse: (*parser).kprobe, Find: Finder.Probes, Own: "$args",
})

func (p *parser) kprobe(pl *Place, rest part) error {
	list, err := p.parts(rest, 1, 2)
	if err != nil {
		return err
	}
	if len(list) == 1 && strings.HasPrefix(rest.s, "0x") {
		if pl.Off, err = strconv.ParseUint(rest.s, 0, 64); err != nil {
			return p.failAt(rest, "malformed address", "write a kernel address as kprobe:0xffffffff81000000")
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
			return p.failAt(head, "an offset cannot be used with a pattern", "name one function")
		}
		list[len(list)-1] = head
	}
	return p.function(pl, list)
}
