package image

import (
	"slices"
	"time"

	"github.com/jalon-trace/jalon/internal/procdir"
)

// past is what an image was before modules were unmapped: other modules may lie at their addresses since.
type past struct {
	list   []former // oldest first
	gone   int64    // up to this time nothing is known any more; 0: all is
	common overlap
	added  uint64 // how many were ever in list
}

// former is an image as it was up to a time, in nanoseconds of CLOCK_MONOTONIC.
type former struct {
	*Image
	until int64
}

// overlap is what two images have in common.
type overlap struct{ a, b, both *Image }

const (
	// maxFormer and formerFor bound what is kept: records are shown within seconds.
	maxFormer = 256
	formerFor = time.Minute
)

func (p *past) add(im *Image) {
	now := procdir.Monotonic()
	p.list = append(p.list, former{im, now})
	p.added++
	for len(p.list) > maxFormer || p.list[0].until < now-int64(formerFor) {
		p.gone = p.list[0].until
		p.list = slices.Delete(p.list, 0, 1)
	}
}

// Within returns the image of the modules that were mapped all the time between two, in nanoseconds of
// CLOCK_MONOTONIC. It is to be used before the next Update.
func (im *Image) Within(from, to int64) *Image {
	a := im.at(from)
	if a == im || to <= from {
		return a
	}
	b := im.at(to)
	if a == b {
		return a
	}
	if c := im.past.common; c.a == a && c.b == b {
		return c.both
	}
	both := &Image{pid: im.pid, files: im.files, root: im.root, kernel: im.kernel, code: b.code}
	for _, x := range a.parts {
		if slices.Contains(b.parts, x) {
			both.parts = append(both.parts, x)
		}
	}
	both.mods = slices.DeleteFunc(slices.Clone(a.mods), func(m *Module) bool { return !slices.Contains(b.mods, m) })
	im.past.common = overlap{a, b, both}
	return both
}

// Epoch identifies what Within returns, as far as addresses that both have had a name: names that were found for one are those of all hits
// of the same epoch.
func (im *Image) Epoch(from, to int64) uint64 {
	if len(im.past.list) == 0 {
		return 0
	}
	return im.epoch(from)<<32 | im.epoch(to)
}

func (im *Image) epoch(ns int64) uint64 {
	n := 0
	for list := im.past.list; n < len(list) && ns <= list[len(list)-1-n].until; n++ {
	}
	return im.past.added - uint64(n)
}

// at returns the image as it was at a time.
func (im *Image) at(ns int64) *Image {
	p := &im.past
	switch n := len(p.list); {
	case n == 0 || ns > p.list[n-1].until:
		return im
	case p.gone > 0 && ns <= p.gone:
		return &Image{pid: im.pid, files: im.files, root: im.root, kernel: im.kernel, code: im.code}
	}
	i := slices.IndexFunc(p.list, func(f former) bool { return ns <= f.until })
	return p.list[i].Image
}
