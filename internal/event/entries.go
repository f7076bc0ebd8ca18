package event

import "github.com/jalon-trace/jalon/internal/ring"

// entries is a queue of entries in pages, which are used again.
type entries struct {
	list      []*page
	head, end int // positions of the first entry, and behind the last one
}

const pageEntries = 1 << 10

type page [pageEntries]entry

// pages are those that are free.
type pages []*page

// keptPages is how many of them are kept.
const keptPages = MaxWaiting / pageEntries / (ring.RecHeader + entrySize)

func (e *entries) len() int { return e.end - e.head }

func (e *entries) at(pos int) *entry { return &e.list[uint(pos)/pageEntries][uint(pos)%pageEntries] }

// insert keeps entries sorted; equal keys keep the order of the ring.
func (e *entries) insert(x entry, free *pages) {
	if e.end/pageEntries == len(e.list) {
		e.list = append(e.list, free.take())
	}
	pos := e.end
	e.end++
	for pos > e.head && e.at(pos-1).key > x.key {
		*e.at(pos) = *e.at(pos - 1)
		pos--
	}
	*e.at(pos) = x
}

// pop removes the first entry.
func (e *entries) pop(free *pages) {
	if e.head++; e.head != e.end && e.head != pageEntries {
		return
	}
	switch {
	case e.head == e.end:
		e.head, e.end = 0, 0
		for _, p := range e.list[min(1, len(e.list)):] {
			free.put(p)
		}
		e.list = e.list[:min(1, len(e.list))]
	default:
		free.put(e.list[0])
		e.list = e.list[:copy(e.list, e.list[1:])]
		e.head, e.end = 0, e.end-pageEntries
	}
}

func (p *pages) take() *page {
	if last := len(*p) - 1; last >= 0 {
		x := (*p)[last]
		*p = (*p)[:last]
		return x
	}
	return new(page)
}

func (p *pages) put(x *page) {
	if len(*p) < keptPages {
		*p = append(*p, x)
	}
}
