package process

import "testing"

// TestInterruptedStacks: the stack that a handler on an alternate stack has interrupted is searched, too. It may have the
// frame of another handler, which returns to generated code.
func TestInterruptedStacks(t *testing.T) {
	f := launchFree(t, build(t, "twostacks"))
	f.out.wait(t, "ready")
	p := attach(t, f.cmd.Process.Pid, Config{})
	stop(t, p, func(s *Stopped) error {
		list, err := s.Threads()
		if err != nil || len(list) != 1 {
			t.Errorf("%d threads: %v", len(list), err)
			return nil
		}
		const number = 0x6a616c6f6e313233
		sp, k := list[0].Regs.SP(), s.Stacks()
		if b, _ := k.read(sp&^7, sp); mentions(b, number) {
			t.Error("the number is on the alternate stack: nothing is tested")
		}
		if !mentions(k.WithRedZone(sp), number) || !mentions(k.From(sp), number) {
			t.Error("the interrupted stack was not read")
		}
		return nil
	})
}
