package rsp

// Answers that any packet may get, and those that many share.
type (
	// Unsupported is the empty packet: this stub does not know the request.
	Unsupported struct{}
	// OK: the request was executed.
	OK struct{}
	// Error is `E NN`. GDB gives the number no meaning (but for memory reads in a
	// trace frame); it is also what GDB answers when it cannot relocate.
	Error struct{ Code Octet }
	// ErrorText is `E.text`: an error in words, shown by GDB.
	ErrorText struct{ Text Raw }
	// EndOfList is `l`.
	EndOfList struct{}
	// Output is `O text`: what GDB prints before the answer proper comes.
	Output struct{ Text Text }
)

func (Unsupported) Layout() string { return "" }
func (OK) Layout() string          { return "OK" }
func (Error) Layout() string       { return "E{Code}" }
func (ErrorText) Layout() string   { return "E.{Text}" }
func (EndOfList) Layout() string   { return "l" }
func (Output) Layout() string      { return "O{Text}" }

// The packets that open and close a session and what they are answered with.
type (
	// QuerySupported `qSupported` names what GDB can do; Supported what the stub can.
	QuerySupported struct{ Features []Feature }
	Supported      struct{ Features []Feature }
	// StartNoAck `QStartNoAckMode` ends acknowledgements; see Link.StartNoAck.
	StartNoAck struct{}
	// ExtendedMode `!` keeps the stub alive after the program.
	ExtendedMode struct{}
	// QueryAttached `qAttached`: was the process there before (Attached.Before), so
	// that GDB detaches where it otherwise kills. Without PID: the only process.
	QueryAttached struct{ PID *uint64 }
	Attached      struct{ Before bool }
	// Detach `D`, Kill `k` (never answered), KillProcess `vKill`.
	Detach      struct{ PID *uint64 }
	Kill        struct{}
	KillProcess struct{ PID uint64 }
	// Attach `vAttach` and Run `vRun` are answered by a stop; an empty File means
	// the program that was run last.
	Attach struct{ PID uint64 }
	Run    struct {
		File Text
		Args []Text
	}
	// Restart `R` (extended mode, no answer), Reset `r` (the machine; no answer).
	Restart struct{ Code uint64 }
	Reset   struct{}
	// MustReplyEmpty `vMustReplyEmpty` tests that unknown packets get no answer.
	MustReplyEmpty struct{}
	// Monitor `qRcmd` is GDB's `monitor`: answered by Output packets and then OK, or
	// by CommandOutput alone.
	Monitor       struct{ Command Text }
	CommandOutput struct{ Text Text }
	// SymbolLookup `qSymbol`: GDB's offer (both empty) or its answer to a
	// SymbolRequest (no Value: unknown). OK ends the questions.
	SymbolLookup struct {
		Value *uint64
		Name  Text
	}
	SymbolRequest struct{ Name Text }
	// QueryOffsets `qOffsets`: by how much sections, or segments, were moved.
	QueryOffsets   struct{}
	SectionOffsets struct {
		Text, Data uint64
		BSS        *uint64
	}
	SegmentOffsets struct {
		Text uint64
		Data *uint64
	}
	// SetAgent `QAgent` uses or leaves the in-process agent.
	SetAgent struct{ On bool }
	// Allow `QAllow` has the operations that the user permits.
	Allow struct{ Permissions []Permission }
)

func (QuerySupported) Layout() string { return "qSupported[:{Features|;}]" }
func (Supported) Layout() string      { return "{Features|;}" }
func (StartNoAck) Layout() string     { return "QStartNoAckMode" }
func (ExtendedMode) Layout() string   { return "!" }
func (QueryAttached) Layout() string  { return "qAttached[:{PID}]" }
func (Attached) Layout() string       { return "{Before}" }
func (Detach) Layout() string         { return "D[;{PID}]" }
func (Kill) Layout() string           { return "k" }
func (KillProcess) Layout() string    { return "vKill;{PID}" }
func (Attach) Layout() string         { return "vAttach;{PID}" }
func (Run) Layout() string            { return "vRun;{File}[;{Args|;}]" }
func (Restart) Layout() string        { return "R{Code}" }
func (Reset) Layout() string          { return "r" }
func (MustReplyEmpty) Layout() string { return "vMustReplyEmpty" }
func (Monitor) Layout() string        { return "qRcmd,{Command}" }
func (CommandOutput) Layout() string  { return "{Text}" }
func (SymbolLookup) Layout() string   { return "qSymbol:[{Value}]:{Name}" }
func (SymbolRequest) Layout() string  { return "qSymbol:{Name}" }
func (QueryOffsets) Layout() string   { return "qOffsets" }
func (SectionOffsets) Layout() string { return "Text={Text};Data={Data}[;Bss={BSS}]" }
func (SegmentOffsets) Layout() string { return "TextSeg={Text}[;DataSeg={Data}]" }
func (SetAgent) Layout() string       { return "QAgent:{On}" }
func (Allow) Layout() string          { return "QAllow:{Permissions|;}" }

var sessionRules = []rule{
	{QuerySupported{}, []Packet{Supported{}}},
	{StartNoAck{}, []Packet{OK{}}},
	{ExtendedMode{}, []Packet{OK{}}},
	{QueryAttached{}, []Packet{Attached{}}},
	{Detach{}, []Packet{OK{}}},
	{Kill{}, nil},
	{KillProcess{}, []Packet{OK{}}},
	{Attach{}, stopReplies},
	{Run{}, stopReplies},
	{Restart{}, nil},
	{Reset{}, nil},
	{MustReplyEmpty{}, nil},
	{Monitor{}, []Packet{OK{}, Output{}, CommandOutput{}}},
	{SymbolLookup{}, []Packet{OK{}, SymbolRequest{}}},
	{QueryOffsets{}, []Packet{SectionOffsets{}, SegmentOffsets{}}},
	{SetAgent{}, []Packet{OK{}}},
	{Allow{}, []Packet{OK{}}},
	{Error{}, nil},
}

// Feature is an item of qSupported: `name+` (Mark '+'), `name-`, `name?`, or
// `name=value` (Mark '=').
type Feature struct {
	Name  string
	Mark  byte
	Value string
}

func (v *Feature) scan(s *scanner) {
	text := s.until(";")
	if text == "" {
		s.fail("the name of a feature")
		return
	}
	for i := range len(text) {
		if text[i] == '=' {
			*v = Feature{text[:i], '=', text[i+1:]}
			return
		}
	}
	last := len(text) - 1
	switch text[last] {
	case '+', '-', '?':
		*v = Feature{Name: text[:last], Mark: text[last]}
	default:
		s.fail("a feature that ends with +, - or ?, or has a value")
	}
}

func (v *Feature) print(dst []byte) []byte {
	dst = append(append(dst, v.Name...), v.Mark)
	return append(dst, v.Value...)
}

// Permission is an item of QAllow: WriteReg, WriteMem, InsertBreak, InsertTrace,
// InsertFastTrace, Stop.
type Permission struct {
	Op      string
	Allowed bool
}

func (v *Permission) scan(s *scanner) {
	v.Op = s.until(":;")
	s.expect(":")
	v.Allowed = s.number() != 0
}

func (v *Permission) print(dst []byte) []byte {
	dst = append(append(dst, v.Op...), ':')
	if v.Allowed {
		return append(dst, '1')
	}
	return append(dst, '0')
}
