package probe

import (
	"errors"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/lang"
)

// Error turns err into a diagnostic that points at the place. It returns diagnostics unchanged.
func Error(p *Place, err error) error {
	if err == nil {
		err = errors.New("not found")
	}
	var ds lang.Diagnostics
	if errors.As(err, &ds) { // before the first of them
		return ds
	}
	var d *lang.Diagnostic
	if errors.As(err, &d) {
		return d
	}
	d = Diagnose(p, err.Error(), "")
	var nf *debuginfo.NotFoundError
	if errors.As(err, &nf) {
		nf = nf.Why()
		d.Msg, d.Hint = "no "+nf.What+" \""+nf.Name+"\"", nf.Hint
		if len(nf.Nearest) > 0 {
			d.Hint = DidYouMean(nf.Nearest, d.Hint)
		}
		if nf.What == "function" {
			d.Missing = nf.Name
		}
	}
	return d
}

// Diagnose is a diagnostic that points at the place; the hint may be empty.
func Diagnose(p *Place, msg, hint string) *lang.Diagnostic {
	return lang.At("place", p.Text, lang.Span{Lo: 0, Hi: len(p.Text)}, msg, hint)
}
