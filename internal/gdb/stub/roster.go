package stub

import (
	"slices"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// thread is what the stub knows of a thread, as opposed to the target: a thread
// whose stop is still on its way to the stub runs here.
type thread struct {
	id      ThreadID
	stopped bool
	// resumed: GDB has resumed it, so its next stop must be reported.
	resumed  bool
	why      Stop // why it is stopped
	signal   int  // delivered when it is resumed, unless GDB gives another
	halting  bool // Halt was requested
	unread   bool // GDB may not have read the description of its registers yet
	reported int  // the higher, the more recently GDB received a stop of it
	// interrupt: its next stop is reported as a SIGINT.
	interrupt bool
}

// roster are the threads of the target, and which of them GDB means.
type roster struct {
	*core
	backlog *backlog
	threads map[ThreadID]*thread
	order   []ThreadID   // by process, by birth
	last    ThreadID     // the thread that was reported last
	general ThreadID     // Hg
	cont    rsp.ThreadID // Hc
}

func (x *roster) reset() { x.general, x.cont = ThreadID{}, rsp.ThreadID{} }

// packets are those that it handles.
func (x *roster) packets() []row {
	return []row{
		on("H", "selects the thread of later packets", x.selectThread),
		on("T", "is a thread alive?", x.threadAlive),
		on("qC", "the present thread", x.queryThread),
	}
}

// sync compares what is known with the target's threads. New threads run (if one is
// stopped already, its stop event follows), or are stopped because all are. Pending events
// of threads that have ended are dropped.
func (x *roster) sync() {
	list := x.target.Threads()
	runs := false // if all are stopped, a new one is too
	for _, t := range x.threads {
		runs = runs || !t.stopped
	}
	x.order = x.order[:0]
	there := make(map[ThreadID]bool, len(list))
	for _, info := range list {
		if there[info.ID] {
			continue
		}
		there[info.ID] = true
		x.order = append(x.order, info.ID)
		if x.threads[info.ID] == nil {
			stopped := info.Stopped && !runs || x.caps.Kernel
			x.threads[info.ID] = &thread{
				id: info.ID, stopped: stopped, resumed: !stopped,
				why: Stop{Kind: StopHalted, Thread: info.ID},
			}
		}
	}
	for id := range x.threads {
		if !there[id] {
			delete(x.threads, id)
		}
	}
	x.backlog.filter(func(s Stop) bool { return !ofThread(s) || there[s.Thread] })
}

// named reports whether a thread is among those that GDB names. Zero, any thread, counts as all.
func named(id rsp.ThreadID, t ThreadID) bool {
	if id.Multi && id.PID > 0 && id.PID != int64(t.PID) {
		return false
	}
	return id.TID <= 0 || id.TID == int64(t.TID)
}

// find is the first thread that GDB names.
func (x *roster) find(id rsp.ThreadID) *thread {
	for _, t := range x.order {
		if named(id, t) {
			return x.threads[t]
		}
	}
	return nil
}

// current is the thread that registers and memory are about; nil: there is none. It
// is asked for with almost every packet, so the target's list is not compared if it
// need not be.
func (x *roster) current() *thread {
	for _, id := range []ThreadID{x.general, x.last} {
		if t := x.threads[id]; t != nil {
			return t
		}
	}
	x.sync()
	return x.find(rsp.ThreadID{})
}

// process is the one that a packet names, or the present one; ok is false if there
// is no such process.
func (x *roster) process(named *uint64) (pid int, ok bool) {
	list := x.target.Processes()
	if named != nil {
		pid = int(*named)
	} else if t := x.current(); t != nil {
		pid = t.id.PID
	} else if len(list) > 0 {
		pid = list[0]
	}
	return pid, slices.Contains(list, pid)
}

var noThread = rsp.ErrorText{Text: rsp.Raw("there is no such thread")}

func (x *roster) selectThread(p rsp.SelectThread) rsp.Packet {
	x.sync()
	some := p.Thread.TID <= 0 && p.Thread.PID <= 0
	t := x.find(p.Thread)
	if t == nil && !some {
		return badNumber
	}
	if p.Continue {
		x.cont = p.Thread
		return rsp.OK{}
	}
	if some && x.threads[x.general] != nil {
		return rsp.OK{} // any: the present one will do
	}
	if some {
		t = x.current()
	}
	if t != nil {
		x.general = t.id
	}
	return rsp.OK{}
}

func (x *roster) threadAlive(p rsp.ThreadAlive) rsp.Packet {
	x.sync()
	if x.find(p.Thread) == nil {
		return badNumber
	}
	return rsp.OK{}
}

func (x *roster) queryThread(rsp.QueryThread) rsp.Packet {
	t := x.current()
	if t == nil {
		return badNumber
	}
	return rsp.CurrentThread{Thread: x.name(t.id)}
}
