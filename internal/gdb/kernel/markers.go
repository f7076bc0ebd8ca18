package kernel

import (
	"path"
	"strings"

	"github.com/jalon-trace/jalon/internal/engine/kernel"
	"github.com/jalon-trace/jalon/internal/format"
	"github.com/jalon-trace/jalon/internal/gdb/experiment"
)

// Markers lists all static tracepoints that the kernel has now.
func (e *engine) Markers() ([]experiment.Marker, error) {
	e.k.Renew()
	return e.markers(func(*kernel.Marker) bool { return true })
}

// MarkersAt lists the one at an address.
func (e *engine) MarkersAt(addr uint64) ([]experiment.Marker, error) {
	return e.markers(func(m *kernel.Marker) bool { return m.Addr == addr })
}

func (e *engine) markers(want func(*kernel.Marker) bool) ([]experiment.Marker, error) {
	all, err := e.k.Markers()
	if err != nil {
		return nil, err
	}
	var list []experiment.Marker
	for i := range all {
		if m := &all[i]; want(m) {
			list = append(list, experiment.Marker{Addr: m.Addr, ID: m.Name.String(), Extra: e.markerText(m)})
		}
	}
	return list, nil
}

// matching lists those whose names match a pattern of path.Match.
func (e *engine) matching(pattern string) ([]experiment.Marker, error) {
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, err
	}
	e.k.Renew()
	return e.markers(func(m *kernel.Marker) bool {
		ok, _ := path.Match(pattern, m.Name.String())
		return ok
	})
}

// markerAt finds the static tracepoint at an address; nil: there is none.
func (e *engine) markerAt(addr uint64) (*kernel.Marker, error) {
	all, err := e.k.Markers()
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Addr == addr {
			return &all[i], nil
		}
	}
	return nil, nil
}

// markerText describes a marker in a line: its raw arguments, or the fields of its
// record in braces, and the format that the kernel prints the record with.
func (e *engine) markerText(m *kernel.Marker) string {
	var decls []string
	for _, p := range m.Params {
		decls = append(decls, declare(format.TypeName(p.Type, false), p.Name))
	}
	text := "(" + strings.Join(decls, ", ") + ")"
	ev, err := e.k.Format(m)
	if err != nil {
		return text
	}
	if m.Params == nil {
		for i := range ev.Fields {
			if f := &ev.Fields[i]; !f.Common() {
				decls = append(decls, f.Decl)
			}
		}
		text = "{" + strings.Join(decls, "; ") + "}"
	}
	return text + " " + firstLiteral(ev.PrintFmt)
}

func declare(typ, name string) string {
	if !strings.HasSuffix(typ, "*") {
		typ += " "
	}
	return typ + name
}

// firstLiteral is the string that a text of C begins with, "" when it begins otherwise.
func firstLiteral(c string) string {
	if !strings.HasPrefix(c, `"`) {
		return ""
	}
	for i := 1; i < len(c); i++ {
		switch c[i] {
		case '\\':
			i++
		case '"':
			return c[:i+1]
		}
	}
	return c
}
