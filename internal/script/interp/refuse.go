package interp

import (
	"maps"

	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/check"
	"github.com/jalon-trace/jalon/internal/script/plan"
	"github.com/jalon-trace/jalon/internal/script/types"
	"github.com/jalon-trace/jalon/internal/script/words"
)

// Refuse reports what of a script cannot be executed by a Machine: words that have a meaning only at a site, where
// there is none. sites are those of the script's probes elsewhere. kernel: probes in jalon itself can read the kernel.
func Refuse(p *check.Program, sites []*plan.Site, kernel bool) error {
	var bad lang.Diagnostics
	add := func(n script.Node, msg, hint string) { bad = bad.Add(n.File().At(n.Span(), msg, hint)) }
	for _, pr := range p.Probes {
		of, done := sitesOf(pr, sites)
		visit := func(n script.Node) bool { return !done[n] && refused(p, n, of, kernel, add) }
		if pr.Pred != nil {
			script.Walk(pr.Pred, visit)
		}
		script.Walk(pr.Body, visit)
	}
	for _, f := range p.Functions {
		script.Walk(f.Body, func(n script.Node) bool { return refused(p, n, nil, kernel, add) })
	}
	return bad.Err()
}

// sitesOf are what the sites of a probe read, and the statements that they execute.
func sitesOf(pr *check.Probe, sites []*plan.Site) (of map[script.Expr]bool, done map[script.Node]bool) {
	done = map[script.Node]bool{}
	for _, s := range sites {
		if s.Probe != pr {
			continue
		}
		if of == nil {
			of = map[script.Expr]bool{}
		}
		if s.Decided && pr.Pred != nil {
			of[pr.Pred] = true
		}
		for k := range s.Fields {
			of[k.X] = true
		}
		maps.Copy(done, s.Done)
	}
	return of, done
}

// refused reports a node that cannot be executed, and whether its parts are to be visited. Parts without a type are
// never reached.
func refused(p *check.Program, n script.Node, read map[script.Expr]bool, kernel bool, add func(script.Node, string, string)) bool {
	x, ok := n.(script.Expr)
	if !ok {
		return true
	}
	t := p.Types[x]
	if t == nil || p.Consts[x] != nil || read[x] {
		return false
	}
	executable := func(name string) bool {
		w := words.Find(name)
		return w != nil && (here[w.Name] != nil || read != nil && atHit[w.Name] != nil || read == nil && kernel && inKernel[w.Name] != nil)
	}
	what := ""
	memory := read == nil && kernel
	switch x := x.(type) {
	case *script.Ident:
		if !executable(x.Name) {
			what = x.Name
		}
	case *script.Call:
		if words.Find(x.Name) != nil && !executable(x.Name) && words.FindMapFunc(x.Name) == nil {
			what = x.Name + "()"
		}
	case *script.Addr:
		if read != nil {
			what = "an address"
		}
	case *script.Unary:
		if x.Op == "*" && !memory {
			what = "memory"
		}
	case *script.Field:
		if k := p.Types[x.X]; !memory && k != nil && !k.Is(types.Record, types.Struct) {
			what = "memory"
		}
	case *script.Sizeof, *script.Offsetof, *script.Typeinfo, *script.TypeOf:
		return false
	}
	if what != "" {
		where := "in a probe that runs in jalon itself"
		if read != nil {
			where = "at this place yet"
		}
		add(x, what+" cannot be used "+where, "")
		return false
	}
	return true
}
