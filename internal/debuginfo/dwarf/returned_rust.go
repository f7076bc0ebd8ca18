package dwarf

import (
	"fmt"
	"strconv"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lazyregexp"
)

// rustc specifies no calling convention for its own functions. Its rules have been the same from rustFirst to rustLast,
// with which results of all classes were compared. LLVM says by DW_CC_nocall that it has removed a result or a
// part of one since version 15, which rustc needs since rustMarked.
const (
	rustFirst, rustLast = 63, 95
	rustMarked          = 75
)

// langRust is DW_LANG_Rust, and langRustOld what rustc wrote before DWARF 5.
const (
	langRust    = 0x1c
	langRustOld = 0x9000
)

func (r *unitRoot) isRust() bool {
	lang := r.head().lang
	return lang == langRust || lang == langRustOld
}

var rustVersion = lazyregexp.New(`rustc version 1\.(\d+)\.`)

// rustReturned describes the result of a function of Rust.
func (ss *scopes) rustReturned(f *fn) Returned {
	producer := f.d.u.head().producer
	m := rustVersion.FindStringSubmatch(producer)
	if m == nil {
		return Returned{Why: "the version of the Rust compiler is not known"}
	}
	minor, _ := strconv.Atoi(m[1])
	if minor < rustFirst || minor > rustLast {
		return Returned{Why: fmt.Sprintf("Rust's calling convention is known for rustc 1.%d to 1.%d", rustFirst, rustLast)}
	}
	if v, ok := f.d.deep(atCallingConvention); ok && v.N != ccNormal {
		return Returned{Why: changedConvention}
	}
	t := ss.typeOf(f.d)
	if k := t.Strip(); k.Kind == ctype.Void {
		return Returned{}
	}
	return Returned{Results: []Result{{Type: t}}, Rust: true, Unproved: minor < rustMarked && !ss.exported(f)}
}

// Alignment is that of a structure for which debug information states it, otherwise 0.
func (ss *scopes) Alignment(t *ctype.Type) (n int64) {
	defer ss.guard(nil)()
	d, ok := t.Strip().Ref.(die)
	if !ok || ss.closed {
		return 0
	}
	if v, ok := d.attr(atAlignment); ok && v.IsConst() && v.N <= 1<<16 {
		n = int64(v.N)
	}
	return n
}
