package stub

import "github.com/jalon-trace/jalon/internal/gdb/rsp"

// lister makes lists of threads.
type lister struct {
	*core
	backlog  *backlog
	roster   *roster
	reporter *reporter
	listed   int // threads that qfThreadInfo has listed
}

func (x *lister) reset() { x.listed = 0 }

// packets are those that it handles.
func (x *lister) packets() []row {
	return []row{
		on("qfThreadInfo", "begins the list of threads", x.firstThreads),
		on("qsThreadInfo", "goes on with it", x.nextThreads),
		on("qThreadExtraInfo", "what users see of a thread", x.threadExtra),
	}
}

func (x *lister) firstThreads(rsp.FirstThreads) rsp.Packet {
	x.roster.sync()
	x.reporter.collect()
	x.listed = 0
	return x.threadList()
}

func (x *lister) nextThreads(rsp.NextThreads) rsp.Packet { return x.threadList() }

// threadList lists as many threads as a packet holds.
func (x *lister) threadList() rsp.Packet {
	var list rsp.Threads
	size := 1
	hidden := x.backlog.unreportedChildren()
	for _, id := range x.roster.order[min(x.listed, len(x.roster.order)):] {
		name := x.name(id)
		if size += len(name.String()) + 1; size > x.cfg.PacketSize {
			break
		}
		if hidden[id] == 0 {
			list.IDs = append(list.IDs, name)
		}
		x.listed++
	}
	if len(list.IDs) == 0 {
		return rsp.EndOfList{}
	}
	return list
}

func (x *lister) threadExtra(p rsp.ThreadExtra) rsp.Packet {
	for _, t := range x.target.Threads() {
		if named(p.Thread, t.ID) {
			return rsp.ThreadWords{Text: rsp.Text(x.target.Facts(t.ID).Extra)}
		}
	}
	return badNumber
}

// threadInfos are the lines of the object threads.
func (x *lister) threadInfos() []rsp.ThreadInfo {
	var list []rsp.ThreadInfo
	threads := x.target.Threads()
	x.reporter.collect() // a fork that a child is of came before it
	hidden := x.backlog.unreportedChildren()
	for _, t := range threads {
		if hidden[t.ID] != 0 {
			continue // GDB would take it for a process that was not reported
		}
		f := x.target.Facts(t.ID)
		list = append(list, rsp.ThreadInfo{ID: x.name(t.ID), Core: f.Core, Name: f.Name, Extra: f.Extra})
	}
	return list
}
