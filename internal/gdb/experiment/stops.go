package experiment

import (
	"slices"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
)

// Stops is what an engine needs to end a run at the hit that reaches a pass count or
// finds the buffer full: see agentexpr.Stop. It is made for runs whose programs set
// variables; for others it is soon enough to drop what comes behind the last hit, and
// their hits cost less.
type Stops struct {
	// Flag and Room are variables of the engine's.
	Flag, Room int64
	reserve    func() (index int64, ok bool)
	of         map[*Spec]*agentexpr.Stop
	list       []*Spec // Flag's value is an index, from 1; or Full
}

// Full is Flag's value when the buffer is full.
const Full = 1 << 32

// NotBegun is Flag's value while the programs of a run are being armed, for engines that arm
// them one after the other: hits do nothing then.
const NotBegun = 1 << 33

// NewStops prepares a run of the tracepoints of list. reserve takes a variable that is
// none of GDB's; its value is 0. Nil: no run needs it, or there is no variable left; then
// the reader of the hits decides.
func NewStops(list []*Spec, reserve func() (index int64, ok bool)) *Stops {
	if !slices.ContainsFunc(list, (*Spec).SetsVariables) {
		return nil
	}
	flag, ok := reserve()
	if !ok {
		return nil
	}
	room, ok := reserve()
	if !ok {
		return nil
	}
	return &Stops{Flag: flag, Room: room, reserve: reserve, of: map[*Spec]*agentexpr.Stop{}}
}

// Of returns the ending for the program of a tracepoint; nil: none.
func (x *Stops) Of(s *Spec) *agentexpr.Stop {
	if x == nil {
		return nil
	}
	if stop := x.of[s]; stop != nil {
		return stop
	}
	stop := &agentexpr.Stop{Flag: x.Flag, Pass: s.Pass, Room: x.Room, Beside: beside, Full: Full}
	if s.Pass > 0 {
		count, ok := x.reserve()
		if !ok {
			return nil
		}
		x.list = append(x.list, s)
		stop.Count, stop.Mark = count, int64(len(x.list))
	}
	x.of[s] = stop
	return stop
}

// Ending is what the value of Flag says.
func (x *Stops) Ending(flag uint64) Ending {
	switch {
	case flag == Full:
		return Ending{Full: true}
	case flag > 0 && flag <= uint64(len(x.list)):
		return Ending{Spec: x.list[flag-1]}
	}
	return Ending{}
}

// Ending is how a run ended at a hit: by the pass count of Spec, or by a full buffer. The zero Ending: it has
// not ended.
type Ending struct {
	Spec *Spec
	Full bool
}

// beside is what a frame costs in the buffer beside the bytes of its record.
const beside = frameCost - agentexpr.RecordHead

// RecordsCost is what the frames of n records, of so many bytes together, cost in the buffer.
func RecordsCost(n, bytes uint64) int64 { return int64(bytes + n*beside) }

// Cost is what a frame that was taken apart already costs in the buffer at most. text is
// the static tracepoint's.
func Cost(f *agentexpr.Frame, text string) int64 {
	n := frameCost + 8 // the pc of a step
	if text != "" {
		n += len(text) + 4
	}
	for i := range f.Regs {
		n += len(f.Regs[i].Data)
	}
	blocks := agentexpr.Frame{Blocks: f.Blocks}
	return int64(n + len(blocks.AppendBlocks(nil, &agentexpr.RegisterBlock{}, 0)))
}
