package stub

import (
	"errors"
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// breakKey names a breakpoint that is inserted; the table's value says whether its
// commands go on when GDB has left.
type breakKey struct {
	pid  int
	typ  rsp.BreakpointType
	addr uint64
	kind int
}

// maxKind bounds the length of what is watched.
const maxKind = 1 << 16

var _ = []struct{}{on((*Machine).insertBreakpoint), on((*Machine).removeBreakpoint)}

// breakable is the process that a breakpoint goes into.
func (m *Machine) breakable(kind uint64) (int, error) {
	switch {
	case m.caps.Kernel:
		return 0, errors.New("the kernel cannot be stopped: it has tracepoints, no breakpoints")
	case m.denied["InsertBreak"]:
		return 0, errForbidden("insert breakpoints")
	case kind > maxKind:
		return 0, fmt.Errorf("a breakpoint of %d bytes", kind)
	}
	pid, ok := m.process(nil)
	if !ok {
		return 0, errors.New("there is no process")
	}
	return pid, nil
}

func (m *Machine) insertBreakpoint(p rsp.InsertBreakpoint) rsp.Packet {
	pid, err := m.breakable(p.Kind)
	if err != nil {
		return fail(err)
	}
	b := Breakpoint{Type: p.Type, Addr: p.Addr, Kind: int(p.Kind), Persist: p.Persist}
	if b.Conditions, err = validated(p.Conditions, agentexpr.ForCondition); err != nil {
		return fail(fmt.Errorf("the condition: %w", err))
	}
	if b.Commands, err = validated(p.Commands, agentexpr.ForAction); err != nil {
		return fail(fmt.Errorf("the commands: %w", err))
	}
	switch err := m.target.Insert(pid, b); {
	case errors.Is(err, ErrUnsupported):
		return rsp.Unsupported{}
	case err != nil:
		return fail(err)
	}
	m.breaks[breakKey{pid, p.Type, p.Addr, b.Kind}] = b.Persist && len(b.Commands) > 0
	return rsp.OK{}
}

func validated(list []rsp.Expr, use agentexpr.Use) ([]*agentexpr.Expr, error) {
	var out []*agentexpr.Expr
	for _, code := range list {
		e, err := agentexpr.Validate(code, use)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

func (m *Machine) removeBreakpoint(p rsp.RemoveBreakpoint) rsp.Packet {
	pid, err := m.breakable(p.Kind)
	if err != nil {
		return fail(err)
	}
	key := breakKey{pid, p.Type, p.Addr, int(p.Kind)}
	if _, ok := m.breaks[key]; !ok {
		return rsp.OK{} // it is out: the packets may come twice
	}
	switch err := m.target.Remove(pid, p.Type, p.Addr, int(p.Kind)); {
	case errors.Is(err, ErrUnsupported):
		return rsp.Unsupported{}
	case err != nil:
		return fail(err)
	}
	delete(m.breaks, key)
	return rsp.OK{}
}

// removeBreaks removes what GDB has inserted into a process (0: all), but for what
// is to go on without it.
func (m *Machine) removeBreaks(pid int) {
	list := m.target.Processes()
	for key, persists := range m.breaks {
		if persists || pid != 0 && key.pid != pid {
			continue
		}
		if !slices.Contains(list, key.pid) {
			delete(m.breaks, key) // it has ended, and its stop is on its way
			continue
		}
		if err := m.target.Remove(key.pid, key.typ, key.addr, key.kind); err != nil {
			m.log(fmt.Sprintf("remove the breakpoint at %#x: %v", key.addr, err))
		}
		delete(m.breaks, key)
	}
}

// persistent says whether a process (0: any) has commands that go on without GDB.
func (m *Machine) persistent(pid int) bool {
	for key, persists := range m.breaks {
		if persists && (pid == 0 || key.pid == pid) {
			return true
		}
	}
	return false
}

// forgetBreaks forgets those of a program that is no more.
func (m *Machine) forgetBreaks(pid int) {
	for key := range m.breaks {
		if key.pid == pid {
			delete(m.breaks, key)
		}
	}
}

// copyBreaks gives a forked process the table of its parent, whose memory it has.
func (m *Machine) copyBreaks(parent, child int) {
	var list []breakKey
	for key := range m.breaks {
		if key.pid == parent {
			list = append(list, key)
		}
	}
	for _, key := range list {
		persists := m.breaks[key]
		key.pid = child
		m.breaks[key] = persists
	}
}
