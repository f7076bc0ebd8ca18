package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
)

// maxKeyParts bounds the parts of a key.
const maxKeyParts = 4

// key is a key of map k as C.
func (w *translator) key(k *SiteMap, x script.Expr) (parts []string, ok bool) {
	if x == nil {
		return nil, w.hasParts(k, "")
	}
	elems, of := []script.Expr{x}, []*types.Type{k.Key}
	if tuple, ok := x.(*script.Tuple); ok && k.Key.Kind == types.Tuple {
		elems, of = tuple.Elems, nil
		for _, f := range k.Key.Fields {
			of = append(of, f.Type)
		}
	}
	if len(elems) > maxKeyParts || len(elems) != len(of) {
		return nil, false
	}
	kinds := ""
	for i, e := range elems {
		c, kind := w.keyPart(e, of[i])
		stack := of[i].Is(types.UStack, types.KStack) && scalar(k.Value)
		if c == "" || stack && !k.onlyAdds {
			return nil, false
		}
		k.Sums = k.Sums || stack
		parts, kinds = append(parts, c), kinds+kind
	}
	return parts, w.hasParts(k, kinds)
}

// hasParts reports whether the keys of a map have these parts; the first key decides that.
func (w *translator) hasParts(k *SiteMap, kinds string) bool {
	if !k.keyed {
		k.keyed, k.Parts = true, kinds
	}
	if len(kinds) != len(k.Parts) {
		return false
	}
	both := []byte(k.Parts)
	for i := range both {
		switch a, b := both[i], kinds[i]; {
		case a == b, b == partKernelComm && (a == PartText || a == PartComm):
		case a == partKernelComm && (b == PartText || b == PartComm):
			both[i] = b
		default:
			return false
		}
	}
	k.Parts = string(both)
	return true
}

// The kinds of SiteMap.Parts.
const (
	PartNumber = 'n'
	PartText   = 't'
	PartThread = 'T'
	PartStack  = 's'
	PartProbe  = 'P' // the site, which is shown as its attach point
	PartFunc   = 'F' // the site, which is shown as its function
	PartComm   = 'c' // the name of the thread, of which sites in a process have the thread
	// partKernelComm is its text, as sites in the kernel have it: it is a PartText, or a PartComm if sites in a process use the map.
	partKernelComm = 'k'
)

// siteNumber is the C of a part that the site knows without it.
const siteNumber = "0"

// commBytes are those of the name of a thread.
const commBytes = 16

func (w *translator) keyPart(x script.Expr, t *types.Type) (c, kind string) {
	if word := wordOf(x); len(arguments(x)) == 0 && w.p.Consts[x] == nil {
		switch {
		case word == "probe" && t.Kind == types.String:
			return siteNumber, string(PartProbe)
		case word == "func" && t.Is(types.KSym, types.USym):
			return siteNumber, string(PartFunc)
		case word == "comm" && t.Kind == types.String && t.Size == commBytes:
			return "$comm", string(map[bool]rune{true: partKernelComm, false: PartComm}[w.inKernel()])
		}
	}
	switch {
	case t.Kind == types.String:
		return w.keyText(x, t), string(PartText)
	case t.Kind == types.UStack && w.typeOf(x).Kind == types.UStack && items[wordOf(x)] != nil:
		if !w.inKernel() || w.s.Point.Provider.User {
			return "$bt", string(PartStack)
		}
		return "$ubt", string(PartStack)
	case t.Kind == types.KStack:
		if wordOf(x) != "kstack" || w.s.Point.Provider.User || w.p.Consts[x] != nil {
			return "", ""
		}
		return "$bt", string(PartStack)
	case t.Is(types.Int) && wordOf(x) == "tid" && len(arguments(x)) == 0:
		return "$tid", string(PartThread)
	}
	return w.converted(x, t), string(PartNumber)
}

// MaxKeyText is how many characters a text in a key has at most.
const MaxKeyText = 64

// keyText is a text as C; "" if the site cannot have it as a part of a key.
func (w *translator) keyText(x script.Expr, t *types.Type) string {
	if t.Size > MaxKeyText+1 {
		return ""
	}
	if k := w.p.Consts[x]; k != nil {
		if k.Kind != types.String || !plain(k.Str) || int64(len(k.Str)) >= t.Size {
			return ""
		}
		return strconv.Quote(k.Str)
	}
	if !w.typeOf(x).Is(types.String) {
		return ""
	}
	if call, ok := x.(*script.Call); ok && wordOf(x) == "str" {
		return w.shortText(call)
	}
	if p, ok := w.placeOf(x); ok && p.bits == 0 && w.typeOf(x).Size <= MaxKeyText {
		if p.name != "" {
			return p.name
		}
		return fmt.Sprintf("str((char *)(%s), %d)", p.addr, w.typeOf(x).Size)
	}
	return ""
}

// shortText is str(p, n) with a constant n: what is longer is cut without a mark.
func (w *translator) shortText(x *script.Call) string {
	if _, dynamic := w.dynamic(x.Args[0]); dynamic || len(x.Args) < 2 || w.p.Consts[x.Args[1]] == nil {
		return ""
	}
	c, ok := w.value(x.Args[0])
	limit := w.characterLimit(x, w.typeOf(x))
	if !ok || limit == 0 || limit > MaxKeyText {
		return ""
	}
	return fmt.Sprintf("str((char *)(%s), %d)", c, limit)
}

func arguments(x script.Expr) []script.Expr {
	if call, ok := x.(*script.Call); ok {
		return call.Args
	}
	return nil
}

// plain reports texts that are written in C as they are.
func plain(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' || r == '?' })
}
