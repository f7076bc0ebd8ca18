package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/jalon-trace/jalon"
	"github.com/jalon-trace/jalon/internal/debuginfo/tracefs"
	"github.com/jalon-trace/jalon/internal/lttng"
)

// setPlaces returns the tracepoints of sets. Those that this kernel does not have are left out with a warning.
func setPlaces(names []string, warn func(string)) (tps []jalon.Tracepoint, err error) {
	fs, fserr := tracefs.Open()
	var missing []string
	seen := map[string]bool{}
	for _, name := range names {
		for _, p := range placesOfSet(lttng.Find(name), fs) {
			text := p.Text()
			if seen[text] {
				continue
			}
			seen[text] = true
			if p.System != "" && fserr == nil && !present(fs, &p) { // an error of tracefs is reported when the places are armed
				missing = append(missing, p.System+":"+p.Event)
				continue
			}
			tp, err := jalon.Parse([]string{text}, collected(&p))
			if err != nil {
				return nil, err
			}
			tp[0].Optional = true
			tps = append(tps, tp[0])
		}
	}
	if len(missing) > 0 {
		warn(fmt.Sprintf("this kernel does not have %s; the rest of the set is recorded", strings.Join(missing, ", ")))
	}
	return tps, nil
}

// ofKernel reports whether one of the sets has events of the kernel.
func ofKernel(names []string) bool {
	for _, name := range names {
		if s := lttng.Find(name); s.Syscalls || s.Places[0].System != "" {
			return true
		}
	}
	return false
}

// collected is the collect list of a place.
func collected(p *lttng.Place) []string {
	var list []string
	for _, f := range p.Fields {
		list = append(list, f.Expr)
	}
	if len(list) == 0 {
		return nil
	}
	return []string{strings.Join(list, ", ")}
}

// present reports whether the kernel has a static tracepoint. Fields that it does not have are removed from the place; those that are
// texts of any length are taken as texts.
func present(fs *tracefs.FS, p *lttng.Place) bool {
	e, err := fs.Event(p.System, p.Event)
	if err != nil {
		return false
	}
	var has []lttng.Field
	for _, f := range p.Fields {
		name, ok := f.Name, strings.Contains(f.Expr, "args->"+f.Name+"[")
		if !ok {
			name, ok = strings.CutPrefix(f.Expr, "args->")
			name, _, _ = strings.Cut(name, " ")
		}
		x := e.Field(name)
		if ok && x == nil {
			continue
		}
		if ok && strings.HasPrefix(x.Decl, "__data_loc char[]") && f.Expr == "args->"+name {
			f.Expr = "str(" + f.Expr + ")"
		}
		has = append(has, f)
	}
	p.Fields = has
	return true
}

// placesOfSet are the places of a set, with the system calls that the kernel has.
func placesOfSet(s *lttng.Set, fs *tracefs.FS) []lttng.Place {
	if !s.Syscalls {
		return s.Places
	}
	if fs == nil { // the pattern's error is reported when it is armed
		return []lttng.Place{{System: "syscalls", Event: "sys_*"}}
	}
	names, err := fs.Syscalls()
	if err != nil {
		return []lttng.Place{{System: "syscalls", Event: "sys_*"}}
	}
	var out []lttng.Place
	for _, name := range names {
		enter := lttng.Place{System: "syscalls", Event: "sys_enter_" + name}
		if c, err := fs.Syscall(name); err == nil {
			for i := range c.Args {
				enter.Fields = append(enter.Fields, syscallField(&c.Args[i]))
			}
		}
		out = append(out, enter, lttng.Place{System: "syscalls", Event: "sys_exit_" + name, Fields: []lttng.Field{{Name: "ret", Expr: "args->ret"}}})
	}
	return out
}

// syscallField is an argument of a system call; a text is read.
func syscallField(f *tracefs.Field) lttng.Field {
	expr := "args->" + f.Name
	if strings.HasPrefix(f.Decl, "const char *") && !strings.HasPrefix(f.Decl, "const char **") && isText[f.Name] {
		expr = "str(" + expr + ")"
	}
	return lttng.Field{Name: f.Name, Expr: expr}
}

// isText are the arguments of system calls that are texts where they point to characters; others, such as buf of write, are bytes.
var isText = map[string]bool{
	"filename": true, "pathname": true, "path": true, "name": true, "oldname": true, "newname": true, "dev_name": true, "dir_name": true,
	"type": true, "special": true, "specialfile": true, "from": true, "to": true, "library": true, "uargs": true, "from_pathname": true, "to_pathname": true,
	"put_old": true, "new_root": true, "_fs_name": true, "u_name": true, "description": true, "fs_name": true,
}

// listSets prints sets and their places.
func listSets(w io.Writer, names []string) error {
	whole := len(names) > 0
	if !whole {
		names = lttng.Names()
	}
	fs, err := tracefs.Open()
	if err != nil {
		fs = nil
	}
	for _, name := range names {
		s := lttng.Find(name)
		if s == nil {
			return usageError(fmt.Sprintf("no set %s: the sets are %s", name, strings.Join(lttng.Names(), ", ")))
		}
		fmt.Fprintf(w, "%s: %s\n", s.Name, s.Help)
		if s.Syscalls && !whole {
			fmt.Fprintln(w, "    syscalls:sys_enter_*, syscalls:sys_exit_*  as syscall_entry_*, syscall_exit_* (jalon list --set syscalls: each)")
			continue
		}
		for _, p := range placesOfSet(s, fs) {
			listPlaceOfSet(w, &p, fs)
		}
	}
	return nil
}

// longExpr is an expression that is not shown.
const longExpr = 100

// listPlaceOfSet prints a place, its name in viewers, and the names of its fields there with what they are here.
func listPlaceOfSet(w io.Writer, p *lttng.Place, fs *tracefs.FS) {
	name, note := "", ""
	if p.System != "" {
		if fs != nil && !present(fs, p) {
			note = "  (not in this kernel)"
		}
		if viewed := lttng.EventName(p.System, p.Event); viewed != p.Event {
			name = " as " + viewed
		}
	}
	fmt.Fprintf(w, "    %s%s%s\n", strings.TrimPrefix(p.Text(), "tracepoint:"), name, note)
	var fields []string
	for _, f := range p.Fields {
		switch {
		case f.Expr == "args->"+f.Name:
			fields = append(fields, f.Name)
		case len(f.Expr) > longExpr:
			fields = append(fields, f.Name+" (computed from the kernel's)")
		default:
			fields = append(fields, f.Name+" ("+f.Expr+")")
		}
	}
	if len(fields) > 0 {
		fmt.Fprintf(w, "        %s\n", strings.Join(fields, ", "))
	}
}
