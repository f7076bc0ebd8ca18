package kernel

import "github.com/jalon-trace/jalon/internal/bpf"

// MayGrace reports whether Grace is permitted.
func MayGrace() bool { return bpf.MayGrace() }

// graces waits for programs.
type graces struct{ of *loader }

// Grace implements engine.Engine: the kernel knows when the programs have ended that were running.
func (g graces) Grace() (over func() (bool, error), err error) {
	begun, err := g.of.k.Grace(g.of.sleeps)
	if err != nil {
		return nil, err
	}
	return begun.Over, nil
}
