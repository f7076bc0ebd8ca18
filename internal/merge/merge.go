package merge

import (
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jalon-trace/jalon/internal/ctf"
	"github.com/jalon-trace/jalon/internal/report"
)

// Pair names events of two traces: what is sent at one place is received at the other. A message is the one with the same value of the key.
type Pair struct {
	Send, Receive string // places
	Back          bool   // from the second trace to the first
}

// Options say how the clocks relate: by pairs of events, by an offset, or neither.
type Options struct {
	Pairs      []Pair
	Key, KeyOf string // C expressions over the fields of the first trace's events and the second's; KeyOf "": the same
	Offset     *time.Duration
	Jalon      string // version
}

// Each part of the second trace has other numbers, so that none of them are those of the first.
const (
	idStep  = 10_000_000 // above the largest process id of Linux
	cpuStep = 10_000
)

// Result is what was joined.
type Result struct {
	Relation
	Events               uint64
	Forth, Behind        int // pairs that were found
	Ambiguous, Unmatched int // events whose key others have too, or none of the other trace
}

// Merge joins two traces to a new one.
func Merge(out string, a, b *ctf.Trace, o *Options) (*Result, error) {
	res := &Result{}
	if err := res.relate(a, b, o); err != nil {
		return nil, err
	}
	if err := os.Mkdir(out, 0o700); err != nil {
		return nil, err
	}
	var uuid [16]byte
	_, _ = rand.Read(uuid[:])
	shift := int64(0) // so that no time is negative
	if first, _, ok := b.Span(); ok {
		shift = max(0, int64(time.Second)-res.Time(first))
	}
	machines, prefixes := named(a, b)
	info := a.Info
	info.UUID, info.Jalon, info.Large, info.Part, info.Pid, info.Command = uuid, o.Jalon, nil, false, 0, nil
	info.Host, info.Kernel, info.WallOffset = strings.Join(machines, and), a.Info.Kernel+and+b.Info.Kernel, a.Info.WallOffset-shift
	first := partsOf(a)
	ids, cpus := idStep*len(first), cpuStep*len(first)
	info.Joined = nil
	for _, x := range first {
		x.Shift += shift
		info.Joined = append(info.Joined, x)
	}
	for i, x := range partsOf(b) {
		if x.IDs, x.CPUs, x.Shift, x.Rate, x.Error = x.IDs+ids, x.CPUs+cpus, x.Shift+res.Shift+shift, x.Rate+res.Rate, sum(x.Error, res.Error); i == 0 {
			x.Clock = res.How
		}
		info.Joined = append(info.Joined, x)
	}
	parts := []ctf.Part{
		{Trace: a, Name: prefixes[0], Time: func(t int64) int64 { return t + shift }},
		{Trace: b, Name: prefixes[1], IDs: ids, CPUs: cpus, Time: func(t int64) int64 { return res.Time(t) + shift }},
	}
	env := []ctf.Env{{Name: "hostname", Value: info.Host}, {Name: "domain", Value: "jalon"}, {Name: "tracer_name", Value: "jalon"}, {Name: "tracer_version", Value: o.Jalon}, {Name: "clock", Value: res.How}}
	info.CompleteFrom, info.Gaps = 0, false
	for _, p := range parts {
		if at := p.Trace.CompleteFrom; at != 0 {
			info.CompleteFrom, info.Gaps = max(info.CompleteFrom, p.Time(at)), true
		}
	}
	env = append(env, info.CompleteEnv()...)
	var err error
	if res.Events, err = ctf.Join(out, parts, info, env); err != nil {
		_ = os.RemoveAll(out)
		return nil, err
	}
	return res, nil
}

// relate finds the relation of the clocks.
func (res *Result) relate(a, b *ctf.Trace, o *Options) error {
	wall := b.Info.WallOffset - a.Info.WallOffset
	switch {
	case o.Offset != nil:
		res.Shift, res.How = int64(*o.Offset), "an offset that was given"
		return nil
	case len(o.Pairs) > 0:
		return res.byPairs(a, b, o)
	}
	ca, cb := clockOf(a), clockOf(b)
	if ca.same(&cb) {
		res.Shift, res.How, res.Error = ca.shift-cb.shift, "the traces are of one machine, which has one clock", new(int64)
		return nil
	}
	res.Shift, res.How = wall, "the wall clocks of the two machines"
	return nil
}

// byPairs finds the relation by pairs of events.
func (res *Result) byPairs(a, b *ctf.Trace, o *Options) error {
	keyOf := o.KeyOf
	if keyOf == "" {
		keyOf = o.Key
	}
	var all bounds
	for _, p := range o.Pairs {
		from, to, key, other := a, b, o.Key, keyOf
		if p.Back {
			from, to, key, other = b, a, keyOf, o.Key
		}
		sent, err := keys(from, p.Send, key)
		if err != nil {
			return err
		}
		received, err := keys(to, p.Receive, other)
		if err != nil {
			return err
		}
		n := res.pair(&all, sent, received, p.Back)
		if p.Back {
			res.Behind += n
		} else {
			res.Forth += n
		}
	}
	first, last, _ := b.Span()
	r, err := all.solve(first, last)
	if err != nil {
		return err
	}
	r.How = fmt.Sprintf("%d messages to the second trace and %d back", res.Forth, res.Behind)
	res.Relation = *r
	return nil
}

// pair matches events by their keys, and returns how many pairs there are.
func (res *Result) pair(all *bounds, sent, received map[string]int64, back bool) (n int) {
	for key, at := range sent {
		to, ok := received[key]
		switch {
		case at == ambiguous || ok && to == ambiguous:
			res.Ambiguous++
		case !ok:
			res.Unmatched++
		case back:
			all.sentBySecond(at, to)
			n++
		default:
			all.sentByFirst(at, to)
			n++
		}
	}
	return n
}

// ambiguous is the time of a key that several events have.
const ambiguous = -1

// maxKeys bounds the messages that are looked at.
const maxKeys = 4_000_000

// keys are the times of the events of a place by their keys.
func keys(t *ctf.Trace, place, key string) (map[string]int64, error) {
	list := map[string]int64{}
	return list, report.Keys(t, place, key, func(at int64, key string) bool {
		if _, again := list[key]; again {
			at = ambiguous
		}
		list[key] = at
		return len(list) < maxKeys
	})
}
