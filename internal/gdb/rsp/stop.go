package rsp

import (
	"bytes"
	"fmt"
)

// What a stub says when the program has stopped.
type (
	// StoppedPlain is `S`: a signal and nothing else.
	StoppedPlain struct{ Signal Octet }
	// Stopped is `T`: a signal, why, where, and registers that spare GDB a request.
	Stopped struct {
		Signal    Octet // GDB's number, not the system's
		Reasons   []Reason
		Registers []RegisterValue
		Thread    *ThreadID
		Core      *uint64
		// Others are pairs that this package does not know, as they came.
		Others []string
	}
	// Exited is `W`, Killed `X`: the process has ended by itself, or by a signal.
	Exited struct {
		Status Status
		PID    *uint64
	}
	Killed struct {
		Signal Status
		PID    *uint64
	}
	// ThreadExited is `w`, NoResumed `N`: no thread that was resumed is left.
	ThreadExited struct {
		Status Status
		Thread ThreadID
	}
	NoResumed struct{}
	// FileRequest is `F`: a system call that GDB is to make for the program.
	FileRequest struct {
		Call   Word
		Params Raw
	}
)

func (StoppedPlain) Layout() string { return "S{Signal}" }
func (Stopped) Layout() string      { return "T{Signal}{.}" }
func (Exited) Layout() string       { return "W{Status}[;process:{PID}]" }
func (Killed) Layout() string       { return "X{Signal}[;process:{PID}]" }
func (ThreadExited) Layout() string { return "w{Status};{Thread}" }
func (NoResumed) Layout() string    { return "N" }
func (FileRequest) Layout() string  { return "F{Call}[,{Params}]" }

// stopReplies answer everything that resumes; OK does in non-stop mode.
var stopReplies = []Packet{
	Stopped{},
	StoppedPlain{},
	Exited{},
	Killed{},
	ThreadExited{},
	NoResumed{},
	Output{},
	OK{},
	FileRequest{},
}

// stopNotice is the only notification of the protocol that stubs of processes send.
const stopNotice = "Stop:"

// StopNotification is the payload of the notification `%Stop:` of a stop.
func StopNotification(stop Packet) []byte { return Append([]byte(stopNotice), stop) }

// ParseNotification reads the payload of a notification.
func ParseNotification(payload []byte) (Packet, error) {
	stop, ok := bytes.CutPrefix(payload, []byte(stopNotice))
	if !ok {
		return Unknown{append(Raw{}, payload...)}, nil
	}
	return ParseReply(QueryHalt{}, stop)
}

// RegisterValue is a register in a stop reply.
type RegisterValue struct {
	Number uint64
	Data   Bytes
}

// Reason is why a thread has stopped, beyond the signal.
type Reason struct {
	Kind   ReasonKind
	Number uint64   // the address of a watchpoint's data, the number of a system call
	Thread ThreadID // the new process or thread
	Text   Text     // the program of an exec; begin or end of a replay
}

// ReasonKind is the name of a reason.
type ReasonKind uint8

// The reasons.
const (
	WatchWrite ReasonKind = iota
	WatchRead
	WatchAccess
	SyscallEntry
	SyscallReturn
	LibraryChange
	ReplayLog
	SoftwareBreak
	HardwareBreak
	Forked
	VForked
	VForkDone
	Cloned
	Execed
	ThreadCreated
)

type reasonArg uint8

const (
	argNone reasonArg = iota
	argAddr
	argNumber
	argThread
	argText
	argWord
)

var reasons = [...]struct {
	name string
	arg  reasonArg
}{
	WatchWrite:    {"watch", argAddr},
	WatchRead:     {"rwatch", argAddr},
	WatchAccess:   {"awatch", argAddr},
	SyscallEntry:  {"syscall_entry", argNumber},
	SyscallReturn: {"syscall_return", argNumber},
	LibraryChange: {"library", argNone},
	ReplayLog:     {"replaylog", argWord},
	SoftwareBreak: {"swbreak", argNone},
	HardwareBreak: {"hwbreak", argNone},
	Forked:        {"fork", argThread},
	VForked:       {"vfork", argThread},
	VForkDone:     {"vforkdone", argNone},
	Cloned:        {"clone", argThread},
	Execed:        {"exec", argText},
	ThreadCreated: {"create", argNone},
}

var reasonByName = func() map[string]ReasonKind {
	m := map[string]ReasonKind{}
	for k, r := range reasons {
		m[r.name] = ReasonKind(k)
	}
	return m
}()

// scan reads the pairs of a T packet; those that GDB would ignore go to Others.
func (v *Stopped) scan(s *scanner) {
	for s.err == nil && s.pos < len(s.in) {
		start := s.pos
		name := s.until(":;")
		s.expect(":")
		switch kind, known := reasonByName[name]; {
		case name == "thread":
			v.Thread = new(ThreadID)
			v.Thread.scan(s)
		case name == "core":
			n := s.number()
			v.Core = &n
		case known:
			v.Reasons = append(v.Reasons, scanReason(s, kind))
		case isNumber(name):
			n := (&scanner{in: []byte(name)}).number()
			v.Registers = append(v.Registers, RegisterValue{n, s.hexBytes()})
		default:
			s.until(";")
			v.Others = append(v.Others, string(s.in[start:s.pos]))
		}
		if s.pos < len(s.in) {
			s.expect(";")
		}
	}
}

// isNumber reports whether a pair's name is a register's number.
func isNumber(name string) bool {
	for i := range len(name) {
		if _, ok := hexValue(name[i]); !ok {
			return false
		}
	}
	return name != "" && len(name) <= 16
}

func scanReason(s *scanner, kind ReasonKind) Reason {
	r := Reason{Kind: kind}
	switch reasons[kind].arg {
	case argNone:
		s.until(";") // GDB ignores this part
	case argAddr, argNumber:
		r.Number = s.number()
	case argThread:
		r.Thread.scan(s)
	case argText:
		r.Text.scan(s)
	case argWord:
		r.Text = Text(s.until(";"))
	}
	return r
}

// print writes the pairs in the order of gdbserver.
func (v *Stopped) print(dst []byte) []byte {
	for _, r := range v.Reasons {
		if r.Kind != LibraryChange {
			dst = r.print(dst)
		}
	}
	for _, r := range v.Registers {
		if r.Number < 16 {
			dst = append(dst, '0')
		}
		dst = append(appendNumber(dst, r.Number), ':')
		dst = append(appendHex(dst, r.Data), ';')
	}
	if v.Thread != nil {
		dst = append(dst, "thread:"...)
		dst = append(v.Thread.print(dst), ';')
	}
	if v.Core != nil {
		dst = append(dst, "core:"...)
		dst = append(appendNumber(dst, *v.Core), ';')
	}
	for _, r := range v.Reasons {
		if r.Kind == LibraryChange {
			dst = r.print(dst)
		}
	}
	for _, o := range v.Others {
		dst = append(append(dst, o...), ';')
	}
	return dst
}

func (r Reason) print(dst []byte) []byte {
	dst = append(append(dst, reasons[r.Kind].name...), ':')
	switch reasons[r.Kind].arg {
	case argAddr:
		dst = fmt.Appendf(dst, "%016x", r.Number)
	case argNumber:
		dst = appendNumber(dst, r.Number)
	case argThread:
		dst = r.Thread.print(dst)
	case argText:
		dst = r.Text.print(dst)
	case argWord:
		dst = append(dst, r.Text...)
	}
	return append(dst, ';')
}
