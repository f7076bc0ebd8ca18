package image

import (
	"cmp"
	"slices"
	"time"

	"github.com/jalon-trace/jalon/internal/procdir"
)

// changes are what is known of the code of processes without /proc: it remains when they have ended.
type changes struct {
	read  func(func(procdir.Change)) // nil: there is no source
	logs  map[int]*codeLog           // the newest of each
	order []int                      // processes by the time of their first logs
	now   uint64                     // lookups are for this time; 0: the present
}

// codeLog is the code of a process from its beginning, or an exec, until the next. What was there before the trace is in no log.
type codeLog struct {
	begin  uint64
	maps   []procdir.Mapping
	times  []uint64             // of maps, ascending
	whole  bool                 // nothing was mapped before
	image  *observed            // nil: not made yet
	used   int                  // how many of maps it has
	past   map[[2]int]*observed // with so many of maps, as there were so many: see then
	parent int                  // the process that forked it; 0: it was there before, or has called exec
	before *codeLog             // until then; of another process, if its number was used again
}

// maxLogs bounds the processes with logs, maxPrograms the logs of each, maxLogged the mappings of each log.
const (
	maxLogs     = 4096
	maxPrograms = 8
	maxLogged   = 1024
)

// Follow sets the source of changes, which passes on those since the last call; nil: there are no more. Processes that have
// ended have their code by it, and those that have executed another program what they had before.
func (p *Processes) Follow(read func(func(procdir.Change))) {
	p.read = read
	if p.logs == nil {
		p.logs = map[int]*codeLog{}
	}
}

// At says for which time lookups are, and takes what has changed until now.
func (p *Processes) At(now uint64) {
	p.now = now
	p.Changed()
}

// Changed takes what has changed.
func (p *Processes) Changed() {
	if p.read != nil {
		p.read(p.change)
	}
}

// Forget drops the logs, when changes have been lost.
func (p *Processes) Forget() {
	clear(p.logs)
	p.order = nil
}

// change enters a change.
func (p *Processes) change(x procdir.Change) {
	switch {
	case x.Exec:
		p.begin(x.Pid, &codeLog{begin: x.Time, whole: true})
	case x.Parent != 0:
		log := &codeLog{begin: x.Time, parent: x.Parent}
		of, read := p.logs[x.Parent], p.known[x.Parent]
		if read != nil && !read.part && (of == nil || !of.whole) {
			log.maps, log.whole = slices.Clone(read.code), true
		}
		if of != nil {
			log.maps, log.whole = append(log.maps, of.maps...), log.whole || of.whole
		}
		log.times = slices.Repeat([]uint64{x.Time}, len(log.maps))
		p.begin(x.Pid, log)
	case x.Map.Start < x.Map.End:
		if p.logs[x.Pid] == nil {
			p.begin(x.Pid, &codeLog{})
		}
		if o := p.known[x.Pid]; o != nil && slices.ContainsFunc(o.code, func(m procdir.Mapping) bool { return overlapping(&m, &x.Map) }) {
			o.stale = true
		}
		if log := p.logs[x.Pid]; len(log.maps) < maxLogged {
			log.maps, log.times = append(log.maps, x.Map), append(log.times, x.Time)
		}
	}
}

// begin begins a log of a process. An image that was read before is that of the log before.
func (p *Processes) begin(pid int, log *codeLog) {
	old := p.logs[pid]
	if o := p.known[pid]; o != nil && log.begin != 0 {
		if old == nil {
			old = &codeLog{}
		}
		if !o.part {
			old.image, old.used = o, 0
		}
		delete(p.known, pid)
	}
	if p.logs[pid] == nil {
		if p.order = append(p.order, pid); len(p.order) > maxLogs {
			delete(p.logs, p.order[0])
			p.order = p.order[1:]
		}
	}
	p.logs[pid], log.before = log, old
	for n := 1; log != nil; n++ {
		if n == maxPrograms {
			log.before = nil
		}
		log = log.before
	}
}

// earlier is the log that a process had at the time of the lookups, if another one has begun since.
func (p *Processes) earlier(pid int) (log *codeLog, is bool) {
	log = p.logs[pid]
	for log != nil && p.now != 0 && log.begin > p.now {
		log, is = log.before, true
	}
	return log, is
}

// ended is the image of a process that has ended; nil: nothing is known of it. Of a process that was there before its log began,
// what was read of it before counts too.
func (p *Processes) ended(pid int) *observed {
	o, log := p.known[pid], p.logs[pid]
	if log == nil {
		return o
	}
	if o != nil && !o.part && log.image == nil {
		log.image = o
	}
	if made := p.logged(pid, log); made != nil && made != o {
		o = p.set(pid, made)
	}
	return o
}

