package stub

import "github.com/jalon-trace/jalon/internal/gdb/rsp"

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

// sync compares what is known with the target's threads. New threads run (if one is
// stopped already, its stop event follows), or are stopped because all are. Pending events
// of threads that have ended are dropped.
func (m *Machine) sync() {
	list := m.target.Threads()
	runs := false // if all are stopped, a new one is too
	for _, t := range m.threads {
		runs = runs || !t.stopped
	}
	m.order = m.order[:0]
	there := make(map[ThreadID]bool, len(list))
	for _, info := range list {
		if there[info.ID] {
			continue
		}
		there[info.ID] = true
		m.order = append(m.order, info.ID)
		if m.threads[info.ID] == nil {
			stopped := info.Stopped && !runs || m.caps.Kernel
			m.threads[info.ID] = &thread{
				id: info.ID, stopped: stopped, resumed: !stopped,
				why: Stop{Kind: StopHalted, Thread: info.ID},
			}
		}
	}
	for id := range m.threads {
		if !there[id] {
			delete(m.threads, id)
		}
	}
	m.pending = keep(m.pending, func(s Stop) bool { return !ofThread(s) || there[s.Thread] })
	if len(m.queue) > 0 { // the first is with GDB already
		m.queue = append(m.queue[:1], keep(m.queue[1:], func(s Stop) bool { return !ofThread(s) || there[s.Thread] })...)
	}
}

// ofThread reports whether a stop is of a stopped thread, not of one that has ended.
func ofThread(s Stop) bool {
	switch s.Kind {
	case StopThreadExit, StopExited, StopKilled, StopNoResumed:
		return false
	}
	return true
}

// keep filters in place.
func keep(list []Stop, want func(Stop) bool) []Stop {
	out := list[:0]
	for _, s := range list {
		if want(s) {
			out = append(out, s)
		}
	}
	return out
}

// named says whether a thread is among those that GDB names. Zero, any thread,
// counts as all.
func named(id rsp.ThreadID, t ThreadID) bool {
	if id.Multi && id.PID > 0 && id.PID != int64(t.PID) {
		return false
	}
	return id.TID <= 0 || id.TID == int64(t.TID)
}

// find is the first thread that GDB names.
func (m *Machine) find(id rsp.ThreadID) *thread {
	for _, t := range m.order {
		if named(id, t) {
			return m.threads[t]
		}
	}
	return nil
}

// current is the thread that registers and memory are about; nil: there is none. It
// is asked for with almost every packet, so the target's list is not compared if it
// need not be.
func (m *Machine) current() *thread {
	for _, id := range []ThreadID{m.general, m.last} {
		if t := m.threads[id]; t != nil {
			return t
		}
	}
	m.sync()
	return m.find(rsp.ThreadID{})
}

// name is the thread's id as GDB wants it.
func (m *Machine) name(id ThreadID) rsp.ThreadID {
	if m.multi {
		return rsp.ThreadID{PID: int64(id.PID), TID: int64(id.TID), Multi: true}
	}
	return rsp.ThreadID{TID: int64(id.TID)}
}

var _ = []struct{}{
	on((*Machine).selectThread), on((*Machine).threadAlive), on((*Machine).queryThread),
	on((*Machine).firstThreads), on((*Machine).nextThreads), on((*Machine).threadExtra), on((*Machine).tlsAddress),
}

var noThread = rsp.ErrorText{Text: rsp.Raw("there is no such thread")}

func (m *Machine) selectThread(p rsp.SelectThread) rsp.Packet {
	m.sync()
	some := p.Thread.TID <= 0 && p.Thread.PID <= 0
	t := m.find(p.Thread)
	if t == nil && !some {
		return badNumber
	}
	if p.Continue {
		m.cont = p.Thread
		return rsp.OK{}
	}
	if some && m.threads[m.general] != nil {
		return rsp.OK{} // any: the present one will do
	}
	if some {
		t = m.current()
	}
	if t != nil {
		m.general = t.id
	}
	return rsp.OK{}
}

func (m *Machine) threadAlive(p rsp.ThreadAlive) rsp.Packet {
	m.sync()
	if m.find(p.Thread) == nil {
		return badNumber
	}
	return rsp.OK{}
}

func (m *Machine) queryThread(rsp.QueryThread) rsp.Packet {
	t := m.current()
	if t == nil {
		return badNumber
	}
	return rsp.CurrentThread{Thread: m.name(t.id)}
}

func (m *Machine) firstThreads(rsp.FirstThreads) rsp.Packet {
	m.sync()
	m.collect()
	m.listed = 0
	return m.threadList()
}

func (m *Machine) nextThreads(rsp.NextThreads) rsp.Packet { return m.threadList() }

// threadList lists as many threads as a packet holds.
func (m *Machine) threadList() rsp.Packet {
	var list rsp.Threads
	size := 1
	hidden := m.unreportedChildren()
	for _, id := range m.order[min(m.listed, len(m.order)):] {
		name := m.name(id)
		if size += len(name.String()) + 1; size > m.cfg.PacketSize {
			break
		}
		if hidden[id] == 0 {
			list.IDs = append(list.IDs, name)
		}
		m.listed++
	}
	if len(list.IDs) == 0 {
		return rsp.EndOfList{}
	}
	return list
}

func (m *Machine) threadExtra(p rsp.ThreadExtra) rsp.Packet {
	for _, t := range m.target.Threads() {
		if named(p.Thread, t.ID) {
			return rsp.ThreadWords{Text: rsp.Text(m.target.Facts(t.ID).Extra)}
		}
	}
	return badNumber
}

func (m *Machine) tlsAddress(p rsp.TLSAddress) rsp.Packet {
	m.sync()
	t := m.find(p.Thread)
	if t == nil {
		return noThread
	}
	if !m.threadDBFound() {
		return failf("libthread_db is not in %s", m.threadDB)
	}
	addr, err := m.target.ThreadLocal(t.id, p.Offset, p.LinkMap)
	if err != nil {
		return fail(err)
	}
	return rsp.Address{Addr: addr}
}

// threadInfos are the lines of the object threads.
func (m *Machine) threadInfos() []rsp.ThreadInfo {
	var list []rsp.ThreadInfo
	threads := m.target.Threads()
	m.collect() // a fork that a child is of came before it
	hidden := m.unreportedChildren()
	for _, t := range threads {
		if hidden[t.ID] != 0 {
			continue // GDB would take it for a process that was not reported
		}
		f := m.target.Facts(t.ID)
		list = append(list, rsp.ThreadInfo{ID: m.name(t.ID), Core: f.Core, Name: f.Name, Extra: f.Extra})
	}
	return list
}
