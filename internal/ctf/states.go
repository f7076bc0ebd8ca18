package ctf

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// States is what the state stream of a trace has.
type States struct {
	Processes []StateProcess
	Mappings  []Mapping
	Files     []OpenFile
	CPUs      []CPU
	// Interrupts are absent in traces that were made before they were read.
	Interrupts []Interrupt
	// Spans are the times of all dumps.
	Spans []Span
	// Dumped: a state dump was completed; Unread is how many things it could not read.
	Dumped bool
	Unread uint32

	// Again, if not nil, names the frames of a stack again when they are needed first: with debug information that jalon did not find
	// while it recorded.
	Again func([]debuginfo.Frame) []debuginfo.Frame

	// Symbols, if not nil, returns what names addresses in the memory of a process ("": it is not known), or nil.
	Symbols func() func(pid int, addr uint64) string

	threads map[int][]Thread // by tid, in order of Since
	stacks  map[uint32][]debuginfo.Frame
	torn    bool            // some are missing, behind which there are others
	named   map[uint32]bool // stacks that Again has had
}

func newStates() *States {
	return &States{threads: map[int][]Thread{}, stacks: map[uint32][]debuginfo.Frame{}}
}

// Frames returns the frames of a stack, innermost first; nil if it is not known. They must not be changed.
func (s *States) Frames(number uint32) []debuginfo.Frame {
	if s.Again != nil && !s.named[number] {
		if s.named == nil {
			s.named = map[uint32]bool{}
		}
		s.named[number] = true
		s.stacks[number] = s.Again(s.stacks[number])
	}
	return s.stacks[number]
}

// Threads returns the threads that events are from, or that a state dump has, each with its names.
func (s *States) Threads() map[int][]Thread { return s.threads }

// names are the names of a thread. If some may be missing there are none, since an old one would be taken for that of later events.
func (s *States) names(tid int) []Thread {
	if s.torn {
		return nil
	}
	return s.threads[tid]
}

// Name returns the name of a thread at a time, "" if it is not known.
func (s *States) Name(tid int, at int64) string {
	list := s.names(tid)
	i, ok := slices.BinarySearchFunc(list, at, func(t Thread, at int64) int { return cmp.Compare(t.Since, at) })
	switch {
	case len(list) == 0:
		return ""
	case ok:
		for i+1 < len(list) && list[i+1].Since == at {
			i++
		}
		return list[i].Name
	case i == 0:
		return list[0].Name
	}
	return list[i-1].Name
}

// readStates reads the state streams whole: they are small.
func (t *Trace) readStates() error {
	for _, s := range t.streams {
		if s.class != State {
			continue
		}
		// A recording that was killed has no events behind the last whole packet of its state.
		t.State.torn = t.State.torn || s.holes || s.cut && t.Summary != nil
		for i := range s.packets {
			b := make([]byte, s.packets[i].size)
			ok, err := s.read(&s.packets[i], b)
			if err != nil {
				return err
			}
			if !ok {
				t.Damage = append(t.Damage, fmt.Sprintf("%s: packet %d is damaged; stacks and states that it had are missing, and threads have no names", s.name, i))
				t.State.torn = true
				continue
			}
			if !t.State.packet(b[packetHead:], uint64(s.packets[i].begin)) {
				t.Damage = append(t.Damage, fmt.Sprintf("%s: packet %d has an event that cannot be", s.name, i))
				break
			}
		}
	}
	for tid, list := range t.State.threads {
		slices.SortStableFunc(list, func(a, b Thread) int { return cmp.Compare(a.Since, b.Since) })
		t.State.threads[tid] = slices.CompactFunc(list, func(a, b Thread) bool { return a.Name == b.Name && a.Pid == b.Pid })
	}
	return nil
}

// packet reads a packet of the state stream.
func (s *States) packet(b []byte, time uint64) bool {
	in := input{b: b}
	for len(in.b) > 0 {
		word := in.u32()
		id := word & (1<<compactIDs - 1)
		if id == 1<<compactIDs-1 { // extended: the byte of the id, a u32 and a u64
			in.b = b[len(b)-len(in.b)-3:]
			id, time = in.u32(), in.u64()
		} else {
			time = wrap(time, uint64(word>>compactIDs), compactTime)
		}
		if in.bad || !s.event(id, int64(time), &in) || in.bad {
			return false
		}
	}
	return true
}

// wrap is the time behind a time of which the low bits are known.
func wrap(last, low uint64, bits uint) uint64 {
	mask := uint64(1)<<bits - 1
	return last + (low-last)&mask
}

func (in *input) i32() int { return int(int32(in.u32())) }

func (in *input) str() string { return string(in.text()) }

// stack reads a stack. found: its frames have build-ids.
func (s *States) stack(in *input, found bool) bool {
	number, n := in.u32(), in.u32()
	if uint64(n)*25 > uint64(len(in.b)) {
		return false
	}
	frames := make([]debuginfo.Frame, 0, n)
	for range n {
		f := debuginfo.Frame{PC: in.u64(), Offset: in.u64(), Line: int(in.u32()), Inlined: in.u8() != 0}
		f.Function, f.File, f.Module, f.Cut = in.str(), in.str(), in.str(), in.str()
		if found {
			f.BuildID, f.Address, f.Caller = in.str(), in.u64(), in.u8() != 0
		}
		frames = append(frames, f)
	}
	s.stacks[number] = frames
	return true
}

func (s *States) event(id uint32, now int64, in *input) bool {
	switch id {
	case stateThread:
		t := Thread{Since: int64(in.u64()), Tid: in.i32(), Pid: in.i32(), Name: in.str()}
		s.threads[t.Tid] = append(s.threads[t.Tid], t)
	case statePlainStack, stateStack:
		return s.stack(in, id == stateStack)
	case stateBegin:
		s.Processes, s.Mappings, s.Files, s.CPUs, s.Interrupts, s.Dumped = nil, nil, nil, nil, nil, false
	case stateEnd:
		s.Dumped, s.Unread = true, in.u32()
	case stateProcess:
		s.Processes = append(s.Processes, StateProcess{Pid: in.i32(), Parent: in.i32(), UID: in.u32(), Name: in.str(), Program: in.str(), Command: in.str()})
	case stateMapping:
		s.Mappings = append(s.Mappings, Mapping{Pid: in.i32(), Start: in.u64(), End: in.u64(), Offset: in.u64(), Path: in.str(), BuildID: in.str()})
	case stateFile:
		s.Files = append(s.Files, OpenFile{Pid: in.i32(), FD: in.i32(), Path: in.str()})
	case stateCPU:
		s.CPUs = append(s.CPUs, CPU{in.i32(), in.i32(), in.i32(), in.i32()})
	case stateTask:
		t := Thread{Since: now, Pid: in.i32(), Tid: in.i32(), Name: in.str()}
		s.threads[t.Tid] = append(s.threads[t.Tid], t)
	case stateSpan:
		s.Spans = append(s.Spans, Span{int64(in.u64()), int64(in.u64())})
	case stateInterrupt:
		s.Interrupts = append(s.Interrupts, Interrupt{in.i32(), in.str(), in.str()})
	default:
		return false
	}
	return true
}