// logged is the image of a log; nil: too little is known.
func (p *Processes) logged(pid int, log *codeLog) *observed {
	o := log.image
	if o != nil && log.used == len(log.maps) {
		return o
	}
	maps, ok := p.base(log, o)
	if !ok {
		return nil
	}
	if o == nil {
		o = &observed{Image: New(pid, p.files)}
		log.image = o
	}
	log.used = len(log.maps)
	o.Update(mappedOver(maps, log.maps))
	return o
}

// base is the code before a log's; o is what was read of the process.
func (p *Processes) base(log *codeLog, o *observed) (maps []procdir.Mapping, ok bool) {
	switch {
	case log.whole:
		return nil, true
	case o != nil:
		return slices.Clone(o.code), true
	}
	maps = slices.Clone(p.forked(log))
	return maps, maps != nil
}

// mappedOver are mappings after others were made.
func mappedOver(maps, made []procdir.Mapping) []procdir.Mapping {
	for _, m := range made {
		maps = append(without(maps, &m), m)
	}
	slices.SortFunc(maps, func(a, b procdir.Mapping) int { return cmp.Compare(a.Start, b.Start) })
	return maps
}

// overlapping reports whether two mappings have an address in common.
func overlapping(a, b *procdir.Mapping) bool { return a.Start < b.End && b.Start < a.End }

// maxPast bounds the images of a process that with keeps.
const maxPast = 8

// then is the image of a process at the time of the lookups, if code was mapped since where other code was (a library was unloaded, and
// another one loaded); nil: its newest image is right.
func (p *Processes) then(pid int, log *codeLog) *observed {
	if log == nil || p.now == 0 || len(log.times) == 0 || log.times[len(log.times)-1] <= p.now {
		return nil
	}
	n, _ := slices.BinarySearch(log.times, p.now+1)
	replaced := func(m procdir.Mapping) bool {
		return slices.ContainsFunc(log.maps[n:], func(x procdir.Mapping) bool { return overlapping(&m, &x) })
	}
	if !slices.ContainsFunc(log.maps[:n], replaced) {
		return nil
	}
	return p.with(pid, log, n)
}

// unloaded is the image of a process at the time of the lookups, if the log has code at an address that its newest image does not have.
func (p *Processes) unloaded(pid int, pc uint64) *observed {
	log, _ := p.earlier(pid)
	if log == nil || p.now == 0 {
		return nil
	}
	n, _ := slices.BinarySearch(log.times, p.now+1)
	if !slices.ContainsFunc(log.maps[:n], func(m procdir.Mapping) bool { return m.Contains(pc) }) {
		return nil
	}
	return p.with(pid, log, n)
}

// with is the image of a process by the first n mappings of a log; nil: too little is known.
func (p *Processes) with(pid int, log *codeLog, n int) *observed {
	key := [2]int{n, len(log.maps)}
	if o, known := log.past[key]; known {
		return o
	}
	if log.past == nil || len(log.past) == maxPast {
		log.past = map[[2]int]*observed{}
	}
	log.past[key] = nil
	read := p.known[pid]
	if read == nil || read.part {
		read = log.image
	}
	maps, ok := p.base(log, read)
	if !ok {
		return nil
	}
	for i := range log.maps[n:] {
		maps = without(maps, &log.maps[n+i])
	}
	o := &observed{Image: New(pid, p.files), read: time.Now(), past: true}
	o.Update(mappedOver(maps, log.maps[:n]))
	log.past[key] = o
	return o
}

// Epoch identifies the code of a process at the time of the lookups, as far as its changes are known.
func (p *Processes) Epoch(pid int) uint64 {
	log, _ := p.earlier(pid)
	if log == nil || len(log.times) == 0 && log.begin == 0 {
		return 0
	}
	n, _ := slices.BinarySearch(log.times, p.now+1)
	return log.begin<<10 ^ uint64(n)
}

// forked is the code that a process had from its birth: that of its parent, if that has not called exec since.
func (p *Processes) forked(log *codeLog) []procdir.Mapping {
	if log.parent == 0 {
		return nil
	}
	if of := p.logs[log.parent]; of != nil && of.begin >= log.begin {
		return nil
	}
	if o := p.of(log.parent); o != nil && !o.part {
		return o.code
	}
	return nil
}

// without are the mappings, without what lies where m is.
func without(maps []procdir.Mapping, m *procdir.Mapping) (rest []procdir.Mapping) {
	for _, x := range maps {
		before, behind := x, x
		before.End = min(x.End, m.Start)
		if behind.Start = max(x.Start, m.End); behind.Start < x.End {
			behind.Offset += behind.Start - x.Start
		}
		for _, part := range []procdir.Mapping{before, behind} {
			if part.Start < part.End {
				rest = append(rest, part)
			}
		}
	}
	return rest
}
