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

// breakpoints are those that GDB has inserted.
type breakpoints struct {
	*core
	roster   *roster
	inserted map[breakKey]bool
}

// maxKind bounds the length of what is watched.
const maxKind = 1 << 16

// packets are those that it handles.
func (x *breakpoints) packets() []row {
	return []row{
		on("Z0 to Z4", "inserts a breakpoint or watchpoint", x.insertBreakpoint),
		on("z0 to z4", "removes one", x.removeBreakpoint),
	}
}

// breakable is the process that a breakpoint goes into.
func (x *breakpoints) breakable(kind uint64) (int, error) {
	switch {
	case x.caps.Kernel:
		return 0, errors.New("the kernel cannot be stopped: it has tracepoints, no breakpoints")
	case x.denied["InsertBreak"]:
		return 0, errForbidden("insert breakpoints")
	case kind > maxKind:
		return 0, fmt.Errorf("a breakpoint of %d bytes", kind)
	}
	pid, ok := x.roster.process(nil)
	if !ok {
		return 0, errors.New("there is no process")
	}
	return pid, nil
}

func (x *breakpoints) insertBreakpoint(p rsp.InsertBreakpoint) rsp.Packet {
	pid, err := x.breakable(p.Kind)
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
	switch err := x.target.Insert(pid, b); {
	case errors.Is(err, ErrUnsupported):
		return rsp.Unsupported{}
	case err != nil:
		return fail(err)
	}
	x.inserted[breakKey{pid, p.Type, p.Addr, b.Kind}] = b.Persist && len(b.Commands) > 0
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

func (x *breakpoints) removeBreakpoint(p rsp.RemoveBreakpoint) rsp.Packet {
	pid, err := x.breakable(p.Kind)
	if err != nil {
		return fail(err)
	}
	key := breakKey{pid, p.Type, p.Addr, int(p.Kind)}
	if _, ok := x.inserted[key]; !ok {
		return rsp.OK{} // it is out: the packets may come twice
	}
	switch err := x.target.Remove(pid, p.Type, p.Addr, int(p.Kind)); {
	case errors.Is(err, ErrUnsupported):
		return rsp.Unsupported{}
	case err != nil:
		return fail(err)
	}
	delete(x.inserted, key)
	return rsp.OK{}
}

// removeBreaks removes what GDB has inserted into a process (0: all), but for what
// is to go on without it.
func (x *breakpoints) removeAll(pid int) {
	list := x.target.Processes()
	for key, persists := range x.inserted {
		if persists || pid != 0 && key.pid != pid {
			continue
		}
		if !slices.Contains(list, key.pid) {
			delete(x.inserted, key) // it has ended, and its stop is on its way
			continue
		}
		if err := x.target.Remove(key.pid, key.typ, key.addr, key.kind); err != nil {
			x.log(fmt.Sprintf("remove the breakpoint at %#x: %v", key.addr, err))
		}
		delete(x.inserted, key)
	}
}

// persistent reports whether a process (0: any) has breakpoint commands that remain active without GDB.
func (x *breakpoints) persistent(pid int) bool {
	for key, persists := range x.inserted {
		if persists && (pid == 0 || key.pid == pid) {
			return true
		}
	}
	return false
}

// forgetBreaks forgets those of a program that is no more.
func (x *breakpoints) forget(pid int) {
	for key := range x.inserted {
		if key.pid == pid {
			delete(x.inserted, key)
		}
	}
}

// copyBreaks gives a forked process the table of its parent, whose memory it has.
func (x *breakpoints) copy(parent, child int) {
	var list []breakKey
	for key := range x.inserted {
		if key.pid == parent {
			list = append(list, key)
		}
	}
	for _, key := range list {
		persists := x.inserted[key]
		key.pid = child
		x.inserted[key] = persists
	}
}
