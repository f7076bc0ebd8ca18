package sema

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang"
)

// embedded finds a member of object e in its embedded fields (Go's, and what a type of Fortran extends), which may be pointers: the
// outermost one, as the languages do. nil: there is none.
func (mb *members) embedded(e expr, name string, namePos, span lang.Span) expr {
	level := []expr{e}
	for range maxNesting {
		var next, found []expr
		for _, o := range level {
			if !isRecord(o.Type()) {
				continue
			}
			for _, f := range o.Type().Strip().Fields() {
				if !f.Embedded || len(next) == maxEmbedded {
					continue
				}
				in := mb.along(o, []ctype.Field{f}, span)
				if isPointer(in.Type()) && isRecord(elemOf(in.Type())) {
					in = mb.pointee(mb.rvalue(in), span)
				}
				next = append(next, in)
				if !isRecord(in.Type()) {
					continue
				}
				if m, ok := findField(in.Type().Strip(), name); ok {
					found = append(found, mb.along(in, []ctype.Field{m}, span))
				}
			}
		}
		switch {
		case len(found) == 1:
			return mb.target(found[0])
		case len(found) > 1:
			mb.fail(namePos, fmt.Sprintf("several embedded fields have the member %q", name), "")
		case len(next) == 0:
			return nil
		}
		level = next
	}
	return nil
}

// maxEmbedded bounds the search.
const maxEmbedded = 256
