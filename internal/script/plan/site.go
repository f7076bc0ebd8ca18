package plan

import (
	"strings"

	"github.com/jalon-trace/jalon/internal/lang/script"
)

// atSite divides the statements of a probe at a place between the site and jalon.
type atSite struct {
	*candidates
	// conds hold where the walk is, left ever since a return; "": not known.
	conds, left []string
	list        []Update
	done        map[script.Node]bool
	byJalon     bool     // jalon has statements to execute
	always      bool     // one of them at each hit
	when        []string // where the others are
	kept        map[string]kept
	locals      []map[string]bool // by number: the maps and keys that it depends on
	pred        map[string]bool   // maps that the condition of the hit reads
	direct      bool              // maps are read where the value is used: in the condition of the hit
	undecided   script.Expr       // the last condition that was not known
}

// kept is a value that was kept.
type kept struct {
	local, depth int
	of           string // the map, if it was read from one
}

// reached is the C of what holds where the walk is; "": always. known is false if it is not known.
func (a *atSite) reached() (c string, known bool) {
	all := make([]string, 0, len(a.conds)+len(a.left))
	for _, list := range [][]string{a.left, a.conds} {
		for _, c := range list {
			if c == "" {
				return "", false
			}
			all = append(all, c)
		}
	}
	c = strings.Join(all, " && ")
	return c, len(c) <= maxText
}

// under walks a part of the probe that is executed if c holds.
func (w *planner) under(c string, f func()) {
	if w.at == nil {
		f()
		return
	}
	a := w.at
	a.conds = append(a.conds, c)
	f()
	a.conds = a.conds[:len(a.conds)-1]
	for text, k := range a.kept {
		if k.depth > len(a.conds) {
			delete(a.kept, text)
		}
	}
}

// returns notes that a probe ends where the walk is.
func (a *atSite) returns() {
	if c, known := a.reached(); !known || c == "" {
		a.left = append(a.left, "")
	} else {
		a.left = append(a.left, "!("+c+")")
	}
}

// effects notes that jalon executes something where the walk is.
func (w *planner) effects() {
	if w.at == nil {
		return
	}
	c, known := w.at.reached()
	w.at.byJalon = true
	if w.at.always = w.at.always || !known || c == ""; !w.at.always {
		w.at.when = append(w.at.when, c)
	}
}

// noEffect are functions, beside those that sites compute, of which only the value counts.
var noEffect = map[string]bool{
	"str": true, "buf": true, "ksym": true, "usym": true, "strlen": true, "strcap": true, "strncmp": true, "strstr": true, "strcontains": true,
	"nsecs": true, "comm": true, "func": true, "probe": true, "elapsed": true, "sizeof": true, "offsetof": true, "bswap": true, "strerror": true,
}

// executes notes if jalon has to evaluate an expression for more than its value.
func (w *planner) executes(x script.Expr) {
	if w.at == nil || x == nil {
		return
	}
	found := false
	script.Walk(x, func(n script.Node) bool {
		switch n := n.(type) {
		case *script.Call:
			name := wordOf(n)
			found = found || name == "" || !noEffect[name] && wordsAtSite[name] == nil && items[name] == nil
		case *script.Step:
			_, variable := n.X.(*script.Var)
			found = found || !variable
		case *script.Assign:
			_, variable := n.Target.(*script.Var)
			found = found || !variable
		}
		return !found
	})
	if found {
		w.effects()
	}
}

// divided ends the plan of a site: what it does there, and whether it leaves a record.
func (w *planner) divided() {
	a, s := w.at, w.s
	if a == nil {
		return
	}
	s.Updates, s.Done = a.list, a.done
	if a.byJalon && a.whole { // what is left are locals, and maps from which addresses come
		dropOthers(w)
		if len(a.done) == 0 {
			return
		}
	}
	s.NoRecord = !a.byJalon && len(a.done) > 0
	size := 0
	for _, c := range a.when {
		size += len(c) + len("() || ")
	}
	if !a.byJalon || a.always || size > maxText {
		return
	}
	at := textOf(s.Probe.Body)
	s.Updates = append(s.Updates, Update{Do: Leave, From: at, If: w.tree("!(("+strings.Join(a.when, ") || (")+"))", at)})
}

