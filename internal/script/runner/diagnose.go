package runner

import (
	"errors"
	"strings"

	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/script/check"
)

// warningsOf leaves out the warnings of places that the script does not want, and of conditions that are always true: a filter by
// the process of -c is one where only that process has the place.
func warningsOf(p *check.Program, warn func(string)) func(string) {
	if warn == nil {
		return nil
	}
	ignore := p.Config.Word("missing_probes") == "ignore"
	return func(text string) {
		missing := strings.HasPrefix(strings.TrimPrefix(text, "warning: "), "error: no ")
		if ignore && missing || strings.Contains(text, "the condition is always true") {
			return
		}
		warn(text)
	}
}

// asWritten gives the diagnostics of places their position in the script, or with PlaceText the text that the script has.
func (s *running) asWritten(err error) error {
	var list lang.Diagnostics
	var one *lang.Diagnostic
	if !errors.As(err, &list) && errors.As(err, &one) {
		list = lang.Diagnostics{one}
	}
	for _, d := range list {
		for _, site := range s.list {
			point := site.Point.Point
			if d.Source != "place" || d.Text != site.Place || d.Span != (lang.Span{Hi: len(d.Text)}) {
				continue
			}
			if full := strings.HasPrefix(point.Text, site.Point.Provider.Name+":"); full && s.opt.PlaceText {
				d.Text, d.Span = point.Text, lang.Span{Hi: len(point.Text)}
			}
			if !s.opt.PlaceText {
				at := point.File().At(point.Span(), d.Msg, d.Hint)
				d.Source, d.Text, d.Span = at.Source, at.Text, at.Span
			}
		}
		s.because(d)
	}
	return err
}

// because adds to the diagnostic of a probe that is in the kernel why it is not in the process: the reason may be all that is wrong.
func (s *running) because(d *lang.Diagnostic) {
	for _, site := range s.list {
		whole := site.Probe.Probe.Span()
		if site.Because != "" && d.Hint == "" && d.Source == site.Probe.Probe.File().Name && whole.Lo <= d.Span.Lo && d.Span.Hi <= whole.Hi {
			d.Hint = "the probe is in the kernel, because " + site.Because + "; a probe of its own can have that"
		}
	}
}
