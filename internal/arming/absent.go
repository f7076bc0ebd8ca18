package arming

import (
	"errors"

	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// absent are tracepoints of a first arming with what does not exist at any of their sites: names in conditions and collect
// lists. It is an error only if no other place of the session can be armed.
type absent struct {
	*Config
	list []failure
}

type failure struct {
	tp  *Tracked
	err error
}

func (l *absent) add(tp *Tracked, err error) { l.list = append(l.list, failure{tp, err}) }

// resolve compiles the tracepoints again where others can be armed, or where each of what they collect exists at one of them:
// what does not exist has the reason as its value. Those with other errors are left out, with a warning.
func (l *absent) resolve(e engine.Engine, others bool, bad *refusals) (fresh []*engine.Program) {
	var warnings []func()
	var missing []engine.Absences
	for _, f := range l.list {
		c := l.Compiling()
		c.Lenient = !c.Strict
		warn := c.Warn
		c.Warn = func(text string) { warnings = append(warnings, func() { warn(text) }) }
		progs, _, err := c.All(e, f.tp, f.tp.Tracepoint)
		if err != nil {
			f.tp.refused = true
			warnings = append(warnings, func() { l.leftOut(f.tp, err) })
			continue
		}
		f.tp.refused = false
		fresh, missing = append(fresh, progs...), append(missing, engine.AbsencesOf(f.tp.Tracepoint, progs))
	}
	if !others && (len(fresh) == 0 || engine.Everywhere(missing) != nil) {
		nowhere := engine.Everywhere(missing)
		for _, f := range l.list {
			for _, d := range tracepoint.Append(nil, f.err) {
				if d.Source != "collect" || nowhere == nil || nowhere.Of(d) { // others have the other items
					bad.add(f.tp, d)
				}
			}
		}
		return nil
	}
	for _, warn := range warnings {
		warn()
	}
	return fresh
}

// leftOut warns that a tracepoint has no site.
func (c *Config) leftOut(tp *Tracked, err error) {
	for _, d := range tracepoint.Append(nil, err) {
		copied := *d
		copied.Msg += "; " + tp.Place.Text + " is left out"
		c.Warn(copied.Render("warning"))
	}
}

// AbsentError is the error of places of one engine of which none has what their conditions and lists name: places of the other
// engine may have it.
type AbsentError struct{ error }

// Unwrap implements errors.Unwrap.
func (e *AbsentError) Unwrap() error { return e.error }

// IsAbsent reports whether an error is an AbsentError.
func IsAbsent(err error) bool {
	var none *AbsentError
	return errors.As(err, &none)
}

// Absent joins two AbsentErrors; the second may be nil.
func Absent(a, b error) error {
	if b == nil {
		return a
	}
	return &AbsentError{tracepoint.Append(tracepoint.Append(nil, errors.Unwrap(a)), errors.Unwrap(b)).Err()}
}

// LeftOut warns of the places of an AbsentError.
func (c *Config) LeftOut(err error) {
	for _, d := range tracepoint.Append(nil, errors.Unwrap(err)) {
		copied := *d
		copied.Msg += "; it is left out"
		c.Warn(copied.Render("warning"))
	}
}
