package probe

import "strings"

// USDT is usdt:PATH[:PROVIDER]:NAME; the provider is System.
var USDT = kind(Kind{
	Words: []string{"usdt", "U"}, Form: "usdt:PATH:NAME or usdt:PATH:PROVIDER:NAME",
	Where: "a static marker of a file (<sys/sdt.h>), in every process", Names: "`arg0`, `arg1`, ..., and local variables",
	Kernel: true, Attach: "uprobe", parse: (*parser).usdt, Find: Finder.Markers,
})

// marker is the name of a marker, which may have quotes around it: DTRACE_PROBE(p, "name") makes them a part of the name.
func (p *parser) marker(t part) (string, error) {
	if n := len(t.s); n > 2 && t.s[0] == '"' && t.s[n-1] == '"' {
		name, err := p.plain(part{t.s[1 : n-1], t.lo + 1}, "the marker")
		return `"` + name + `"`, err
	}
	return p.name(t, "the marker")
}

// usdt is PATH[:PROVIDER]:NAME. A path may have colons; provider and marker have no slash.
func (p *parser) usdt(pl *Place, rest part) (err error) {
	list := rest.split()
	n := len(list)
	if n < 2 || list[0].s == "" || list[n-1].s == "" {
		return p.fail("a usdt place needs a file and a marker", p.form)
	}
	if pl.Event, err = p.marker(list[n-1]); err != nil {
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
