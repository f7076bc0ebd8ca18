package interp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/script/types"
)

// folded writes a map whose key has a stack as tools for flame graphs read it: a line for each element, the names of
// functions from the outermost on, separated by ";", and the value. It reports whether the map has that form.
func folded(m *Machine, t *table) bool {
	parts := []*types.Type{t.Key}
	if t.Key.Kind == types.Tuple {
		parts = parts[:0]
		for _, f := range t.Key.Fields {
			parts = append(parts, f.Type)
		}
	}
	isStack := func(p *types.Type) bool { return p.Is(types.KStack, types.UStack) }
	if !slices.ContainsFunc(parts, isStack) || t.Value.Is(types.Hist, types.LHist, types.TSeries, types.String, types.Tuple, types.Record) {
		return false
	}
	var lines []string
	for _, c := range t.elems {
		var names, kernel []string
		for i, p := range parts {
			k := c.key
			if t.Key.Kind == types.Tuple {
				k = c.key.list[i]
			}
			switch {
			case !isStack(p):
				names = append(names, strings.ReplaceAll(printed(k, p).Key(), ";", ","))
			case p.Kind == types.KStack:
				kernel = append(kernel, frameNames(k, "_[k]")...)
			default:
				names = append(names, frameNames(k, "")...)
			}
		}
		v := c.value(t.Value)
		if t.Value.Kind == types.Stats {
			v = num(c.count)
		}
		lines = append(lines, fmt.Sprintf("%s %d\n", strings.Join(append(names, kernel...), ";"), int64(v.n)))
	}
	slices.Sort(lines)
	fmt.Fprint(m.opts.Out, strings.Join(lines, ""))
	return true
}

// frameNames are the functions of a stack, the outermost first. The kernel's have a mark, by which flame graphs give
// them another colour.
func frameNames(v val, mark string) []string {
	var out []string
	for _, f := range slices.Backward(v.stack) {
		name := f.Function
		if name == "" {
			name = fmt.Sprintf("0x%x", f.PC)
		}
		out = append(out, strings.NewReplacer(";", ":", " ", "_", "\n", "_").Replace(name)+mark)
	}
	return out
}