// dropProbe puts all maps of the probe into jalon.
func (w *planner) dropProbe() {
	if w.s.Probe.Pred != nil {
		w.drop(w.s.Probe.Pred)
	}
	w.drop(w.s.Probe.Body)
}

// dropOthers puts all maps of the probe into jalon but those from which addresses come.
func dropOthers(w *planner) {
	for _, n := range []script.Node{w.s.Probe.Pred, w.s.Probe.Body} {
		script.Walk(n, func(n script.Node) bool {
			if m, ok := n.(*script.Map); ok && !w.opt.addresses[m.Name] {
				w.at.candidates.drop(m.Name)
			}
			return true
		})
	}
}

// drop puts the maps of a part of a probe into jalon.
func (w *planner) drop(n script.Node) {
	if w.at == nil {
		return
	}
	script.Walk(n, func(n script.Node) bool {
		if m, ok := n.(*script.Map); ok {
			w.at.candidates.drop(m.Name)
		}
		return true
	})
}

// candidate reports whether x is a map that may be at the sites, or an element of one.
func (w *planner) candidate(x script.Node) bool {
	switch x := x.(type) {
	case *script.Map:
		return w.at != nil && w.at.maps[x.Name] != nil
	case *script.Element:
		return w.candidate(x.Map)
	}
	return false
}

// touches reports whether a part of a probe has maps that may be at the sites.
func (w *planner) touches(n script.Node) bool {
	found := false
	script.Walk(n, func(n script.Node) bool {
		found = found || w.candidate(n)
		return !found
	})
	return found
}

// atSite makes a statement, or the value of a block that is one, that changes a map an update of the site. It reports whether it has.
func (w *planner) atSite(s script.Node) bool {
	if w.at == nil {
		return false
	}
	up, target := w.change(s)
	if target == nil || !w.candidate(target) {
		return false
	}
	if len(w.parts.stepsIn(s)) > 0 { // jalon would not execute them
		w.drop(target)
		return false
	}
	cond, known := w.at.reached()
	if up == nil || !known || len(cond) > maxText {
		if !known {
			notDecided(w, target)
		}
		w.drop(target)
		return false
	}
	up.From, up.After = textOf(s), len(w.s.Collect)
	if cond != "" {
		up.If = w.tree(cond, up.From)
	}
	if up.Map.Fn == "" {
		depends := w.at.pred[up.Map.Name] || dependencies(w.translator, cond, "")[up.Map.Name] || dependencies(w.translator, up.c, "")[up.Map.Name]
		if depends && up.Do != Delete && !strings.Contains(up.Map.Parts, string(PartThread)) {
			w.drop(target)
			return false
		}
		up.Map.depends = up.Map.depends || depends && !w.inKernel()
		up.Map.written = up.Map.written || w.inKernel()
	}
	up.Map.used = true
	up.Map.Adds = up.Map.Adds || up.Do == Add
	up.Map.Sets = up.Map.Sets || up.Do == Set || up.Do == Delete
	if up.Map.At == nil && up.Do != Delete {
		up.Map.At = s
	}
	for text, k := range w.at.kept {
		if k.of == up.Map.Name {
			delete(w.at.kept, text)
		}
	}
	w.at.list = append(w.at.list, *up)
	w.at.done[s] = true
	return true
}

// notDecided notes the condition because of which a map is in jalon.
func notDecided(w *planner, target script.Node) {
	script.Walk(target, func(n script.Node) bool {
		if m, ok := n.(*script.Map); ok && w.at.undecided != nil && w.opt.undecided != nil && w.opt.undecided[m.Name] == nil {
			w.opt.undecided[m.Name] = w.at.undecided
		}
		return true
	})
}

// endsScript notes that the probe ends where exit() is called. It reports whether x is that.
func endsScript(w *planner, x script.Expr) bool {
	call, ok := x.(*script.Call)
	if !ok || wordOf(call) != "exit" {
		return false
	}
	w.returns(call)
	return true
}

// returns notes that the probe ends where the walk is.
func (w *planner) returns(at script.Node) {
	switch {
	case w.parts != nil:
		w.parts.jumpsTo("return", at)
	case w.at != nil:
		w.at.returns()
	}
}
