package rsp

import "strings"

// Packets that define and run a trace experiment.
type (
	// TraceInit `QTinit` forgets all tracepoints, variables and frames.
	TraceInit struct{}
	// DefineTracepoint `QTDP:`; More says that DefineActions follow.
	DefineTracepoint struct {
		Number, Addr uint64
		Enabled      bool
		Step         uint64 // how many single steps are collected after a hit
		Pass         uint64 // the trace ends after so many hits; 0: never
		Fast         *uint64
		Static       bool
		Condition    Expr
		More         bool
	}
	// DefineActions `QTDP:-`. From the first packet with Stepping on, the actions
	// are those of the steps.
	DefineActions struct {
		Number, Addr uint64
		Stepping     bool
		Actions      []Action
		More         bool
	}
	// DefineSource `QTDPsrc` gives a piece of a tracepoint's source, to be uploaded
	// again: Kind is at, cond or cmd; Start the offset of Text, Length the whole.
	DefineSource struct {
		Number, Addr  uint64
		Kind          Word
		Start, Length uint64
		Text          Text
	}
	// DefineVariable `QTDV`: a trace state variable. Value is a signed number in two's
	// complement.
	DefineVariable struct {
		Number, Value uint64
		Builtin       uint64
		Name          Text
	}
	// EnableTracepoint `QTEnable` and DisableTracepoint `QTDisable`, in a run.
	EnableTracepoint  struct{ Number, Addr uint64 }
	DisableTracepoint struct{ Number, Addr uint64 }
	// ReadOnlyRanges `QTro`: memory that is the same in every frame, End exclusive.
	ReadOnlyRanges struct{ Ranges []Range }
	// StartTrace `QTStart`, StopTrace `QTStop`.
	StartTrace struct{}
	StopTrace  struct{}
	// SetDisconnected `QTDisconnected`: trace on when GDB has left.
	SetDisconnected struct{ On bool }
	// SetCircular `QTBuffer:circular`, SetBufferSize `QTBuffer:size` (bytes; -1: any).
	SetCircular   struct{ On bool }
	SetBufferSize struct{ Size int64 }
	// SetNotes `QTNotes`.
	SetNotes struct{ Notes []Note }
	// SelectFrame `QTFrame` is answered by FrameFound, or OK when frames are left.
	SelectFrame struct{ Query FrameQuery }
	// FrameFound is `F frame T tracepoint`; Frame is -1 where there is none.
	FrameFound struct {
		Frame      int64
		Tracepoint *uint64
	}
	// SaveTrace `QTSave`: the stub writes a trace file.
	SaveTrace struct{ File Text }
	// RelocateInstruction `qRelocInsn` is a request to GDB, sent instead of a reply to QTDP or QTStart. GDB
	// replies with Relocated or an Error.
	RelocateInstruction struct{ From, To uint64 }
	Relocated           struct{ Size uint64 }
)

func (TraceInit) Layout() string { return "QTinit" }
func (DefineTracepoint) Layout() string {
	return "QTDP:{Number}:{Addr}:{Enabled?E|D}:{Step}:{Pass}[:F{Fast}]{Static?:S}[:X{Condition}]{More?-}"
}

func (DefineActions) Layout() string {
	return "QTDP:-{Number}:{Addr}:{Stepping?S}{Actions|}{More?-}"
}

func (DefineSource) Layout() string {
	return "QTDPsrc:{Number}:{Addr}:{Kind}:{Start}:{Length}:{Text}"
}
func (DefineVariable) Layout() string      { return "QTDV:{Number}:{Value}:{Builtin}:{Name}" }
func (EnableTracepoint) Layout() string    { return "QTEnable:{Number}:{Addr}" }
func (DisableTracepoint) Layout() string   { return "QTDisable:{Number}:{Addr}" }
func (ReadOnlyRanges) Layout() string      { return "QTro[:{Ranges|:}]" }
func (StartTrace) Layout() string          { return "QTStart" }
func (StopTrace) Layout() string           { return "QTStop" }
func (SetDisconnected) Layout() string     { return "QTDisconnected:{On}" }
func (SetCircular) Layout() string         { return "QTBuffer:circular:{On}" }
func (SetBufferSize) Layout() string       { return "QTBuffer:size:{Size}" }
func (SetNotes) Layout() string            { return "QTNotes:{Notes|;.}" }
func (SelectFrame) Layout() string         { return "QTFrame:{Query}" }
func (FrameFound) Layout() string          { return "F{Frame}[T{Tracepoint}]" }
func (SaveTrace) Layout() string           { return "QTSave:{File}" }
func (RelocateInstruction) Layout() string { return "qRelocInsn:{From};{To}" }
func (Relocated) Layout() string           { return "qRelocInsn:{Size}" }

var traceRules = []rule{
	{TraceInit{}, []Packet{OK{}}},
	{DefineTracepoint{}, []Packet{OK{}, RelocateInstruction{}}},
	{DefineActions{}, []Packet{OK{}, RelocateInstruction{}}},
	{DefineSource{}, []Packet{OK{}}},
	{DefineVariable{}, []Packet{OK{}}},
	{EnableTracepoint{}, []Packet{OK{}}},
	{DisableTracepoint{}, []Packet{OK{}}},
	{ReadOnlyRanges{}, []Packet{OK{}}},
	{StartTrace{}, []Packet{OK{}, RelocateInstruction{}}},
	{StopTrace{}, []Packet{OK{}}},
	{SetDisconnected{}, []Packet{OK{}}},
	{SetCircular{}, []Packet{OK{}}},
	{SetBufferSize{}, []Packet{OK{}}},
	{SetNotes{}, []Packet{OK{}}},
	{SelectFrame{}, []Packet{FrameFound{}, OK{}}},
	{SaveTrace{}, []Packet{OK{}}},
	{Relocated{}, []Packet{OK{}, RelocateInstruction{}}},
}

