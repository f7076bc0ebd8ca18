package event

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/ring"
)

// Record is a record from a ring.
type Record struct {
	CPU  int
	TSC  uint64
	Data []byte // including its header; valid until the callback that received it returns. Decode may change it
}

// Site returns the site that wrote the record.
func (r Record) Site() uint32 { return binary.LittleEndian.Uint32(r.Data[ring.RecSite:]) - 1 }

// Thread returns the thread pointer of the thread that wrote the record.
func (r Record) Thread() uint64 { return binary.LittleEndian.Uint64(r.Data[ring.RecThread:]) }

// Event is a decoded record. Like Raw it is valid until the callback that received it returns; then it is
// reused.
type Event struct {
	TimeNS int64  // CLOCK_MONOTONIC
	TSC    uint64 // the stamp from which TimeNS was computed
	CPU    int
	Pid    int
	Tid    int // 0 if the thread is unknown
	Comm   string
	Thread uint64 // thread pointer
	Schema *Schema
	Raw    []byte
	// Overwritten means that no hit can have had the record's stamp: the traced program has changed or forged
	// the record. TimeNS is the time at which it was read.
	Overwritten bool
	// Untimed: the record has no stamp (ring.ClockNone). TimeNS is the time at which it was read.
	Untimed bool
	// From and To, in ticks, enclose the time of the hit. They differ if the stamp is not that of the time stamp
	// counter; both are 0 at places of the kernel engine.
	From, To uint64
}

// KnowsThread reports whether Tid is known. The kernel's idle thread has the number 0.
func (ev *Event) KnowsThread() bool { return ev.Tid != 0 || ev.Schema.Kernel }

// Decoder decodes records to events. Its fields are set before use; Schemas may grow between calls.
type Decoder struct {
	Clock   *Clock
	Threads *Threads
	Pid     int
	Comm    string    // for unknown threads
	Schemas []*Schema // by site id; nil for an unknown site
	// Possible is the range of valid stamps in records of the in-process engine.
	Possible Span
	// Stamps is where the stamps are from. Doubt, if not nil, returns the time in ticks by which a stamp may be earlier
	// than its hit (ring.ClockCoarse), or the hit earlier than its stamp (ring.ClockNone).
	Stamps ring.Clock
	Doubt  func(stamp uint64) uint64

	// Stacks has the stacks to which records refer; nil: there are none.
	Stacks *ring.Stacks

	long    []byte // a record with its stack
	comm    string // of the last record of the kernel engine
	threads lookups
	segment segment
}

// Decode fills ev. It returns an error if the record does not match its schema.
func (d *Decoder) Decode(r Record, ev *Event) error {
	site := r.Site()
	if uint64(site) >= uint64(len(d.Schemas)) || d.Schemas[site] == nil {
		return fmt.Errorf("record of a site %d that does not exist", site)
	}
	s := d.Schemas[site]
	if len(r.Data) != s.RecordSize && (s.ShortSize == 0 || len(r.Data) != s.ShortSize) {
		return fmt.Errorf("record of %s has %d bytes instead of %d", s.Place, len(r.Data), s.RecordSize)
	}
	if s.StackNumber > 0 && len(r.Data) == s.ShortSize {
		r.Data = d.withStack(s, r.Data)
	}
	for _, e := range s.Elapsed {
		e.decode(r)
	}
	*ev = Event{TSC: r.TSC, CPU: r.CPU, Pid: d.Pid, Comm: d.Comm, Thread: r.Thread(), Schema: s, Raw: r.Data}
	if s.Kernel {
		d.kernel(ev)
		return nil
	}
	stamp := r.TSC
	if !d.Possible.Holds(stamp) {
		ev.Overwritten, stamp = true, d.Possible.To
	}
	if d.Clock != nil {
		ev.TimeNS = d.Clock.mono(&d.segment, stamp)
	}
	ev.Untimed = d.Stamps == ring.ClockNone
	ev.From, ev.To = d.enclose(stamp)
	d.FindThread(ev)
	return nil
}

