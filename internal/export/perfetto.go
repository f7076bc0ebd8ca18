package export

import (
	"io"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/format"
	"github.com/jalon-trace/jalon/internal/report"
)

var _ = add(Format{Name: "perfetto", Doc: "for ui.perfetto.dev and its trace processor", Write: writePerfetto})

// Numbers of fields in Perfetto's messages (protos/perfetto/trace in its repository).
const (
	tracePacket = 1

	packetClockSnapshot = 6
	packetTimestamp     = 8
	packetSequence      = 10
	packetTrackEvent    = 11
	packetInterned      = 12
	packetFlags         = 13
	packetDefaults      = 59
	packetTrack         = 60

	defaultsClock = 58

	snapshotClock, snapshotPrimary = 1, 2
	clockID, clockTime             = 1, 2
	clockRealtime, clockMonotonic  = 1, 3

	trackUUID, trackName, trackProcess, trackThread = 1, 2, 3, 4
	processPid, processName                         = 1, 6
	threadPid, threadTid, threadName                = 1, 2, 5

	internedEventNames, internedKeys = 2, 3
	internedID, internedName         = 1, 2

	eventAnnotation, eventType, eventNameID, eventTrack, eventText = 4, 9, 10, 11, 23
	typeInstant                                                    = 3

	noteKey, noteBool, noteUint, noteInt, noteDouble, noteText, notePointer, noteJSON = 1, 2, 3, 4, 5, 6, 7, 9

	stateCleared, needsState = 1, 2
	sequence                 = 1

	completeTrack = 1 // those of threads and processes have other numbers
)

// perfetto writes a track for each process and thread, and an instant event with its fields for each event. Names are written once and
// referred to by numbers. Times are CLOCK_MONOTONIC; a clock snapshot has the wall clock.
type perfetto struct {
	output
	r       *report.Reader
	simples *format.Simples
	plans   map[*event.Schema]*plan
	names   map[string]uint64
	keys    map[string]uint64
	tracks  map[[2]int]string // the names of the threads' tracks
	begun   map[int]bool      // processes
	// complete is from which time on all events are there; 0: that is known to the viewer
	complete int64

	packet, event, note message
	field               event.Value // here to avoid an allocation for each field
}

func writePerfetto(w io.Writer, r *report.Reader, _ *Options) error {
	p := &perfetto{
		output: output{w: w}, r: r, simples: format.NewSimples(&format.Trace{Unwind: r.Unwind, Symbol: r.Symbol()}), plans: map[*event.Schema]*plan{},
		names: map[string]uint64{}, keys: map[string]uint64{}, tracks: map[[2]int]string{}, begun: map[int]bool{},
	}
	p.begin()
	p.complete = r.Incomplete()
	if err := r.Each(p.add); err != nil {
		return err
	}
	return p.flush()
}

// put ends the packet.
func (p *perfetto) put() {
	p.packet.uint(packetSequence, sequence)
	out := message(p.buf)
	out.bytes(tracePacket, p.packet)
	p.buf, p.packet = out, p.packet[:0]
}

// begin writes the clocks.
func (p *perfetto) begin() {
	first, _, _ := p.r.Trace.Span()
	var snapshot message
	for _, c := range [][2]uint64{{clockMonotonic, uint64(first)}, {clockRealtime, uint64(first + p.r.Trace.Info.WallOffset)}} {
		var clock message
		clock.uint(clockID, c[0])
		clock.uint(clockTime, c[1])
		snapshot.bytes(snapshotClock, clock)
	}
	snapshot.uint(snapshotPrimary, clockMonotonic)
	p.packet.bytes(packetClockSnapshot, snapshot)
	p.put()
	var defaults message
	defaults.uint(defaultsClock, clockMonotonic)
	p.packet.uint(packetFlags, stateCleared)
	p.packet.bytes(packetDefaults, defaults)
	p.put()
}

// markComplete writes an event on a track of its own at the time from which on all events are there.
func (p *perfetto) markComplete() {
	var track, mark message
	track.uint(trackUUID, completeTrack)
	track.text(trackName, completeName)
	p.packet.bytes(packetTrack, track)
	p.put()
	mark.uint(eventType, typeInstant)
	mark.uint(eventTrack, completeTrack)
	mark.text(eventText, completeText)
	p.packet.uint(packetTimestamp, uint64(p.complete))
	p.packet.uint(packetFlags, needsState)
	p.packet.bytes(packetTrackEvent, mark)
	p.put()
	p.complete = 0
}

