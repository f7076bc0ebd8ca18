package experiment

import (
	"errors"
	"fmt"

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
	// reached: a hit has ended the run, and the engine does not know it yet. Later hits are dropped, except
	// for the steps of that hit: stepsLeft of them, of the thread tid at spec.
	reached   bool
	counted   bool // what the engine has counted is noted
	stepsLeft uint64
	spec      *Spec
	tid       int
	dropped   uint64
	// last is where the hit before was: hits mostly repeat.
	last *tracepoint
}

// runner starts runs, takes their hits and ends them.
type runner struct {
	*base
	buffer    *buffer
	notes     *notes
	catalogue *catalogue
	variables *variables
	collector *collector
	view      *view
	reading   *reading
	run       run
}

func newRunner(x *Experiment, view *view, reading *reading) *runner {
	return &runner{
		base: x.base, buffer: x.buffer, notes: x.notes, catalogue: x.catalogue, variables: x.variables,
		collector: &collector{base: x.base, buffer: x.buffer}, view: view, reading: reading,
		run: run{reason: rsp.StopNeverRun},
	}
}

// packets are those that it handles.
func (x *runner) packets() []row {
	return []row{done("QTStart", "begins a run", x.start), done("QTStop", "ends it", x.stop)}
}

// leave leaves the selected frame and a read of the buffer, which is empty now.
func (x *runner) leave() { *x.view, *x.reading = view{}, reading{} }

func (x *runner) start(rsp.StartTrace) error {
	if x.run.on {
		return errors.New("the trace runs already")
	}
	if err := x.catalogue.incomplete(); err != nil {
		return err
	}
	specs := make([]*Spec, len(x.catalogue.list))
	for i, tp := range x.catalogue.list {
		specs[i] = &tp.spec
		tp.tally = tally{}
		x.variables.imply(tp)
	}
	vars := make([]Variable, len(x.variables.list))
	for i, v := range x.variables.list {
		vars[i] = v.Variable
		v.now = v.Value
	}
	x.buffer.clear()
	x.leave()
	x.notes.stop = ""
	x.run, x.collector.damaged = run{reason: x.run.reason}, 0
	start := x.opt.Now().UnixMicro()
	x.engine.SetRoom(x.buffer.room())
	var all []error
	for i, err := range x.engine.Start(specs, vars) {
		if err != nil {
			all = append(all, fmt.Errorf("%v: %w", x.catalogue.list[i].key, err))
		}
	}
	if err := errors.Join(all...); err != nil {
		return err
	}
	for _, tp := range x.catalogue.list {
		tp.known = true
	}
	x.run.on, x.run.reason, x.run.start = true, rsp.StopNotGiven, start
	return nil
}

func (x *runner) stop(rsp.StopTrace) error {
	x.finish(rsp.StopRequested)
	return nil
}

// Running reports whether a run is under way.
func (x *runner) Running() bool { return x.run.on }

// Tick drains the engine and ends the run where a limit was reached or what is
// traced has gone.
func (x *runner) Tick() {
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
func (x *runner) Disconnected() bool {
	if !x.notes.disconnected {
		x.finish(rsp.StopDisconnected)
	}
	return x.run.on
}

// Close ends a run, for a server that ends.
func (x *runner) Close() { x.finish(rsp.StopDisconnected) }

// finish ends the run. If a limit was reached before, that is the reason, whatever reason is given.
func (x *runner) finish(reason rsp.StopReason) {
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
	for _, v := range x.variables.list {
		if now, ok := x.engine.Variable(v.Number); ok {
			v.now = now
		}
	}
}

// keepCounts notes what the engine has counted, at the end of the run.
func (x *runner) keepCounts() {
	if x.run.counted {
		return
	}
	x.run.counted = true
	for _, tp := range x.catalogue.list {
		if tp.known {
			tp.counts = x.engine.Counts(&tp.spec)
		}
	}
}

// reach notes that a hit has ended the run.
func (x *runner) reach(reason rsp.StopReason, number uint64, h *Hit) {
	r := &x.run
	if r.reached { // by its pass count; its steps found no room
		r.stepsLeft = 0
		return
	}
	r.reached, r.reason, r.number, r.end = true, reason, number, h.Time/1000
}

// hit takes one from the engine. The first that reaches a limit, in the order of
// time, ends the run.
func (x *runner) hit(h *Hit) {
	r := &x.run
	if r.reached && !x.lastStep(h) {
		r.dropped++
		return
	}
	tp := r.last
	if tp == nil || &tp.spec != h.Spec {
		if tp = x.catalogue.bySpec[h.Spec]; tp == nil {
			return // of one that was refused while it was being armed
		}
		r.last = tp
	}
	if !h.Step {
		tp.hits++
	}
	if !x.collector.collect(tp, h) {
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
func (x *runner) lastStep(h *Hit) bool {
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
