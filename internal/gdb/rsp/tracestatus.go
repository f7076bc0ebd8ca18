package rsp

import "strings"

// TraceStatus is the answer to qTStatus and the status line of trace files.
type TraceStatus struct {
	Running bool
	Stop    StopReason
	// StopNumber is the tracepoint of StopPassCount and StopError, else 0; StopText
	// the user's note of StopRequested and the words of StopError.
	StopNumber uint64
	StopText   Text
	Frames     *uint64 // in the buffer
	Created    *uint64 // since the start; more than Frames where old ones were dropped
	Free, Size *uint64 // bytes of the buffer
	Circular   *bool
	// Disconnected says that the trace goes on when GDB leaves.
	Disconnected *bool
	// Start and End are microseconds since the epoch, 0: not yet.
	Start, End *uint64
	User       *Text
	Notes      *Text
	// Others are fields that this package does not know, as they came.
	Others []string
}

// Layout implements Packet.
func (TraceStatus) Layout() string { return "T{.}" }

// StopReason is why no trace runs.
type StopReason uint8

// The reasons; a running trace has StopNotGiven or, from gdbserver, any other.
const (
	StopNotGiven     StopReason = iota
	StopNeverRun                // tnotrun
	StopRequested               // tstop
	StopFull                    // tfull
	StopDisconnected            // tdisconnected
	StopPassCount               // tpasscount
	StopError                   // terror
	StopUnknown                 // tunknown
)

// StopReasons are the names of StopReason in the protocol.
var stopReasons = [...]struct {
	name string
	text bool // a text precedes the number
}{
	StopNotGiven:     {},
	StopNeverRun:     {name: "tnotrun"},
	StopRequested:    {name: "tstop", text: true},
	StopFull:         {name: "tfull"},
	StopDisconnected: {name: "tdisconnected"},
	StopPassCount:    {name: "tpasscount"},
	StopError:        {name: "terror", text: true},
	StopUnknown:      {name: "tunknown"},
}

// statusField is a field with one value; the table's order is gdbserver's.
type statusField struct {
	name  string
	field func(*TraceStatus) any
}

var statusFields = []statusField{
	{"tframes", func(v *TraceStatus) any { return &v.Frames }},
	{"tcreated", func(v *TraceStatus) any { return &v.Created }},
	{"tfree", func(v *TraceStatus) any { return &v.Free }},
	{"tsize", func(v *TraceStatus) any { return &v.Size }},
	{"circular", func(v *TraceStatus) any { return &v.Circular }},
	{"disconn", func(v *TraceStatus) any { return &v.Disconnected }},
	{"starttime", func(v *TraceStatus) any { return &v.Start }},
	{"stoptime", func(v *TraceStatus) any { return &v.End }},
	{"username", func(v *TraceStatus) any { return &v.User }},
	{"notes", func(v *TraceStatus) any { return &v.Notes }},
}

func (v *TraceStatus) scan(s *scanner) {
	switch {
	case s.accept("1"):
		v.Running = true
	case !s.accept("0"):
		s.fail("0 or 1")
	}
	for s.err == nil && s.pos < len(s.in) {
		s.expect(";")
		if s.pos == len(s.in) {
			return
		}
		start := s.pos
		name := s.until(":;")
		s.expect(":")
		if !v.scanReason(s, name) && !v.scanField(s, name) {
			s.until(";")
			v.Others = append(v.Others, string(s.in[start:s.pos]))
		}
	}
}

func (v *TraceStatus) scanReason(s *scanner, name string) bool {
	for i, r := range stopReasons {
		if r.name != name || name == "" {
			continue
		}
		v.Stop = StopReason(i)
		v.StopText = ""
		field := s.rest()
		if end := strings.IndexByte(string(field), ';'); end >= 0 {
			field = field[:end]
		}
		if r.text && strings.Contains(string(field), ":") {
			v.StopText.scan(s)
			s.expect(":")
		}
		v.StopNumber = s.number()
		return true
	}
	return false
}

func (v *TraceStatus) scanField(s *scanner, name string) bool {
	for _, f := range statusFields {
		if f.name != name {
			continue
		}
		switch p := f.field(v).(type) {
		case **uint64:
			n := s.number()
			*p = &n
		case **bool:
			b := s.number() != 0
			*p = &b
		case **Text:
			*p = new(Text)
			(*p).scan(s)
			s.accept(":") // gdbserver ends the notes with one
		}
		return true
	}
	return false
}

func (v *TraceStatus) print(dst []byte) []byte {
	if v.Running {
		dst = append(dst, '1')
	} else {
		dst = append(dst, '0')
	}
	if r := stopReasons[v.Stop]; r.name != "" {
		dst = append(append(append(dst, ';'), r.name...), ':')
		if r.text {
			dst = append(v.StopText.print(dst), ':')
		}
		dst = appendNumber(dst, v.StopNumber)
	}
	for _, f := range statusFields {
		dst = printStatusField(dst, f, v)
	}
	for _, o := range v.Others {
		dst = append(append(dst, ';'), o...)
	}
	return dst
}

func printStatusField(dst []byte, f statusField, v *TraceStatus) []byte {
	head := func() []byte { return append(append(append(dst, ';'), f.name...), ':') }
	switch p := f.field(v).(type) {
	case **uint64:
		if *p != nil {
			dst = appendNumber(head(), **p)
		}
	case **bool:
		if *p != nil && **p {
			dst = append(head(), '1')
		} else if *p != nil {
			dst = append(head(), '0')
		}
	case **Text:
		if *p != nil {
			dst = (*p).print(head())
		}
	}
	return dst
}
