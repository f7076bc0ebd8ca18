// Package plan divides the probes of a script in two: what is read at the site when it is hit, as conditions and
// collect lists in C, and the rest, which package interp executes afterwards with the collected values.
//
// A read of the traced program or kernel (args.x, arg0, str(p), p->x, a stack) becomes an item of the collect list.
// Its address may depend on other reads and on the values of variables: those are put in place of the variable,
// wherever the value of the variable is known as an expression of the site. Members are read by their offsets in the
// types that the checker used, so the site needs no types of the script. Where loops change these variables, the site executes their passes
// itself: see parts.go.
//
// Import rule: plan imports lang, lang/script, ctype, and of script check, types and words.
package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/check"
	"github.com/jalon-trace/jalon/internal/script/types"
)

// Options is what the plan depends on besides the script.
type Options struct {
	Process bool   // places of programs are reached in the traced process, not by the kernel
	Program string // the file of the process; "" if none is named
	Child   int    // the process of -c, if it has been started
	InJalon bool   // all maps are in jalon
	Apart   bool   // the process has no memory in common with the kernel
	Keeps   bool   // the kernel engine cannot give slots of deleted keys back
	// declared: maps of which the script says what kind they are, and how many elements they have, may be at the sites too.
	declared bool
	// followed are the maps of jalon's from which a site would take an address: they are noted here. addresses are those that are at the
	// sites for that, though the script calls exit() at a place.
	followed, addresses map[string]bool
	undecided           map[string]script.Expr // conditions because of which maps are jalon's
	Slept               uint64                 // CLOCK_BOOTTIME - CLOCK_MONOTONIC
	// Files returns the files that a pattern means; nil: patterns of files are not known.
	Files func(pattern string) []string
	// Foreign reports whether the process will have a program's file only behind an exec, so that its places are the kernel's; nil: none is.
	Foreign func(file string) bool
	// refused are the probes that code in the process cannot be: they are noted here. inKernel are those whose places in the program are the
	// kernel's for that.
	refused  map[*check.Probe]string // and why
	inKernel map[*check.Probe]bool
}

// Site is a probe at one of its places.
type Site struct {
	Probe *check.Probe
	Point *script.Place
	Place string          // in jalon's notation
	Cond  *lang.Condition // nil: every hit is recorded
	// Decided means that Cond is all of the predicate.
	Decided bool
	Collect []lang.Collect
	Fields  map[Key]Field
	Loops   map[Loop]int // the passes, of those whose passes have turns
	// Updates are done at the site, and are the statements Done. NoRecord: they are all that the probe does.
	Updates  []Update
	Done     map[script.Node]bool
	NoRecord bool
	// Kernel: it is a place of a program that the process has only behind an exec, or of a probe that reads what only the kernel knows.
	Kernel bool
	// Because is why code in the process cannot be the probe, where its place is the kernel's for that.
	Because string
	// Child: it depends on Options.Child.
	Child bool
}

// Loop is a loop in a turn of the loop around it.
type Loop struct {
	S    script.Stmt
	Turn int
}

// Key is an expression that is read at the site. Turn numbers the passes through loops that are known in advance;
// 0 outside of them.
type Key struct {
	X    script.Expr
	Turn int
}

// Field is where the value of an expression is.
type Field struct {
	Index int           // in the collect list
	Type  *types.Type   // of the bytes
	Steps []script.Expr // x++ in it, which are executed too
}

// here are the kinds of probes that run in jalon itself.
var here = map[string]bool{"begin": true, "end": true, "interval": true, "self": true, "test": true, "bench": true}

// RunsInJalon reports whether a probe at a place runs in jalon itself. A timer that reads the kernel is a site.
func RunsInJalon(p *check.Program, pr *check.Probe, pl *script.Place) bool {
	if pl.Provider.Name != "interval" {
		return here[pl.Provider.Name]
	}
	w := &planner{translator: &translator{p: p, s: &Site{Probe: pr, Point: pl}}}
	return !w.several(pr.Body) && (pr.Pred == nil || !w.several(pr.Pred))
}

// Sites plans all probes that are at places of programs and of the kernel, and returns the maps that they update
// there. The error has diagnostics.
//
// Declared maps are jalon's, which has as many elements as they say and removes the oldest ones of lruhash maps, if that is possible. Where a
// site follows a pointer that comes from one, it has to be at the sites.
//
// Other maps of numbers are jalon's if the script calls exit() at a place, again except if a site follows a pointer that comes from one.
func Sites(p *check.Program, opt Options) ([]*Site, []*SiteMap, error) {
	sites, maps, err := sitesFor(p, opt)
	if err == nil || opt.InJalon || !slices.ContainsFunc(p.Maps, func(m *check.Map) bool { return m.Decl != nil }) {
		return sites, maps, err
	}
	opt.declared = true
	if sites, maps, err2 := sitesFor(p, opt); err2 == nil {
		return sites, maps, nil
	}
	return nil, nil, err
}

