package experiment

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// run is the state of the present run, or what is known of the last one.
type run struct {
	on     bool
	reason rsp.StopReason
	number uint64 // of the tracepoint that ended it
	text   string // of StopError
	// start and end are microseconds since the epoch.
	start, end int64
	// reached: a hit has ended the run, of which the engine does not know yet. What
	// comes behind is dropped, but for the steps of that hit: stepsLeft of them,
	// of the thread tid at spec.
	reached   bool
	counted   bool // what the engine has counted is noted
	stepsLeft uint64
	spec      *Spec
	tid       int
	dropped   uint64
	damaged   uint64 // records that were none
	// last is where the hit before was: hits mostly repeat.
	last          *tracepoint
	scratch, tail []byte
}

func (x *Experiment) start(rsp.StartTrace) error {
	if x.run.on {
		return errors.New("the trace runs already")
	}
	if err := x.incomplete(); err != nil {
		return err
	}
	specs := make([]*Spec, len(x.tracepoints))
	for i, tp := range x.tracepoints {
		specs[i] = &tp.spec
		tp.tally = tally{}
		x.imply(tp)
	}
	vars := make([]Variable, len(x.variables))
	for i, v := range x.variables {
		vars[i] = v.Variable
		v.now = v.Value
	}
	x.buffer.clear()
	x.view, x.reading = view{}, reading{}
	x.stopNote = ""
	x.run = run{scratch: x.run.scratch, tail: x.run.tail, reason: x.run.reason}
	start := x.opt.Now().UnixMicro()
	x.engine.SetRoom(x.buffer.room())
	var all []error
	for i, err := range x.engine.Start(specs, vars) {
		if err != nil {
			all = append(all, fmt.Errorf("%v: %w", x.tracepoints[i].key, err))
		}
	}
	if err := errors.Join(all...); err != nil {
		return err
	}
	for _, tp := range x.tracepoints {
		tp.known = true
	}
	x.run.on, x.run.reason, x.run.start = true, rsp.StopNotGiven, start
	return nil
}

func (x *Experiment) stop(rsp.StopTrace) error {
	x.finish(rsp.StopRequested)
	return nil
}

// Running reports whether a run is under way.
func (x *Experiment) Running() bool { return x.run.on }

// Tick drains the engine and ends the run where a limit was reached or what is
// traced has gone.
func (x *Experiment) Tick() {
	if !x.run.on {
		return
	}
	// Asked before: what it collected until then is all that comes.
	gone, end := x.engine.Gone(), x.engine.Ended()
	x.engine.Drain(false, x.hit)
	if x.run.reached {
		x.keepCounts() // what the sites lose until they are stopped is none of the run's
	}
	switch last := end.Spec; {
	case x.run.reached && x.run.stepsLeft == 0:
		x.finish(x.run.reason)
	case end.Full:
		x.run.stepsLeft = 0
		x.finish(rsp.StopFull)
	case last != nil && last.Steps == 0 && !x.run.reached:
		// Its record may be kept back still, or there was no room for it.
		x.run.number = uint64(last.Number)
		x.finish(rsp.StopPassCount)
	case gone:
		x.run.text = "what is traced has ended"
		x.finish(rsp.StopError)
	}
}

// Disconnected handles the end of GDB's connection. It reports whether a run goes on.
func (x *Experiment) Disconnected() bool {
	if !x.disconnected {
		x.finish(rsp.StopDisconnected)
	}
	return x.run.on
}

// Close ends a run, for a server that ends.
func (x *Experiment) Close() { x.finish(rsp.StopDisconnected) }

// finish ends the run. A limit that was reached before is the reason, whatever it
// is asked for.
func (x *Experiment) finish(reason rsp.StopReason) {
	r := &x.run
	if !r.on {
		return
	}
	if err := x.engine.Stop(); err != nil {
		x.log("the end of the trace: %v", err)
	}
	x.engine.Drain(true, x.hit)
	r.on = false
	if !r.reached {
		r.reason, r.end = reason, x.opt.Now().UnixMicro()
	}
	r.end = max(r.end, r.start)
	x.keepCounts()
	for _, v := range x.variables {
		if now, ok := x.engine.Variable(v.Number); ok {
			v.now = now
		}
	}
}

