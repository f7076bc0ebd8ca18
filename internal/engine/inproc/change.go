package inproc

import (
	"errors"
	"slices"

	"github.com/jalon-trace/jalon/internal/patch"
)

// Uncover makes sure that the caller's breakpoint may change the bytes at addr: a patch that covers them is
// made again with one byte.
func (e *Engine) Uncover(addr uint64) error {
	p := e.patches.at(addr)
	if e.target.replaced() || p == nil || p.plan.Tactic == patch.Trapping || addr == p.plan.Addr && p.plan.Tactic == patch.Jump {
		return nil
	}
	if err := e.installer.takeOut(p); err != nil {
		return err
	}
	return e.installer.putIn(p.sites)
}

// Rewrite calls write, which changes n bytes of the program at addr. Patches that contain these bytes are
// removed before, and made again from the new bytes.
func (e *Engine) Rewrite(addr uint64, n int, write func() error) error {
	if e.target.replaced() {
		return write()
	}
	var again []*site
	for _, p := range slices.Clone(e.patches.list()) {
		if addr >= p.heldEnd() || addr+uint64(n) <= p.plan.Addr {
			continue
		}
		if err := e.installer.takeOut(p); err != nil {
			return err
		}
		again = append(again, p.sites...)
	}
	err := write()
	if len(again) > 0 {
		err = errors.Join(err, e.installer.putIn(again))
	}
	return err
}