// sitesFor plans the probes until all maps from which addresses come are at the sites, if that is possible.
func sitesFor(p *check.Program, opt Options) ([]*Site, []*SiteMap, error) {
	opt.followed, opt.undecided = map[string]bool{}, map[string]script.Expr{}
	sites, list, err := sitesOf(p, opt)
	for err != nil && !opt.InJalon && len(opt.followed) > len(opt.addresses) && exits(p) {
		opt.addresses = maps.Clone(opt.followed)
		sites, list, err = sitesOf(p, opt)
	}
	return sites, list, err
}

func sitesWith(p *check.Program, opt Options) ([]*Site, []*SiteMap, error) {
	sites, maps, failed, err := plannedMaps(p, opt, nil)
	if err == nil {
		return sites, maps, nil
	}
	if len(failed) > 0 {
		if sites, maps, _, again := plannedMaps(p, opt, failed); again == nil {
			return sites, maps, nil
		}
	}
	return nil, nil, err
}

// plannedMaps plans the probes, those of inParts in parts. failed are the probes with loops that cannot be planned.
func plannedMaps(p *check.Program, opt Options, inParts map[*check.Probe]bool) (list []*Site, maps []*SiteMap, failed map[*check.Probe]bool, err error) {
	bad := map[string]bool{}
	for try := 0; ; try++ { // a map that is found to be in jalon takes others with it
		opt.InJalon = opt.InJalon || try == maxPlans
		before := len(bad)
		c := newCandidates(p, opt, bad)
		list, failed, err = planned(p, opt, c, inParts)
		c.unfit()
		if len(bad) == before || len(c.maps) == 0 {
			return list, c.used(), failed, err
		}
	}
}

// maxPlans bounds how often a script is planned.
const maxPlans = 16

func planned(p *check.Program, opt Options, c *candidates, inParts map[*check.Probe]bool) (list []*Site, failed map[*check.Probe]bool, err error) {
	var bad lang.Diagnostics
	failed = map[*check.Probe]bool{}
	for _, pr := range p.Probes {
		var first *Site
		for _, pl := range pr.Places {
			if RunsInJalon(p, pr, pl) {
				continue
			}
			if s := first.at(pl, opt); s != nil {
				list = append(list, s)
				continue
			}
			for _, target := range targets(pl, opt) {
				at, opt := *pl, opt
				at.Target = target
				process := opt.Process && pl.Provider.User && target != ""
				kernel := process && (opt.inKernel[pr] || opt.Foreign != nil && opt.Foreign(target))
				opt.Process = opt.Process && !kernel
				s, errs := siteOf(p, opt, pr, &at, c, inParts[pr])
				if s.Kernel = kernel; kernel {
					s.Because = opt.refused[pr]
				}
				if len(errs) > 0 && process && !kernel {
					opt.refused[pr] = errs[0].Msg
				}
				if len(errs) > 0 && loops(pr.Body) {
					failed[pr] = true
				}
				for _, d := range errs {
					bad = addNew(bad, d)
				}
				list = append(list, s)
				if first == nil && len(errs) == 0 {
					first = s
				}
			}
		}
	}
	return list, failed, bad.Err()
}

// targets are the files that a place means; otherwise its target.
func targets(pl *script.Place, opt Options) []string {
	switch {
	case pl.Target == "" && pl.Provider.Name == "usdt":
		return []string{opt.Program}
	case pl.Provider.User && strings.Contains(pl.Target, "*") && pl.Target != "*" && opt.Files != nil:
		if files := opt.Files(pl.Target); len(files) > 0 {
			return files
		}
	}
	return []string{pl.Target}
}

// addNew adds a diagnostic that is not in the list: the places of a probe have the same expressions.
func addNew(list lang.Diagnostics, d *lang.Diagnostic) lang.Diagnostics {
	for _, old := range list {
		if old.Span == d.Span && old.Msg == d.Msg && old.Source == d.Source {
			return list
		}
	}
	return list.Add(d)
}

// translator makes C of the expressions of a site.
type translator struct {
	p     *check.Program
	opt   Options
	s     *Site
	vars  scopes
	at    *atSite // nil: the probe is executed by jalon
	parts *parts  // nil: the probe is not planned in parts
	why   string  // a variable of the program has no certain value
}

// planner plans one site.
type planner struct {
	*translator
	items map[string]int // by their text
	turn  int
	turns int // in total
	errs  lang.Diagnostics
	loops []*walked // around the walk
}