// enclose returns the earliest and the latest time of a hit.
func (d *Decoder) enclose(stamp uint64) (from, to uint64) {
	if d.Doubt == nil {
		return stamp, stamp
	}
	doubt := d.Doubt(stamp)
	if d.Stamps == ring.ClockNone {
		return stamp - min(doubt, stamp), stamp
	}
	return stamp, stamp + doubt
}

// FindThread finds the thread of a decoded event, once more if Threads has changed. (A record is decoded once only:
// Elapsed changes its bytes.)
func (d *Decoder) FindThread(ev *Event) {
	if d.Threads == nil {
		return
	}
	if th, ok := d.thread(ev); ok {
		ev.Tid, ev.Comm = th.Tid, th.Comm
	}
}

// decode changes the slot in the record.
func (e Elapsed) decode(r Record) {
	if e.Offset < 0 || e.Offset+8 > len(r.Data) || e.Status >= len(r.Data) || e.Status >= 0 && Status(r.Data[e.Status]) != OK {
		return
	}
	slot := r.Data[e.Offset:]
	ticks := r.TSC - min(r.TSC, binary.LittleEndian.Uint64(slot))
	binary.LittleEndian.PutUint64(slot, uint64(float64(ticks)*e.Rate))
}

// thread finds the thread of a record of the in-process engine.
func (d *Decoder) thread(ev *Event) (Thread, bool) {
	if ev.From == ev.To {
		return d.Threads.lookup(&d.threads, ev.Thread, ev.To)
	}
	return d.Threads.within(&d.threads, ev.Thread, ev.From, ev.To)
}

// kernel decodes the header of a record of the kernel engine.
func (d *Decoder) kernel(ev *Event) {
	ev.TimeNS = int64(ev.TSC)
	ev.Pid, ev.Tid = int(ev.Thread>>32), int(uint32(ev.Thread))
	name, ok := ev.slot(ev.Schema.CommOffset, commSize)
	if !ok || ev.Schema.CommOffset == 0 {
		return
	}
	if n := bytes.IndexByte(name, 0); n >= 0 {
		name = name[:n]
	}
	if string(name) != d.comm { // most records are from the same thread as the previous one
		d.comm = string(name)
	}
	ev.Comm = d.comm
}

// commSize is the size of a thread's name in a record.
const commSize = 16

// Value is the value of a field in an event, or the reason why there is none.
type Value struct {
	Field     *Field
	Status    Status // never Truncated: see below
	Addr      uint64 // Unreadable: the address; OK: the address of the value if the field has it, otherwise 0
	Data      []byte // OK: the value's bytes; Regs and Stack: the words of the registers; frames: u64 addresses; SData: the record
	Truncated bool   // OK, but longer than its slot
	// Str is the string at a char*, if the field has a slot for it.
	Str *String
	// End, of frames that were followed at the hit, is the number of the reason of their end (unwind.End).
	End uint8
	// Counts are the numbers of elements in each dimension of an array with a Grid, the one that runs fastest first. Data
	// has the elements one behind the other.
	Counts []int64
	// Stack is the copy of the stack from the stack pointer upwards (kind Stack).
	Stack []byte

	event *Event // that has the value
}

// Frames returns the addresses in a value of kind KernelFrames or UserFrames,
// innermost first.
func (v *Value) Frames() []uint64 {
	list := make([]uint64, 0, len(v.Data)/8)
	for b := v.Data; len(b) >= 8; b = b[8:] {
		list = append(list, binary.LittleEndian.Uint64(b))
	}
	return list
}

// String is the string of a char* value.
type String struct {
	Status    Status
	Addr      uint64
	Data      []byte
	Truncated bool
}

// The flags of a Counted slot.
const (
	flagTruncated = 1
	flagCut       = 2 // a later byte could not be read
	endBit        = 8 // Value.End
)

// regsSize is the size of Regs.
var regsSize = 8 * len(host.Processor.Dump)

// Value returns field i of the event. If a slot is outside the record (with the schema of another record), the
// status is Unsupported.
func (e *Event) Value(i int) Value {
	return e.valueOf(&e.Schema.Fields[i])
}

