package kernel

import (
	"slices"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/sema"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// way is how a candidate is traced: by one variant, or by two of which the first, the
// decider, decides.
type way struct {
	v, decider *variant
	missing    []sema.Name // names that mean nothing to the programs
}

// way chooses the variant by the names in the expressions, before anything is compiled. A static tracepoint
// is traced
//
//  1. by its raw arguments, if these have all names and its record is not collected (see wantsRecord),
//  2. otherwise by its record, if that has all names,
//  3. otherwise by both, if the names of the condition are raw arguments and those of the list are in the
//     record.
//
// If none of these has all names, the variant with the most helpful diagnostics is chosen. All other
// candidates have one variant.
func (e *Host) way(tp *tracepoint.Tracepoint, c *candidate) way {
	raw, rec := c.static()
	if raw == nil {
		v := &c.variants[0]
		cond, list := e.names(tp, c, v)
		return way{v: v, missing: append(cond.Missing, list.Missing...)}
	}
	rawCond, rawList := e.names(tp, c, raw)
	recCond, recList := e.names(tp, c, rec)
	wants := len(tp.Collect) == 0 || namesField(rec, recCond) || namesField(rec, recList)
	noRaw := append(rawCond.Missing[:len(rawCond.Missing):len(rawCond.Missing)], rawList.Missing...)
	noRec := append(recCond.Missing[:len(recCond.Missing):len(recCond.Missing)], recList.Missing...)
	both := way{v: rec, decider: raw, missing: append(rawCond.Missing[:len(rawCond.Missing):len(rawCond.Missing)], recList.Missing...)}
	switch {
	case !wants && len(noRaw) == 0:
		return way{v: raw}
	case len(noRec) == 0:
		return way{v: rec}
	case len(both.missing) == 0:
		return both
	case !wants:
		return way{v: raw, missing: noRaw}
	case namesOnlyRaw(raw, rec, recCond) && !namesField(rec, recCond):
		return both
	}
	return way{v: rec, missing: noRec}
}

// names are the names in a tracepoint's condition and collect list, as a variant resolves them.
func (e *Host) names(tp *tracepoint.Tracepoint, c *candidate, v *variant) (cond, list sema.Names) {
	in := e.input(tp, c, v, whole)
	for i := range tp.Actions {
		if a := &tp.Actions[i]; a.Do == sema.Eval && a.From.Whole != "" {
			in.Collect = append(in.Collect[:len(in.Collect):len(in.Collect)], lang.Collect{X: a.Value, From: a.From})
		}
	}
	return in.CondNames(), in.CollectNames()
}

// namesField reports whether the names need the record: all of it, or a field by args->.
func namesField(rec *variant, names sema.Names) bool {
	return slices.ContainsFunc(names.All, func(n sema.Name) bool {
		switch n.Form {
		case sema.WithSign:
			return n.Text == "_sdata" || n.Text == "sdata"
		case sema.OfArgs:
			return rec.event.Field(n.Text) != nil
		}
		return false
	})
}

// namesOnlyRaw reports whether a raw argument is named that is no field of the record.
func namesOnlyRaw(raw, rec *variant, names sema.Names) bool {
	args := raw.scope.Args()
	return slices.ContainsFunc(names.All, func(n sema.Name) bool {
		return n.Form == sema.Bare && rec.event.Field(n.Text) == nil &&
			slices.ContainsFunc(args, func(a *debuginfo.Variable) bool { return a.Name == n.Text })
	})
}
