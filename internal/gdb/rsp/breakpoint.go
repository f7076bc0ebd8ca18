package rsp

// BreakpointType is the digit of Z and z packets.
type BreakpointType uint8

// The types of breakpoints; Kind is the length of the data, or of the instruction
// that is put into the program.
const (
	BreakSoftware BreakpointType = iota
	BreakHardware
	WatchpointWrite
	WatchpointRead
	WatchpointAccess
)

func (v *BreakpointType) scan(s *scanner) {
	c, ok := s.peek()
	if !ok || c < '0' || c > '4' {
		s.fail("a breakpoint type, 0 to 4")
		return
	}
	s.pos++
	*v = BreakpointType(c - '0')
}

func (v *BreakpointType) print(dst []byte) []byte { return append(dst, '0'+byte(*v)) }

type (
	// InsertBreakpoint `Z`. Sending the same again must not insert it twice, but
	// replaces Conditions and Commands. It stops if any condition holds, or if there
	// is none; Commands run at each hit that would stop.
	InsertBreakpoint struct {
		Type       BreakpointType
		Addr, Kind uint64
		Conditions []Expr
		Persist    bool // the commands go on when GDB has left
		Commands   []Expr
	}
	// RemoveBreakpoint `z`.
	RemoveBreakpoint struct {
		Type       BreakpointType
		Addr, Kind uint64
	}
)

func (InsertBreakpoint) Layout() string {
	return "Z{Type},{Addr},{Kind}[;X{Conditions|X}][;cmds:{Persist},X{Commands|X}]"
}
func (RemoveBreakpoint) Layout() string { return "z{Type},{Addr},{Kind}" }

var breakpointRules = []rule{
	{InsertBreakpoint{}, []Packet{OK{}}},
	{RemoveBreakpoint{}, []Packet{OK{}}},
}