func (e *Event) valueOf(f *Field) Value {
	if f.Copied != nil && len(e.Raw) == e.Schema.RecordSize {
		f = f.Copied
	}
	v := Value{Field: f, Status: f.Static, event: e}
	if f.Static != OK || f.Kind == Header {
		return v
	}
	slot, ok := e.slot(f.Offset, f.Size)
	if !ok {
		v.Status = Unsupported
		return v
	}
	v.Status, v.Truncated = e.status(f.StatusOffset)
	if v.Status != OK {
		// The slot of a value that can fail always has room for an address.
		if at, ok := e.slot(f.Offset, 8); ok && v.Status == Unreadable {
			v.Addr = binary.LittleEndian.Uint64(at)
		}
		return v
	}
	switch f.Kind {
	case Fixed:
		v.Data = slot
	case Counted, KernelFrames, UserFrames, SData:
		v.count(slot)
		if f.Grid != nil {
			v.spread(f.Grid)
		}
	case Regs, Stack:
		if len(slot) < regsSize {
			v.Status = Unsupported
			return v
		}
		v.Data = slot[:regsSize]
		if f.Kind == Stack {
			rest := Value{}
			rest.count(slot[regsSize:])
			v.Stack, v.Truncated = rest.Data, rest.Truncated
		}
	}
	if f.StrSize > 0 {
		v.Str = e.str(f)
	}
	if f.AddrOffset > 0 {
		if at, ok := e.slot(f.AddrOffset, 8); ok {
			v.Addr = binary.LittleEndian.Uint64(at)
		}
	}
	return v
}

func (e *Event) str(f *Field) *String {
	s := e.counted(f.StrOffset, f.StrSize, f.StrStatusOffset)
	return &s
}

// counted reads a Counted slot with a status.
func (e *Event) counted(at, size, status int) (s String) {
	slot, ok := e.slot(at, size)
	if !ok {
		return String{Status: Unsupported}
	}
	s.Status, s.Truncated = e.status(status)
	if s.Status == Unreadable && len(slot) >= 8 {
		s.Addr = binary.LittleEndian.Uint64(slot)
	}
	if s.Status == OK {
		v := Value{Truncated: s.Truncated}
		v.count(slot)
		s.Data, s.Truncated, s.Status = v.Data, v.Truncated, v.Status
	}
	return s
}

func (e *Event) slot(off, size int) ([]byte, bool) {
	if off < 0 || size < 0 || off > len(e.Raw) || size > len(e.Raw)-off {
		return nil, false
	}
	return e.Raw[off : off+size], true
}

func (e *Event) status(off int) (Status, bool) {
	if off < 0 || off >= len(e.Raw) {
		return OK, false
	}
	if s := Status(e.Raw[off]); s != Truncated {
		return s, false
	}
	return OK, true
}

// count reads a Counted slot. It checks the length, because the traced program can write it.
func (v *Value) count(slot []byte) {
	if len(slot) < 8 {
		v.Status = Unsupported
		return
	}
	n := binary.LittleEndian.Uint32(slot)
	flags := binary.LittleEndian.Uint32(slot[4:])
	slot = slot[8:]
	v.Data = slot[:min(uint64(n), uint64(len(slot)))]
	v.End = uint8(flags >> endBit)
	v.Truncated = v.Truncated || flags&(flagTruncated|flagCut) != 0
}

// Explain returns the reason why there is no value ("unreadable address 0x10"), or "" for OK.
func Explain(s Status, addr uint64, reason string) string {
	switch s {
	case OK:
		return ""
	case Unreadable:
		return fmt.Sprintf("unreadable address %#x", addr)
	case DivideByZero:
		return "division by zero"
	case OptimisedOut:
		return orElse(reason, "optimised out")
	case Truncated:
		return "truncated"
	case NoEntry:
		return "the entry of this call was not seen"
	case FailedAtEntry:
		return "it could not be read at the entry"
	case NotAllocated:
		return "not allocated"
	case NotAssociated:
		return "not associated"
	case OtherFrame:
		return "not known in this caller"
	case BadBounds:
		return orElse(reason, "the number of elements is negative or too large")
	case BadIndex:
		return orElse(reason, "the index is not below the number of elements")
	}
	return orElse(reason, "not available")
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}

// Explain returns the reason why v has no value, or "".
func (v *Value) Explain() string { return Explain(v.Status, v.Addr, v.Field.Reason) }
