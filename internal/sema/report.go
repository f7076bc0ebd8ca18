package sema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/lang"
)

// report collects errors and warnings of an expression. A diagnostic ends the expression: fail unwinds to
// guard, which keeps the diagnostic and continues with the next expression.
type report struct {
	from     lang.Text // what the expression in work is written in
	brief    bool      // only whether it is right is asked, not what is wrong with it
	errs     lang.Diagnostics
	warnings []*lang.Diagnostic
	missing  lang.Diagnostics // see Output.Missing

	absentItems []int // see Output.Absent
}

// bail carries a diagnostic from fail to guard; why is the reason that a variable has no value here. undescribed: it
// has none by the debug information, or in a register that is not taken, which is a reason of its field.
type bail struct {
	d           *lang.Diagnostic
	unavailable bool
	undescribed bool
	why         string
	otherwise   bool // the reason is not that the value is optimised out: the caller is not known, an object has no address
}

// fail ends the expression in work with a diagnostic.
func (rp *report) fail(span lang.Span, msg, hint string) {
	panic(&bail{d: rp.from.At(span, msg, hint)})
}

// textOf is what the user wrote there.
func (rp *report) textOf(s lang.Span) string { return rp.from.Whole[s.Lo:s.Hi] }

func (rp *report) warn(span lang.Span, msg, hint string) {
	rp.warnings = append(rp.warnings, rp.from.At(span, msg, hint))
}

// failNotFound reports a name that means nothing here, with the nearest names.
func (rp *report) failNotFound(span lang.Span, msg string, err error) {
	if rp.brief {
		rp.fail(span, msg, "")
	}
	rp.fail(span, msg, notFoundHint(err))
}

// notFoundHint returns the names nearest to the one that was not found, also of those in more.
func notFoundHint(err error, more ...string) string {
	var nf *debuginfo.NotFoundError
	if !errors.As(err, &nf) {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	_ = nf.Why()
	hint := didYouMean(nf.Nearest)
	if hint == "" {
		hint = didYouMean(lang.Nearest(nf.Name, more, 3))
	}
	return join(hint, nf.Hint)
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

func didYouMean(names []string) string {
	if len(names) == 0 {
		return ""
	}
	q := make([]string, 0, 3)
	for _, n := range names[:min(3, len(names))] {
		q = append(q, fmt.Sprintf("%q", n))
	}
	return "did you mean " + strings.Join(q, " or ") + "?"
}
