package rsp

// Packets that query a trace experiment.
type (
	// QueryTrace `qTStatus` is answered by a TraceStatus.
	QueryTrace struct{}
	// QueryTracepoint `qTP`: Hits, and the bytes of the buffer that it takes.
	QueryTracepoint struct{ Number, Addr uint64 }
	TracepointUsage struct{ Hits, Usage uint64 }
	// QueryVariable `qTV`: VariableValue (two's complement) or VariableUnknown.
	QueryVariable   struct{ Number uint64 }
	VariableValue   struct{ Value uint64 }
	VariableUnknown struct{}
	// FirstTracepoint `qTfP` and NextTracepoint `qTsP` upload what a stub traces,
	// piece by piece, each as one of the Uploaded structs, to EndOfList.
	FirstTracepoint struct{}
	NextTracepoint  struct{}
	// FirstVariable `qTfV` and NextVariable `qTsV` upload trace state variables.
	FirstVariable    struct{}
	NextVariable     struct{}
	UploadedVariable struct {
		Number, Value uint64
		Builtin       uint64
		Name          Text
	}
	// FirstMarker `qTfSTM`, NextMarker `qTsSTM`: all static tracepoint markers;
	// MarkerAt `qTSTMat`: those at an address.
	FirstMarker struct{}
	NextMarker  struct{}
	MarkerAt    struct{ Addr uint64 }
	Markers     struct{ List []Marker }
	// ReadTraceBuffer `qTBuffer`: frames as in a trace file; EndOfList at the end.
	ReadTraceBuffer struct{ Offset, Length uint64 }
	TraceData       struct{ Data Bytes }
	// MinFastLength `qTMinFTPILen`: the shortest instruction for a fast tracepoint;
	// 0 means not known yet.
	MinFastLength     struct{}
	InstructionLength struct{ Length uint64 }
)

func (QueryTrace) Layout() string        { return "qTStatus" }
func (QueryTracepoint) Layout() string   { return "qTP:{Number}:{Addr}" }
func (TracepointUsage) Layout() string   { return "V{Hits}:{Usage}" }
func (QueryVariable) Layout() string     { return "qTV:{Number}" }
func (VariableValue) Layout() string     { return "V{Value}" }
func (VariableUnknown) Layout() string   { return "U" }
func (FirstTracepoint) Layout() string   { return "qTfP" }
func (NextTracepoint) Layout() string    { return "qTsP" }
func (FirstVariable) Layout() string     { return "qTfV" }
func (NextVariable) Layout() string      { return "qTsV" }
func (UploadedVariable) Layout() string  { return "{Number}:{Value}:{Builtin}:{Name}" }
func (FirstMarker) Layout() string       { return "qTfSTM" }
func (NextMarker) Layout() string        { return "qTsSTM" }
func (MarkerAt) Layout() string          { return "qTSTMat:{Addr}" }
func (Markers) Layout() string           { return "m{List|,}" }
func (ReadTraceBuffer) Layout() string   { return "qTBuffer:{Offset},{Length}" }
func (TraceData) Layout() string         { return "{Data}" }
func (MinFastLength) Layout() string     { return "qTMinFTPILen" }
func (InstructionLength) Layout() string { return "{Length}" }

var traceQueryRules = []rule{
	{QueryTrace{}, []Packet{TraceStatus{}}},
	{QueryTracepoint{}, []Packet{TracepointUsage{}}},
	{QueryVariable{}, []Packet{VariableValue{}, VariableUnknown{}}},
	{FirstTracepoint{}, append([]Packet{EndOfList{}}, uploads...)},
	{NextTracepoint{}, append([]Packet{EndOfList{}}, uploads...)},
	{FirstVariable{}, []Packet{UploadedVariable{}, EndOfList{}}},
	{NextVariable{}, []Packet{UploadedVariable{}, EndOfList{}}},
	{FirstMarker{}, []Packet{Markers{}, EndOfList{}}},
	{NextMarker{}, []Packet{Markers{}, EndOfList{}}},
	{MarkerAt{}, []Packet{Markers{}, EndOfList{}}},
	{ReadTraceBuffer{}, []Packet{TraceData{}, EndOfList{}}},
	{MinFastLength{}, []Packet{InstructionLength{}}},
}

// The pieces of an uploaded tracepoint, also the `tp` lines of trace files.
type (
	// UploadedTracepoint `T` is a DefineTracepoint; it comes before its pieces.
	UploadedTracepoint struct {
		Number, Addr uint64
		Enabled      bool
		Step, Pass   uint64
		Fast         *uint64
		Static       bool
		Condition    Expr
	}
	// UploadedActions `A` and UploadedStepActions `S`.
	UploadedActions struct {
		Number, Addr uint64
		Actions      []Action
	}
	UploadedStepActions struct {
		Number, Addr uint64
		Actions      []Action
	}
	// UploadedSource `Z` is a DefineSource; UploadedUsage `V` a TracepointUsage.
	UploadedSource struct {
		Number, Addr  uint64
		Kind          Word
		Start, Length uint64
		Text          Text
	}
	UploadedUsage struct{ Number, Addr, Hits, Usage uint64 }
)

func (UploadedTracepoint) Layout() string {
	return "T{Number}:{Addr}:{Enabled?E|D}:{Step}:{Pass}[:F{Fast}]{Static?:S}[:X{Condition}]"
}
func (UploadedActions) Layout() string     { return "A{Number}:{Addr}:{Actions|}" }
func (UploadedStepActions) Layout() string { return "S{Number}:{Addr}:{Actions|}" }
func (UploadedSource) Layout() string {
	return "Z{Number}:{Addr}:{Kind}:{Start}:{Length}:{Text}"
}
func (UploadedUsage) Layout() string { return "V{Number}:{Addr}:{Hits}:{Usage}" }

var uploads = []Packet{
	UploadedTracepoint{},
	UploadedActions{},
	UploadedStepActions{},
	UploadedSource{},
	UploadedUsage{},
}

// Marker is a static tracepoint marker: where it is, its name (the argument of
// `strace -m`) and what else is known about it.
type Marker struct {
	Addr      uint64
	ID, Extra Text
}

func (v *Marker) scan(s *scanner) {
	v.Addr = s.number()
	s.expect(":")
	v.ID.scan(s)
	s.expect(":")
	v.Extra.scan(s)
}

func (v *Marker) print(dst []byte) []byte {
	dst = append(appendNumber(dst, v.Addr), ':')
	dst = append(v.ID.print(dst), ':')
	return v.Extra.print(dst)
}

// ParseUpload reads a piece of a tracepoint, an answer to qTfP or a line of a file.
func ParseUpload(payload []byte) (Packet, error) {
	forms := make([]*layout, len(uploads))
	for i, p := range uploads {
		forms[i] = learned(p)
	}
	return firstOf(forms, payload)
}
