package threads

import (
	"flag"
	"fmt"
	"math/rand"
	"os"
	"slices"
	"sort"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var seedFlag = flag.Int64("threads.seed", 0, "seed of TestRandom; 0: the time")

// kthread is a thread as the kernel has it.
type kthread struct {
	tid, tgid int
	runs      bool
	report    *Report // what wait(2) would give
	taken     bool    // wait gave its stop, and it was not resumed since
	dead      bool
	detached  bool
	ppid      int
	made      *kthread // the child of its clone, for the driver to ask about
	flags     uint64   // of that clone
	vforks    bool     // shares its parent's memory, which waits
	execs     bool     // inside exec, waits until the tracer has reaped the others
	born      int
	died      int
}

// world is a model of the kernel and the driver of a table, as package process is.
type world struct {
	t     *testing.T
	r     *rand.Rand
	tb    *Table[*Thread]
	k     map[int]*kthread
	next  int
	queue []Report
	log   []string
	ends  int
	debug bool // shows clone children as threads
	// unclaimed are children whose creator, a thread of another process, was killed before its
	// event: whether they share the memory is not known, and they wait for the process's end.
	unclaimed map[int]bool
}

func newWorld(t *testing.T, seed int64) *world {
	w := &world{t: t, r: rand.New(rand.NewSource(seed)), k: map[int]*kthread{}, next: 100, unclaimed: map[int]bool{}}
	w.tb = NewTable(func() *Thread { return &Thread{} })
	w.tb.PID, w.debug = 100, w.r.Intn(2) == 0
	w.k[100] = &kthread{tid: 100, tgid: 100, runs: true, born: 1}
	w.tb.Add(Thread{TID: 100, TGID: 100, State: Running})
	return w
}

func (w *world) note(format string, a ...any) { w.log = append(w.log, fmt.Sprintf(format, a...)) }

func (w *world) fail(format string, a ...any) {
	w.t.Helper()
	for _, l := range w.log[max(0, len(w.log)-60):] {
		w.t.Log(l)
	}
	w.t.Fatalf(format, a...)
}

// living are the kernel's threads that are traced, in order.
func (w *world) living(want func(*kthread) bool) (list []*kthread) {
	for _, k := range w.k {
		if !k.dead && !k.detached && want(k) {
			list = append(list, k)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].tid < list[j].tid })
	return list
}

func (w *world) pick(list []*kthread) *kthread {
	if len(list) == 0 {
		return nil
	}
	return list[w.r.Intn(len(list))]
}

// stop makes a running thread come to a stop.
func (k *kthread) stop(kind Kind, sig unix.Signal) {
	k.runs, k.report = false, &Report{TID: k.tid, Kind: kind, Signal: sig}
}

func (k *kthread) ends() { k.runs, k.taken, k.report = false, false, &Report{TID: k.tid, Kind: Ended} }

// wait gives the report of a thread.
func (w *world) wait(k *kthread) Report {
	r := *k.report
	k.report = nil
	if r.Kind == Ended {
		k.dead = true
		w.abandon(k)
		delete(w.k, k.tid)
		w.finishExec()
	} else {
		k.taken = true
	}
	return r
}

// abandon: a creator has died before its event.
func (w *world) abandon(k *kthread) {
	if k.made != nil && k.tgid != w.tb.PID {
		w.unclaimed[k.made.tid] = true
	}
}

// children are what /proc/PID/task/PID/children lists.
func (w *world) children() (tids []int) {
	for _, k := range w.living(func(k *kthread) bool { return k.ppid == w.tb.PID && k.tid == k.tgid }) {
		tids = append(tids, k.tid)
	}
	return tids
}

// finishExec: de_thread waits until all others were reaped.
func (w *world) finishExec() {
	for _, k := range w.living(func(k *kthread) bool { return k.execs }) {
		if len(w.living(func(o *kthread) bool { return o.tgid == k.tgid && o != k && o.tid != k.tgid })) > 0 {
			continue
		}
		delete(w.k, k.tid)
		if old := w.k[k.tgid]; old != nil && old != k {
			k.born, k.died = old.born, 0
		}
		k.tid, k.execs, k.vforks = k.tgid, false, false
		w.k[k.tid] = k
		k.stop(ExecStop, 0)
	}
}

// act is something that the program does.
func (w *world) act() {
	k := w.pick(w.living(func(k *kthread) bool { return k.runs && !k.execs }))
	if k == nil {
		return
	}
	switch n := w.r.Intn(20); {
	case n < 4:
		k.stop(SignalStop, unix.SIGUSR1)
	case n < 5:
		k.stop(GroupStop, unix.SIGSTOP)
	case n < 6:
		k.stop(CallStop, 0)
	case n < 15:
		w.next++
		flags := []uint64{unix.CLONE_VM | unix.CLONE_THREAD, unix.CLONE_VM | unix.CLONE_THREAD, 0, unix.CLONE_VM | unix.CLONE_VFORK, unix.CLONE_VM}[w.r.Intn(5)]
		kind := ForkStop
		if flags == unix.CLONE_VM || flags&unix.CLONE_THREAD != 0 || w.r.Intn(4) == 0 {
			kind = CloneStop
		}
		c := &kthread{tid: w.next, tgid: w.next, ppid: k.tgid, vforks: flags&unix.CLONE_VFORK != 0}
		if flags&unix.CLONE_THREAD != 0 {
			c.tgid = k.tgid
		}
		w.k[c.tid] = c
		c.stop(TrapStop, 0)
		k.made, k.flags = c, flags
		k.stop(kind, 0)
	case n < 17:
		k.stop(ExitStop, 0)
	case n < 18 && w.r.Intn(3) == 0:
		k.execs, k.runs = true, false
		for _, o := range w.living(func(o *kthread) bool { return o.tgid == k.tgid && o != k }) {
			if o.tid == k.tgid {
				o.runs, o.taken, o.report, o.dead = false, false, nil, true
				w.abandon(o)
				continue
			}
			o.ends()
		}
		w.finishExec()
	}
	w.note("%d does something: %+v", k.tid, k.report)
}

