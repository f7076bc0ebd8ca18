package threads

import (
	"flag"
	"os"
	"slices"
	"sort"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

var seedFlag = flag.Int64("threads.seed", 0, "seed of the first life of TestRandom; 0: by JALON_SEED")

// take has the driver take a report of the kernel, in whatever order.
func (w *model) take() bool {
	k := w.pick(w.living(func(k *kthread) bool { return k.report != nil && !w.leaderWaits(k) }))
	if k == nil {
		return false
	}
	w.handle(w.wait(k))
	return true
}

func (w *model) handle(r Report) {
	if w.tb.Asks(r) {
		if k := w.k[r.TID]; k != nil {
			r.TGID = k.tgid
		}
	}
	w.note("report %d kind %d sig %d", r.TID, r.Kind, r.Signal)
	t, do := w.tb.Report(r)
	w.execute(do)
	if t != nil && r.Kind != Ended {
		w.execute(w.tb.Handled(t))
	}
	w.check()
}

func (w *model) execute(do []Effect[*Thread]) {
	for i, e := range do {
		w.note("  effect %d of %d, %v", e.Op, e.T.TID, e.T.State)
		if last := i == len(do)-1; !last && (e.Op >= HandleSignal && e.Op <= HandleExec) {
			w.fail("effect %d is not the last one", e.Op)
		}
		w.one(e)
	}
}

func (w *model) one(e Effect[*Thread]) {
	t, k := e.T, w.k[e.T.TID]
	switch e.Op {
	case ReportBorn, NumberBirth:
		if k != nil {
			k.born++
		}
	case ReportDied:
		if k != nil {
			if k.died++; k.died > 1 {
				w.fail("%d died %d times", t.TID, k.died)
			}
		}
	case HandleSignal:
		t.Sig = e.Signal
		if w.r.Intn(4) == 0 {
			t.Hold |= HoldCaller
		} else if w.r.Intn(4) == 0 {
			w.tb.NeedExclusive(t)
		}
	case FindChild:
		if k == nil || k.made == nil {
			return // killed: the kernel does not say
		}
		c := k.made
		k.made = nil
		if _, do, ok := w.tb.Birth(t, c.tid, k.flags, e.Clone, w.debug); ok {
			w.execute(do)
		}
	case Requeue:
		w.queue = append(w.queue, e.Report)
	case RestoreCopy:
		t.Leaving = true
	case ReleaseCopy:
		w.release(t)
	case Forget:
		w.detach(t)
	case HandleExec:
		w.tb.Expect(w.children())
		w.orphans()
	case Finish:
		w.ends++
		w.tb.Finished = true
		w.orphans()
	case LetExit:
		if k != nil && k.taken {
			k.ends()
		}
	case Resume:
		w.resume(t)
	}
}

func (w *model) resume(t *Thread) {
	if !w.tb.MayResume(t) {
		return
	}
	if w.tb.Frozen > 0 || t.Hold != 0 || !w.tb.Has(t) {
		w.fail("%d is resumed: %+v", t.TID, t)
	}
	if k := w.k[t.TID]; k != nil && k.taken { // else it was killed
		for _, c := range w.k {
			if c.vforks && c.creator == k && !c.detached && !t.Apart() {
				w.fail("%d is resumed while %d borrows its memory", k.tid, c.tid)
			}
		}
		k.taken, k.runs = false, t.Stop != StopGroup || w.r.Intn(2) == 0
		if k.interrupted {
			k.interrupted = false
			k.stop(TrapStop, 0)
		} else if !k.runs { // listens, until SIGCONT
			k.report = &Report{TID: k.tid, Kind: TrapStop}
		}
	}
	w.tb.Resumed(t)
}

func (w *model) release(t *Thread) {
	t.Leaving = true
	w.tb.Remove(t.TID)
	w.detach(t)
}

func (w *model) detach(t *Thread) {
	if k := w.k[t.TID]; k != nil {
		if !k.taken && k.report == nil && !k.dead {
			w.fail("%d is detached from while it runs", t.TID)
		}
		k.detached = true
	}
}

func (w *model) orphans() {
	for _, r := range w.tb.Early() {
		w.handle(r)
	}
	for _, t := range w.tb.Orphans() {
		if !w.tb.Has(t) || t.State == Exiting {
			continue
		}
		if t.State != Stopped {
			k := w.k[t.TID]
			if w.tb.Interrupt(t) && k != nil {
				k.interrupt()
			}
			if k == nil {
				continue
			}
			if k.report == nil {
				continue // inside exec, or queued already
			}
			w.handle(w.wait(k))
		}
		if w.tb.Has(t) && t.State == Stopped {
			w.release(t)
		}
	}
}

// freeze stops the world as package process does.
func (w *model) freeze() {
	w.tb.Frozen++
	for range 10_000 {
		waiting := w.tb.Awaited()
		if len(waiting) == 0 || w.tb.Finished {
			return
		}
		sort.Slice(waiting, func(i, j int) bool { return waiting[i].TID < waiting[j].TID })
		for _, t := range waiting {
			k := w.k[t.TID]
			if w.tb.Interrupt(t) && k != nil {
				k.interrupt()
			}
			if k == nil || k.dead || k.execs {
				w.execute(w.tb.Sleeps(t, "DZ"[b2i(k == nil || k.dead)]))
			}
		}
		if !w.drain() && !w.take() {
			break
		}
	}
	for _, t := range w.tb.Awaited() {
		if k := w.k[t.TID]; k != nil && k.report == nil && !w.queued(t.TID) {
			w.fail("%d does not stop: %+v, %+v", t.TID, t, k)
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (w *model) queued(tid int) bool {
	for _, r := range w.queue {
		if r.TID == tid {
			return true
		}
	}
	return false
}

func (w *model) thaw() {
	if !w.tb.Thaw() {
		return
	}
	for _, t := range w.sorted() {
		w.resume(t)
	}
	w.exclusive()
}

func (w *model) sorted() (list []*Thread) {
	for _, t := range w.tb.All() {
		list = append(list, t)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].TID < list[j].TID })
	return list
}

// exclusive makes the exclusive steps that are due.
func (w *model) exclusive() {
	if !w.tb.ExclusiveDue() {
		return
	}
	w.freeze()
	for {
		t, ok := w.tb.NextExclusive()
		if !ok {
			break
		}
		for _, o := range w.tb.All() {
			if k := w.k[o.TID]; o != t && !o.Apart() && !w.tb.Finished && k != nil && k.runs && o.State != Exiting {
				w.fail("%d runs during an exclusive step of %d", o.TID, t.TID)
			}
		}
		t.Hold &^= HoldExclusive
	}
	w.thaw()
}

func (w *model) drain() bool {
	if len(w.queue) == 0 {
		return false
	}
	r := w.queue[0]
	w.queue = w.queue[1:]
	w.handle(r)
	return true
}

// check is what holds after each report.
func (w *model) check() {
	w.t.Helper()
	for tid, t := range w.tb.All() {
		k := w.k[tid]
		switch {
		case t.TID != tid:
			w.fail("%d is listed as %d", t.TID, tid)
		case k == nil || k.detached:
		case t.State == Stopped && k.runs:
			w.fail("%d runs and is thought to be stopped: %+v", tid, t)
		case (t.State == Running || t.State == Parked) && k.taken && !w.queued(tid):
			w.fail("%d is stopped and is thought to run: %+v", tid, t)
		}
	}
	for tid, k := range w.k {
		_, early := w.tb.early[tid]
		if k.taken && !k.detached && !k.dead && w.tb.Get(tid) == nil && !early && !w.queued(tid) && !w.tb.Finished {
			w.fail("%d is stopped, and lost", tid)
		}
	}
}

// settle takes everything that there is, and looks whether threads are forgotten.
func (w *model) settle() {
	for w.drain() || w.take() {
	}
	w.exclusive()
	for w.drain() || w.take() {
	}
	if w.tb.Frozen != 0 || w.tb.Finished {
		return
	}
	for _, t := range w.sorted() {
		k := w.k[t.TID]
		if t.State == Stopped && t.Hold == 0 {
			w.fail("%d is stopped for no reason: %+v", t.TID, t)
		}
		if t.State == Starting && k == nil {
			w.fail("%d is awaited for ever", t.TID)
		}
		if c := w.k[t.VforkChild]; t.Hold&HoldVfork != 0 && (c == nil || !c.vforks) {
			w.fail("%d waits for %d, which has left its memory", t.TID, t.VforkChild)
		}
	}
	for tid := range w.tb.early {
		for _, k := range w.k {
			if k.made != nil && k.made.tid == tid {
				return
			}
		}
		if !w.unclaimed[tid] {
			w.fail("%d waits for the event of a creator that has none", tid)
		}
	}
}

func (w *model) step() {
	switch n := w.r.Intn(12); {
	case n < 5:
		w.act()
	case n < 8:
		w.take()
	case n < 9:
		w.drain()
	case n < 10: // Resume, of the caller
		for _, t := range w.sorted() {
			if t.Hold&HoldCaller != 0 {
				t.Hold &^= HoldCaller
				w.resume(t)
			}
		}
	case w.tb.Finished:
	case n < 11:
		w.freeze()
		w.check()
		w.freeze() // as an injected call in a stopped world does
		w.thaw()
		if late := w.tb.Awaited(); len(late) > 0 && !w.tb.Finished {
			w.fail("%d runs in a stopped world", late[0].TID)
		}
		w.thaw()
	default:
		w.settle()
	}
}

// life is one process from its first instruction to its end; it gives what happened.
func life(t *testing.T, seed int64) []string {
	w := newModel(t, seed)
	for range 30 + w.r.Intn(200) {
		w.step()
		if w.tb.Finished {
			break
		}
	}
	for _, th := range w.sorted() { // no thread is to be left behind
		th.Hold &^= HoldCaller
		w.resume(th)
	}
	w.settle()
	for _, k := range w.living(func(*kthread) bool { return !w.tb.Finished }) {
		k.execs = false
		if k.report == nil || k.report.Kind != Ended {
			k.ends() // SIGKILL
		}
	}
	for w.drain() || w.take() {
	}
	if w.ends != 1 || w.tb.AnyMember() {
		w.fail("the process ended %d times; members %v", w.ends, w.tb.AnyMember())
	}
	return w.log
}

// TestRandom applies random lives of processes to the table, each twice. For every sequence no stopped
// thread is lost, none is resumed while it is held or the world is stopped, a parent in vfork continues
// when its child has left the memory, an effect that may let a thread run is the last one, and the process
// ends once.
func TestRandom(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = testkit.Seed(t, 1)
	}
	lives, events := 500, 0
	if os.Getenv("JALON_FULL") != "" {
		lives = 200_000
	}
	for i := range lives {
		first, again := life(t, seed+int64(i)), life(t, seed+int64(i))
		if !slices.Equal(first, again) {
			t.Fatalf("-threads.seed=%d: two runs differ", seed+int64(i))
		}
		events += len(first)
		if t.Failed() {
			t.Fatalf("-threads.seed=%d", seed+int64(i))
		}
	}
	t.Logf("%d lives, %d reports and effects", lives, events)
}