// AbsoluteBase is the Base of memory actions without a register.
const AbsoluteBase = -1

// Action is what a tracepoint does at a hit.
type Action struct {
	// Kind is 'R' collect the registers in Mask, 'M' collect Length bytes at
	// Offset from register Base, 'X' evaluate Expr, 'L' collect static trace data.
	Kind byte
	// Mask has the highest register first: register n is bit n%8 of byte n/8,
	// counted from the end; see HasRegister.
	Mask   Bytes
	Base   int64  // a register's number, or AbsoluteBase
	Offset uint64 // two's complement
	Length uint64
	Expr   Expr
}

// HasRegister reports whether an 'R' action collects register n.
func (v *Action) HasRegister(n int) bool {
	i := len(v.Mask) - 1 - n/8
	return n >= 0 && i >= 0 && v.Mask[i]>>(n%8)&1 != 0
}

func (v *Action) scan(s *scanner) {
	c, _ := s.peek()
	if strings.IndexByte("RMXL", c) < 0 {
		s.fail("one of the actions R, M, X, L")
		return
	}
	*v = Action{Kind: c}
	s.pos++
	switch c {
	case 'R':
		v.Mask = s.hexBytes()
	case 'M':
		v.Base = s.signed()
		if v.Base < -1 || v.Base > 1<<16 {
			s.fail("the number of a register, or -1")
		}
		s.expect(",")
		v.Offset = s.number()
		s.expect(",")
		v.Length = s.number()
	case 'X':
		v.Expr.scan(s)
	}
}

// print writes digits as GDB does: base and length of memory in upper case, the
// length of an expression with eight digits.
func (v *Action) print(dst []byte) []byte {
	dst = append(dst, v.Kind)
	switch v.Kind {
	case 'R':
		dst = appendHex(dst, v.Mask)
	case 'M':
		dst = appendUpper(dst, func(b []byte) []byte { return appendSigned(b, v.Base) })
		dst = appendNumber(append(dst, ','), v.Offset)
		dst = appendUpper(append(dst, ','), func(b []byte) []byte { return appendNumber(b, v.Length) })
	case 'X':
		n := len(v.Expr)
		dst = appendUpperHex(dst, []byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
		dst = appendHex(append(dst, ','), v.Expr)
	}
	return dst
}

// appendUpper raises the digits that write appends.
func appendUpper(dst []byte, write func([]byte) []byte) []byte {
	n := len(dst)
	dst = write(dst)
	for i := n; i < len(dst); i++ {
		if dst[i] >= 'a' && dst[i] <= 'f' {
			dst[i] -= 'a' - 'A'
		}
	}
	return dst
}

// Note is an item of QTNotes; Kind is user, notes or tstop.
type Note struct {
	Kind Word
	Text Text
}

func (v *Note) scan(s *scanner) {
	v.Kind = Word(s.until(":;"))
	s.expect(":")
	v.Text.scan(s)
}

func (v *Note) print(dst []byte) []byte {
	return v.Text.print(append(append(dst, v.Kind...), ':'))
}

// FrameQuery says which trace frame is sought. All but FrameNumber begin behind the
// selected frame.
type FrameQuery struct {
	Kind FrameQueryKind
	// Frame is for FrameNumber; -1 leaves the frames. Tracepoint is for
	// FrameTracepoint, Range for the others: both its ends belong to it, for
	// FrameOutside too; FramePC uses Start.
	Frame      int64
	Tracepoint uint64
	Range      Range
}

// FrameQueryKind is the form of a FrameQuery.
type FrameQueryKind uint8

// The forms of QTFrame.
const (
	FrameNumber FrameQueryKind = iota
	FramePC
	FrameTracepoint
	FrameRange
	FrameOutside
)

func (v *FrameQuery) scan(s *scanner) {
	*v = FrameQuery{}
	switch {
	case s.accept("pc:"):
		v.Kind = FramePC
		v.Range.Start = s.number()
	case s.accept("tdp:"):
		v.Kind = FrameTracepoint
		v.Tracepoint = s.number()
	case s.accept("range:"):
		v.Kind = FrameRange
		v.scanRange(s)
	case s.accept("outside:"):
		v.Kind = FrameOutside
		v.scanRange(s)
	default:
		v.Frame = s.signed()
		if v.Frame == 1<<32-1 {
			v.Frame = -1 // GDB prints an int
		}
	}
}

func (v *FrameQuery) scanRange(s *scanner) {
	v.Range.Start = s.number()
	s.expect(":")
	v.Range.End = s.number()
}

func (v *FrameQuery) print(dst []byte) []byte {
	switch v.Kind {
	case FramePC:
		return appendNumber(append(dst, "pc:"...), v.Range.Start)
	case FrameTracepoint:
		return appendNumber(append(dst, "tdp:"...), v.Tracepoint)
	case FrameRange:
		dst = append(dst, "range:"...)
	case FrameOutside:
		dst = append(dst, "outside:"...)
	default:
		return appendNumber(dst, uint64(uint32(v.Frame)))
	}
	dst = append(appendNumber(dst, v.Range.Start), ':')
	return appendNumber(dst, v.Range.End)
}