// take has the driver take a report of the kernel, in whatever order.
func (w *world) take() bool {
	k := w.pick(w.living(func(k *kthread) bool { return k.report != nil && !w.leaderWaits(k) }))
	if k == nil {
		return false
	}
	w.handle(w.wait(k))
	return true
}

// leaderWaits: the end of a leader is reported when all its threads are gone.
func (w *world) leaderWaits(k *kthread) bool {
	return k.report.Kind == Ended && k.tid == k.tgid && len(w.living(func(o *kthread) bool { return o.tgid == k.tgid && o != k })) > 0
}

func (w *world) handle(r Report) {
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

func (w *world) execute(do []Effect[*Thread]) {
	for i, e := range do {
		w.note("  effect %d of %d, %v", e.Op, e.T.TID, e.T.State)
		if last := i == len(do)-1; !last && (e.Op >= HandleSignal && e.Op <= HandleExec) {
			w.fail("effect %d is not the last one", e.Op)
		}
		w.one(e)
	}
}

func (w *world) one(e Effect[*Thread]) {
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

func (w *world) resume(t *Thread) {
	if !w.tb.MayResume(t) {
		return
	}
	if w.tb.Frozen > 0 || t.Hold != 0 || !w.tb.Has(t) {
		w.fail("%d is resumed: %+v", t.TID, t)
	}
	if k := w.k[t.TID]; k != nil && k.taken { // else it was killed
		k.taken, k.runs = false, t.Stop != StopGroup || w.r.Intn(2) == 0
		if !k.runs { // listens, until SIGCONT
			k.report = &Report{TID: k.tid, Kind: TrapStop}
		}
	}
	w.tb.Resumed(t)
}

func (w *world) release(t *Thread) {
	t.Leaving = true
	w.tb.Remove(t.TID)
	w.detach(t)
}

func (w *world) detach(t *Thread) {
	if k := w.k[t.TID]; k != nil {
		if !k.taken && k.report == nil {
			w.fail("%d is detached from while it runs", t.TID)
		}
		k.detached = true
	}
}

func (w *world) orphans() {
	for _, r := range w.tb.Early() {
		w.handle(r)
	}
	for _, t := range w.tb.Orphans() {
		if !w.tb.Has(t) || t.State == Exiting {
			continue
		}
		if t.State != Stopped {
			w.tb.Interrupt(t)
			k := w.k[t.TID]
			if k == nil {
				continue
			}
			if k.runs {
				k.stop(TrapStop, 0)
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
func (w *world) freeze() {
	w.tb.Frozen++
	for range 10_000 {
		waiting := w.tb.Awaited()
		if len(waiting) == 0 || w.tb.Finished {
			return
		}
		sort.Slice(waiting, func(i, j int) bool { return waiting[i].TID < waiting[j].TID })
		for _, t := range waiting {
			k := w.k[t.TID]
			if w.tb.Interrupt(t) && k != nil && k.runs && !k.execs {
				k.stop(TrapStop, 0)
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

func (w *world) queued(tid int) bool {
	for _, r := range w.queue {
		if r.TID == tid {
			return true
		}
	}
	return false
}

func (w *world) thaw() {
	if !w.tb.Thaw() {
		return
	}
	for _, t := range w.sorted() {
		w.resume(t)
	}
	w.exclusive()
}

func (w *world) sorted() (list []*Thread) {
	for _, t := range w.tb.All() {
		list = append(list, t)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].TID < list[j].TID })
	return list
}

// exclusive makes the exclusive steps that are due.
func (w *world) exclusive() {
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

func (w *world) drain() bool {
	if len(w.queue) == 0 {
		return false
	}
	r := w.queue[0]
	w.queue = w.queue[1:]
	w.handle(r)
	return true
}

// check is what holds after each report.
func (w *world) check() {
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
func (w *world) settle() {
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

func (w *world) step() {
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
		w.thaw()
	default:
		w.settle()
	}
}

// life is one process from its first instruction to its end; it gives what happened.
func life(t *testing.T, seed int64) []string {
	w := newWorld(t, seed)
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

// TestRandom drives the table with random lives of processes, each twice: whatever comes in
// whatever order, no stopped thread is lost, none is resumed that is held or while the world
// is stopped, a parent in vfork goes on when its child has left the memory, an effect that
// may let a thread run is the last one, and the process ends once.
func TestRandom(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = time.Now().UnixNano()
	}
	t.Logf("seed %d", seed)
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
