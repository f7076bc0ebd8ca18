// Package aggregate shows what maps have at the end of a trace: keys and values by their C types.
//
// Import rule: aggregate imports ctype, maps, sema and script's show and printf only.
package aggregate

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/maps"
	"github.com/jalon-trace/jalon/internal/script/printf"
	"github.com/jalon-trace/jalon/internal/script/show"
	"github.com/jalon-trace/jalon/internal/sema"
)

// Write writes a map; stacks are the frames of stacks by their numbers, noRoom counts changes for whose keys there was no room.
func Write(w io.Writer, m *sema.Map, elems maps.Merged, stacks map[uint64][]string, noRoom uint64, asJSON bool) {
	out := show.Map{Name: m.Name, Scalar: len(m.Key) == 0, Kind: kinds[m.Kind]}
	for _, t := range elems {
		if e, ok := elem(m, t, stacks); ok {
			out.Elems = append(out.Elems, e)
		}
	}
	out.Sort(0)
	if asJSON {
		out.JSON(w)
	} else {
		out.Text(w)
	}
	if noRoom > 0 && !asJSON {
		fmt.Fprintf(w, "%s: there was no room for new keys %d times\n", m.Name, noRoom)
	}
}

var kinds = map[sema.MapKind]show.Kind{sema.MapStats: show.Stats, sema.MapHist: show.Hists, sema.MapLinear: show.Hists}

// elem makes an element for showing; false: the key is not in the map.
func elem(m *sema.Map, t *maps.Total, stacks map[uint64][]string) (e show.Elem, ok bool) {
	updates := uint64(0)
	for _, n := range t.Value[:m.Sums()] {
		updates += n
	}
	switch m.Kind {
	case sema.MapNumber, sema.MapSum:
		ok = t.Shown
	case sema.MapHist, sema.MapLinear:
		ok = updates > 0
	default:
		ok = t.Value[0] > 0
	}
	if !ok {
		return e, false
	}
	e.Key = key(m, t.Key, stacks)
	number := func(v uint64) printf.Value {
		e.Order = show.Order{N: v, Signed: !m.Unsigned}
		if m.Unsigned {
			return printf.Uint(v)
		}
		return printf.Int(int64(v))
	}
	switch m.Kind {
	case sema.MapCount:
		e.Value, e.Order = printf.Uint(t.Value[0]), show.Order{N: t.Value[0]}
	case sema.MapAvg:
		e.Value = number(mean(m, t))
	case sema.MapStats:
		avg, total := number(mean(m, t)), number(t.Value[1])
		e.Value = printf.Record([]string{"count", "average", "total"}, []printf.Value{printf.Uint(t.Value[0]), avg, total})
		e.Order = show.Order{N: t.Value[0]}
	case sema.MapMin, sema.MapMax:
		e.Value = number(m.Extreme(t.Value[1]))
	case sema.MapHist:
		h := show.Hist(t.Value, m.Bits, 1)
		e.Hist, e.Order = &h, show.Order{N: updates}
	case sema.MapLinear:
		h := show.Linear(t.Value, m.Low, m.High, m.Step)
		e.Hist, e.Order = &h, show.Order{N: updates}
	default:
		e.Value = number(t.Value[0])
	}
	return e, true
}

// mean is the average, rounded towards zero.
func mean(m *sema.Map, t *maps.Total) uint64 {
	if m.Unsigned {
		return t.Value[1] / t.Value[0]
	}
	return uint64(int64(t.Value[1]) / int64(t.Value[0]))
}

// key is a key with its parts as C values.
func key(m *sema.Map, words []uint64, stacks map[uint64][]string) printf.Value {
	first, _ := m.Layout()
	var parts []printf.Value
	for i, p := range m.Key {
		if p.Kind == sema.KeyStack {
			parts = append(parts, printf.Text(frames(stacks[words[first[i]]])))
			continue
		}
		parts = append(parts, part(p, words[first[i]:], m.TypeOf(i)))
	}
	switch len(parts) {
	case 0:
		return printf.None()
	case 1:
		return parts[0]
	}
	return printf.Tuple(parts...)
}

// frames is a stack as bpftrace shows it.
func frames(list []string) string {
	if len(list) == 0 {
		return "(stack not kept: the table of stacks is full)"
	}
	return "\n    " + strings.Join(list, "\n    ") + "\n"
}

func part(p sema.KeyPart, words []uint64, t *ctype.Type) printf.Value {
	if p.Kind == sema.KeyText {
		var b []byte
		for _, w := range words[:p.Bytes/8] {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		b, _, _ = bytes.Cut(b, []byte{0})
		return printf.Text(string(b))
	}
	v := words[0]
	if t == nil {
		return printf.Uint(v)
	}
	s := t.Strip()
	switch {
	case s.Kind == ctype.Pointer:
		return printf.Pointer(v)
	case s.Kind == ctype.Enum:
		for _, e := range s.Enumerators() {
			if e.Value == int64(v) {
				return printf.Symbol(e.Name, v)
			}
		}
	case s.Kind == ctype.Bool:
		return printf.Bool(v != 0)
	}
	if s.Signed {
		return printf.Int(int64(v))
	}
	return printf.Uint(v)
}
