package rsp

import "strings"

// Packets that let the program run, and those around non-stop mode.
type (
	// QueryHalt `?`: why the program is stopped.
	QueryHalt struct{}
	// Continue `c`, ContinueSignal `C`, Step `s`, StepSignal `S`; with an address
	// the program goes on there.
	Continue       struct{ Addr *uint64 }
	ContinueSignal struct {
		Signal Octet
		Addr   *uint64
	}
	Step       struct{ Addr *uint64 }
	StepSignal struct {
		Signal Octet
		Addr   *uint64
	}
	// ReverseContinue `bc` and ReverseStep `bs`.
	ReverseContinue struct{}
	ReverseStep     struct{}
	// Resume `vCont`: for each thread the first action that names it.
	Resume          struct{ Actions []ResumeAction }
	QueryResume     struct{}
	ResumeSupported struct{ Actions []Word }
	// NextStop `vStopped` takes the next stop after a notification; OK ends them.
	NextStop struct{}
	// InterruptAll `vCtrlC` is the interrupt byte of non-stop mode.
	InterruptAll struct{}
	// FileResult `F` is GDB's answer to a FileRequest.
	FileResult struct {
		Result      int64
		Errno       *uint64
		Interrupted bool // the user pressed ^C
		Data        Raw
	}
)

func (QueryHalt) Layout() string       { return "?" }
func (Continue) Layout() string        { return "c[{Addr}]" }
func (ContinueSignal) Layout() string  { return "C{Signal}[;{Addr}]" }
func (Step) Layout() string            { return "s[{Addr}]" }
func (StepSignal) Layout() string      { return "S{Signal}[;{Addr}]" }
func (ReverseContinue) Layout() string { return "bc" }
func (ReverseStep) Layout() string     { return "bs" }
func (Resume) Layout() string          { return "vCont[;{Actions|;}]" }
func (QueryResume) Layout() string     { return "vCont?" }
func (ResumeSupported) Layout() string { return "vCont[;{Actions|;}]" }
func (NextStop) Layout() string        { return "vStopped" }
func (InterruptAll) Layout() string    { return "vCtrlC" }
func (FileResult) Layout() string      { return "F{Result}[,{Errno}]{Interrupted?,C}[;{Data}]" }

var resumeRules = []rule{
	{QueryHalt{}, stopReplies},
	{Continue{}, stopReplies},
	{ContinueSignal{}, stopReplies},
	{Step{}, stopReplies},
	{StepSignal{}, stopReplies},
	{ReverseContinue{}, stopReplies},
	{ReverseStep{}, stopReplies},
	{Resume{}, stopReplies},
	{QueryResume{}, []Packet{ResumeSupported{}}},
	{NextStop{}, stopReplies},
	{InterruptAll{}, []Packet{OK{}}},
	{FileResult{}, stopReplies},
}

// ResumeAction is an item of vCont.
type ResumeAction struct {
	// Kind is c, s, t (stop), r (step while the pc is in Range), or C and S, which
	// deliver Signal.
	Kind   byte
	Signal Octet
	Range  Range // End is exclusive
	// Thread is nil where the action is for all that no other action names.
	Thread *ThreadID
}

func (v *ResumeAction) scan(s *scanner) {
	c, _ := s.peek()
	if strings.IndexByte("cCsStr", c) < 0 {
		s.fail("one of the actions c, C, s, S, t, r")
		return
	}
	*v = ResumeAction{Kind: c}
	s.pos++
	switch c {
	case 'C', 'S':
		v.Signal.scan(s)
	case 'r':
		v.Range.scan(s)
	}
	if s.accept(":") {
		v.Thread = new(ThreadID)
		v.Thread.scan(s)
	}
}

func (v *ResumeAction) print(dst []byte) []byte {
	dst = append(dst, v.Kind)
	switch v.Kind {
	case 'C', 'S':
		dst = v.Signal.print(dst)
	case 'r':
		dst = v.Range.print(dst)
	}
	if v.Thread != nil {
		dst = v.Thread.print(append(dst, ':'))
	}
	return dst
}