// siteOf plans a site.
func siteOf(p *check.Program, opt Options, pr *check.Probe, pl *script.Place, c *candidates, inParts bool) (*Site, lang.Diagnostics) {
	s := &Site{Probe: pr, Point: pl, Fields: map[Key]Field{}, Loops: map[Loop]int{}}
	w := &planner{translator: &translator{p: p, opt: opt, s: s}, items: map[string]int{}}
	var err error
	if s.Place, err = placeText(pl, opt); err != nil {
		w.fail(pl.Point, err.Error(), "")
		return s, w.errs
	}
	w.vars.push()
	if len(c.maps) > 0 || inParts || signals(pr) {
		w.at = &atSite{candidates: c, done: map[script.Node]bool{}, kept: map[string]kept{}, pred: map[string]bool{}}
	}
	if pl.Label != "" || pl.Provider.Name == "usdt" { // a probe with a label may be disabled while the script runs
		w.dropProbe()
		w.at = nil
	}
	w.predicate(pr.Pred)
	if inParts && w.at != nil {
		w.parts = &parts{w: w, base: len(w.at.conds), taken: map[string]string{}, steps: map[*script.Step]string{}}
	}
	w.block(pr.Body)
	w.divided()
	if len(s.Collect) == 0 { // without a list, a tracepoint of the kernel would collect its whole record
		w.item("$pid", pr.Body)
	}
	return s, w.errs
}

// predicate plans the condition of the hit.
func (w *planner) predicate(x script.Expr) {
	if x == nil {
		if object := w.p.Objects[w.s.Point.Name]; object != "" && w.s.Point.Provider.Name == "iter" {
			w.s.Cond, w.s.Decided = conditionOf(present(object), w.s.Point.Point), true
		}
		return
	}
	if w.at != nil {
		w.at.direct = true
	}
	w.s.Cond, w.s.Decided = w.condition(x)
	if w.at != nil {
		w.at.direct = false
	}
	if w.s.Decided {
		return
	}
	w.expr(x)
	if w.at == nil {
		return
	}
	cond, ok := w.truth(x)
	if ok && len(cond) <= maxText { // what it reads may not be there: it is false then
		cond = "(" + w.keep(cond, "", x) + " != 0)"
	} else {
		cond = ""
		w.at.undecided = x
	}
	w.at.conds = append(w.at.conds, cond)
}

func (w *planner) fail(at script.Node, msg, hint string) {
	w.errs = addNew(w.errs, at.File().At(at.Span(), msg, hint))
}

// typeOf is the type that the checker gave an expression.
func (w *translator) typeOf(x script.Expr) *types.Type {
	if t := w.p.Types[x]; t != nil {
		return t
	}
	return types.NoneT
}

// item adds an item to the collect list and returns its index.
func (w *planner) item(c string, at script.Node) int {
	if i, ok := w.items[c]; ok {
		return i
	}
	from := lang.Text{Source: at.File().Name, Whole: at.File().Text, Span: at.Span()}
	x, err := lang.Translated(c, from)
	if err != nil {
		panic(fmt.Sprintf("BUG: the C of a script's expression: %s: %v", c, err))
	}
	i := len(w.s.Collect)
	w.s.Collect = append(w.s.Collect, lang.Collect{X: x, Text: fmt.Sprintf("%s#%d", at.File().Text[at.Span().Lo:at.Span().Hi], i), Span: at.Span(), From: from})
	w.items[c] = i
	return i
}

// read makes an expression a field that is collected as c.
func (w *planner) read(x script.Expr, c string, t *types.Type) {
	if len(c) > maxText {
		w.fail(x, "this value depends on too many others", "")
		return
	}
	w.s.Fields[Key{x, w.turn}] = Field{Index: w.item(c, x), Type: t, Steps: w.parts.stepsIn(x)}
}

// maxText bounds the C of one item: a variable can stand for an expression that has many others.
const maxText = 16 << 10

// condition makes the predicate a condition at the site, or a part of it that the predicate needs. all: it is
// the whole predicate.
func (w *planner) condition(x script.Expr) (cond *lang.Condition, all bool) {
	c, all := w.decidable(x)
	if object := w.p.Objects[w.s.Point.Name]; object != "" && w.s.Point.Provider.Name == "iter" {
		if c == "" {
			c = "1"
		}
		c = "(" + present(object) + " && " + c + ")"
	}
	if c == "" {
		return nil, false
	}
	return conditionOf(c, x), all
}

// present is the condition that an iterator has an object: it calls its program once more behind the last one.
func present(object string) string { return "((unsigned long)(args->" + object + ") != 0)" }

func conditionOf(c string, at script.Node) *lang.Condition {
	from := textOf(at)
	tree, err := lang.Translated(c, from)
	if err != nil {
		panic(fmt.Sprintf("BUG: the C of a script's predicate: %s: %v", c, err))
	}
	return &lang.Condition{X: tree, From: from}
}

// decidable is the C of a condition that is true whenever x is; "" for none. all: it is false whenever x is.
func (w *planner) decidable(x script.Expr) (c string, all bool) {
	if b, ok := x.(*script.Binary); ok && b.Op == "&&" && w.p.Consts[x] == nil {
		l, allL := w.decidable(b.X)
		r, allR := w.decidable(b.Y)
		switch {
		case l == "":
			return r, false
		case r == "":
			return l, false
		}
		return "(" + l + " && " + r + ")", allL && allR
	}
	if !w.certain(x) {
		return "", false
	}
	if c, ok := w.truth(x); ok {
		return c, true
	}
	return "", false
}
