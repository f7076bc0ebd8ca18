// Package merge joins recordings of two kernels, whose clocks are different: it finds how the clock of the second relates to that of the
// first, and writes one trace.
//
// Import rule: merge imports ctf and report only.
package merge

import (
	"errors"
	"fmt"
	"math"
)

// Relation is how the times of the second trace become those of the first: t + Shift + Rate * (t - Middle).
type Relation struct {
	Shift  int64
	Rate   float64
	Middle int64
	Error  *int64 // ns by which a time of the trace may be off; nil: not known
	How    string
}

// Time is a time of the second trace by the clock of the first.
func (r *Relation) Time(t int64) int64 { return t + r.Shift + int64(r.Rate*float64(t-r.Middle)) }

// maxRate bounds the difference of the rates of two clocks: those of machines, also while they are slewed.
const maxRate = 1e-3

// bound says that at time x of the second trace at least, or at most, v has to be added.
type bound struct{ x, v float64 }

// bounds are what pairs of events say: what was sent was not received earlier.
type bounds struct {
	low, high []bound
}

// sentByFirst is for an event of the first trace before one of the second.
func (b *bounds) sentByFirst(sent, received int64) {
	b.low = append(b.low, bound{float64(received), float64(sent - received)})
}

// sentBySecond is for an event of the second trace before one of the first.
func (b *bounds) sentBySecond(sent, received int64) {
	b.high = append(b.high, bound{float64(sent), float64(received - sent)})
}

// keptBounds is how many are kept: those that bound most in as many parts of the time. Others say less.
const keptBounds = 2048

// tightest keeps bounds that bound most.
func tightest(list []bound, from, to, sign float64) []bound {
	if len(list) <= keptBounds {
		return list
	}
	best := make([]*bound, keptBounds)
	for i := range list {
		n := min(int((list[i].x-from)/(to-from+1)*keptBounds), keptBounds-1)
		if best[n] == nil || sign*list[i].v > sign*best[n].v {
			best[n] = &list[i]
		}
	}
	var out []bound
	for _, b := range best {
		if b != nil {
			out = append(out, *b)
		}
	}
	return out
}

// errContradiction: no clocks of machines relate like this.
var errContradiction = errors.New("the events contradict each other: some were received before they were sent, whatever the clocks are. Are sender and receiver exchanged, or is the key not that of a message?")

// solve finds the relation of which the bounds are farthest, and how far from it a time in [from, to] of the second trace can be.
func (b *bounds) solve(from, to int64) (*Relation, error) {
	switch {
	case len(b.low) == 0 || len(b.high) == 0:
		return nil, fmt.Errorf("%d pairs of events were found from the first trace to the second and %d back: both directions are needed", len(b.low), len(b.high))
	}
	base := b.low[0].v // the numbers stay small, so that nothing is lost in floating numbers
	middle := from + (to-from)/2
	move := func(list []bound) []bound {
		out := make([]bound, len(list))
		for i, x := range list {
			out[i] = bound{x.x - float64(middle), x.v - base}
		}
		return out
	}
	half := float64(to-from) / 2
	low, high := tightest(move(b.low), -half, half, 1), tightest(move(b.high), -half, half, -1)
	floor := func(r float64) float64 {
		v := math.Inf(-1)
		for _, x := range low {
			v = max(v, x.v-r*x.x)
		}
		return v
	}
	ceiling := func(r float64) float64 {
		v := math.Inf(1)
		for _, x := range high {
			v = min(v, x.v-r*x.x)
		}
		return v
	}
	width := func(r float64) float64 { return ceiling(r) - floor(r) } // concave
	rate := highest(width, -maxRate, maxRate)
	if width(rate) < 0 {
		return nil, errContradiction
	}
	least, most := edge(width, rate, -maxRate), edge(width, rate, maxRate)
	shift := (ceiling(rate) + floor(rate)) / 2
	off := 0.0
	for _, x := range []float64{-half, half} {
		at := func(r float64) float64 { return ceiling(r) + r*x }
		up := at(highest(at, least, most))
		under := func(r float64) float64 { return -(floor(r) + r*x) }
		down := -under(highest(under, least, most))
		own := shift + rate*x
		off = max(off, up-own, own-down)
	}
	e := int64(math.Ceil(off)) + 1
	return &Relation{Shift: int64(base + shift), Rate: rate, Middle: middle, Error: &e}, nil
}

// highest is where a concave function is highest in [a, b].
func highest(f func(float64) float64, a, b float64) float64 {
	for range 100 {
		x, y := a+(b-a)/3, b-(b-a)/3
		if f(x) < f(y) {
			a = x
		} else {
			b = y
		}
	}
	return (a + b) / 2
}

// edge is the farthest place from in to, in the direction of to, where a concave function that is not negative at in still is not.
func edge(f func(float64) float64, in, to float64) float64 {
	if f(to) >= 0 {
		return to
	}
	for range 100 {
		if mid := (in + to) / 2; f(mid) >= 0 {
			in = mid
		} else {
			to = mid
		}
	}
	return in
}