func (p *perfetto) add(ev *event.Event) error {
	if p.complete != 0 && ev.TimeNS >= p.complete {
		p.markComplete()
	}
	x := p.plans[ev.Schema]
	if x == nil {
		x = p.plan(ev.Schema)
	}
	if name, ok := p.tracks[[2]int{ev.Pid, ev.Tid}]; !ok || name != ev.Comm {
		p.track(ev)
	}
	e := p.event[:0]
	read := -1
	for i := range x.leaves {
		l := &x.leaves[i]
		if l.Index != read {
			read, p.field = l.Index, ev.Value(l.Index)
		}
		if p.note = p.note[:0]; p.value(x.keys[i], ev, l) {
			e.bytes(eventAnnotation, p.note)
		}
	}
	e.uint(eventType, typeInstant)
	e.uint(eventNameID, x.name)
	e.uint(eventTrack, threadTrack(ev.Pid, ev.Tid))
	p.event = e
	p.packet.uint(packetTimestamp, uint64(ev.TimeNS))
	p.packet.uint(packetFlags, needsState)
	p.packet.bytes(packetTrackEvent, e)
	p.put()
	return p.room()
}

// value makes the annotation of a value of the field that was read. One that is missing has the reason as text.
func (p *perfetto) value(key uint64, ev *event.Event, l *format.Leaf) bool {
	p.note.uint(noteKey, key)
	switch s := p.simples.Leaf(ev, &p.field, l); s.Kind {
	case format.SimpleInt:
		p.note.uint(noteInt, uint64(s.Int))
	case format.SimpleUint:
		p.note.uint(noteUint, s.Uint)
	case format.SimpleBool:
		p.note.uint(noteBool, min(s.Uint, 1))
	case format.SimpleFloat:
		p.note.double(noteDouble, s.Float)
	case format.SimplePointer:
		p.note.uint(notePointer, s.Uint)
	case format.SimpleText:
		p.note.text(noteText, utf8Text(s.Text))
	case format.SimpleJSON:
		p.note.text(noteText, utf8Text(s.Text))
	default:
		why := p.field.Explain()
		if why == "" {
			return false
		}
		p.note.text(noteText, "<"+why+">")
	}
	return true
}

// plan gives the names of a schema their numbers.
func (p *perfetto) plan(s *event.Schema) *plan {
	x := &plan{leaves: format.LeavesOf(s)}
	var interned message
	name := func(known map[string]uint64, field uint64, text string) uint64 {
		text = utf8Text([]byte(text))
		n, ok := known[text]
		if !ok {
			n = uint64(len(known)) + 1
			known[text] = n
			var entry message
			entry.uint(internedID, n)
			entry.text(internedName, text)
			interned.bytes(field, entry)
		}
		return n
	}
	x.name = name(p.names, internedEventNames, eventName(s))
	for i := range x.leaves {
		x.keys = append(x.keys, name(p.keys, internedKeys, x.leaves[i].Name))
	}
	if len(interned) > 0 {
		p.packet.uint(packetFlags, needsState)
		p.packet.bytes(packetInterned, interned)
		p.put()
	}
	p.plans[s] = x
	return x
}

// threadTrack is the number of a thread's track, processTrack that of a process's.
func threadTrack(pid, tid int) uint64 {
	return 2<<62 | uint64(uint32(pid))<<31 | uint64(uint32(tid))&(1<<31-1)
}

func processTrack(pid int) uint64 { return 1<<62 | uint64(uint32(pid)) }

// track describes the thread of an event, again if its name has changed.
func (p *perfetto) track(ev *event.Event) {
	if !p.begun[ev.Pid] {
		p.begun[ev.Pid] = true
		var process, track message
		process.uint(processPid, uint64(int64(int32(ev.Pid))))
		process.text(processName, utf8Text([]byte(p.r.Trace.State.Name(ev.Pid, ev.TimeNS))))
		track.uint(trackUUID, processTrack(ev.Pid))
		track.bytes(trackProcess, process)
		p.packet.bytes(packetTrack, track)
		p.put()
	}
	p.tracks[[2]int{ev.Pid, ev.Tid}] = ev.Comm
	var thread, track message
	thread.uint(threadPid, uint64(int64(int32(ev.Pid))))
	thread.uint(threadTid, uint64(int64(int32(ev.Tid))))
	thread.text(threadName, utf8Text([]byte(ev.Comm)))
	track.uint(trackUUID, threadTrack(ev.Pid, ev.Tid))
	track.bytes(trackThread, thread)
	p.packet.bytes(packetTrack, track)
	p.put()
}