// keepCounts notes what the engine has counted, at the end of the run.
func (x *Experiment) keepCounts() {
	if x.run.counted {
		return
	}
	x.run.counted = true
	for _, tp := range x.tracepoints {
		if tp.known {
			tp.counts = x.engine.Counts(&tp.spec)
		}
	}
}

// reach says that a hit has ended the run.
func (x *Experiment) reach(reason rsp.StopReason, number uint64, h *Hit) {
	r := &x.run
	if r.reached { // by its pass count; its steps found no room
		r.stepsLeft = 0
		return
	}
	r.reached, r.reason, r.number, r.end = true, reason, number, h.Time/1000
}

// hit takes one from the engine. The first that reaches a limit, in the order of
// time, ends the run.
func (x *Experiment) hit(h *Hit) {
	r := &x.run
	if r.reached && !x.lastStep(h) {
		r.dropped++
		return
	}
	tp := r.last
	if tp == nil || &tp.spec != h.Spec {
		if tp = x.bySpec[h.Spec]; tp == nil {
			return // of one that was refused while it was being armed
		}
		r.last = tp
	}
	if !h.Step {
		tp.hits++
	}
	if !x.collect(tp, h) {
		x.reach(rsp.StopFull, 0, h)
		return
	}
	if !h.Step && tp.pass != 0 && tp.hits == tp.pass {
		x.reach(rsp.StopPassCount, tp.number, h)
		r.stepsLeft, r.spec, r.tid = tp.spec.Steps, h.Spec, h.TID
	}
}

// lastStep reports whether a hit is one of the steps that belong to the hit that
// ended the run. When the thread hits again, its steps are over.
func (x *Experiment) lastStep(h *Hit) bool {
	r := &x.run
	if r.stepsLeft == 0 || h.TID != r.tid {
		return false
	}
	if !h.Step {
		r.stepsLeft = 0
		return false
	}
	if h.Spec != r.spec {
		return false
	}
	r.stepsLeft--
	return true
}

// collect keeps a hit and reports whether the buffer had room.
func (x *Experiment) collect(tp *tracepoint, h *Hit) bool {
	var body []byte
	if h.Layout != nil {
		whole := h.Layout.Whole(h.Record)
		if whole == nil {
			x.run.damaged++ // the program that is traced can write to its ring
			return true
		}
		body = whole[agentexpr.RecordHead:]
	}
	index := x.buffer.forms.of(tp, h, x.rip)
	f := x.buffer.forms.list[index]
	e := entry{time: uint64(h.Time), form: index, tid: int32(h.TID), cpu: int16(h.CPU)}
	switch {
	case h.Layout != nil:
		tp.unreadable += uint64(h.Layout.Failures(h.Record))
		if f.prints && x.opt.Print != nil {
			h.Layout.Printed(h.Record, x.print)
		}
	case h.Frame != nil:
		body = x.flatten(h.Frame, uint64(h.Time/1000))
		tp.unreadable += uint64(len(h.Frame.Failures))
		for i := range h.Frame.Blocks {
			if p := h.Frame.Blocks[i].Printed; p != nil {
				x.print(p)
			}
		}
	}
	x.run.tail = x.run.tail[:0]
	if h.PC != 0 || h.Static != "" {
		x.more(&e, f, h)
	}
	return x.buffer.add(e, body, x.run.tail)
}

// more makes the tail of a hit.
func (x *Experiment) more(e *entry, f *form, h *Hit) {
	b := x.run.tail
	if h.PC != 0 && h.PC != f.pc && f.rip < 0 {
		e.tail |= tailPC
		f.pcs = true
		b = binary.LittleEndian.AppendUint64(b, h.PC)
	}
	if h.Static != "" {
		e.tail |= tailText
		b = append(b, h.Static...)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(h.Static)))
	}
	x.run.tail = b
}

// flatten gives the bytes of a frame that was taken apart: they are valid until the
// next call. An R block has room for all registers, of which few were collected.
func (x *Experiment) flatten(f *agentexpr.Frame, now uint64) []byte {
	b := x.run.scratch[:0]
	for i := range f.Regs {
		b = append(b, f.Regs[i].Data...)
	}
	blocks := agentexpr.Frame{Blocks: f.Blocks}
	x.run.scratch = blocks.AppendBlocks(b, &x.regs, now)
	return x.run.scratch
}

func (x *Experiment) print(p *agentexpr.Printed) {
	if x.opt.Print != nil {
		x.opt.Print(p.String())
	}
}
