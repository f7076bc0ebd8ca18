package threads

import (
	"fmt"
	"math/rand"
	"sort"
	"testing"

	"golang.org/x/sys/unix"
)

// kthread is a thread as the kernel has it.
type kthread struct {
	tid, tgid   int
	runs        bool
	report      *Report // what wait(2) would give
	taken       bool    // wait gave its stop, and it was not resumed since
	dead        bool
	detached    bool
	ppid        int
	creator     *kthread
	made        *kthread // the child of its clone, for the driver to ask about
	flags       uint64   // of that clone
	vforks      bool     // shares its parent's memory, which waits
	interrupted bool     // one more stop is to come
	execs       bool     // inside exec, waits until the tracer has reaped the others
	born        int
	died        int
}

// model is a model of the kernel and the driver of a table, as package process is.
type model struct {
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

func newModel(t *testing.T, seed int64) *model {
	w := &model{t: t, r: rand.New(rand.NewSource(seed)), k: map[int]*kthread{}, next: 100, unclaimed: map[int]bool{}}
	w.tb = NewTable(func() *Thread { return &Thread{} })
	w.tb.PID, w.debug = 100, w.r.Intn(2) == 0
	w.k[100] = &kthread{tid: 100, tgid: 100, runs: true, born: 1}
	w.tb.Add(Thread{TID: 100, TGID: 100, State: Running})
	return w
}

func (w *model) note(format string, a ...any) { w.log = append(w.log, fmt.Sprintf(format, a...)) }

func (w *model) fail(format string, a ...any) {
	w.t.Helper()
	for _, l := range w.log[max(0, len(w.log)-60):] {
		w.t.Log(l)
	}
	w.t.Fatalf(format, a...)
}

// living are the kernel's threads that are traced, in order.
func (w *model) living(want func(*kthread) bool) (list []*kthread) {
	for _, k := range w.k {
		if !k.dead && !k.detached && want(k) {
			list = append(list, k)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].tid < list[j].tid })
	return list
}

func (w *model) pick(list []*kthread) *kthread {
	if len(list) == 0 {
		return nil
	}
	return list[w.r.Intn(len(list))]
}

// stop makes a running thread come to a stop.
func (k *kthread) stop(kind Kind, sig unix.Signal) {
	k.runs, k.report = false, &Report{TID: k.tid, Kind: kind, Signal: sig}
}

// interrupt is PTRACE_INTERRUPT: a thread that stops for another reason first has it still
// to come.
func (k *kthread) interrupt() {
	switch {
	case k.execs:
	case k.runs:
		k.stop(TrapStop, 0)
	case k.report != nil && k.report.Kind != TrapStop && k.report.Kind != GroupStop:
		k.interrupted = true
	}
}

func (k *kthread) ends() { k.runs, k.taken, k.report = false, false, &Report{TID: k.tid, Kind: Ended} }

// wait gives the report of a thread.
func (w *model) wait(k *kthread) Report {
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
func (w *model) abandon(k *kthread) {
	if k.made != nil && k.tgid != w.tb.PID {
		w.unclaimed[k.made.tid] = true
	}
}

// children are what /proc/PID/task/PID/children lists.
func (w *model) children() (tids []int) {
	for _, k := range w.living(func(k *kthread) bool { return k.ppid == w.tb.PID && k.tid == k.tgid }) {
		tids = append(tids, k.tid)
	}
	return tids
}

// finishExec: de_thread waits until all others were reaped.
func (w *model) finishExec() {
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
func (w *model) act() {
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
		c := &kthread{tid: w.next, tgid: w.next, ppid: k.tgid, creator: k, vforks: flags&unix.CLONE_VFORK != 0}
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

// leaderWaits: the end of a leader is reported when all its threads are gone.
func (w *model) leaderWaits(k *kthread) bool {
	return k.report.Kind == Ended && k.tid == k.tgid && len(w.living(func(o *kthread) bool { return o.tgid == k.tgid && o != k })) > 0
}
