package jalon

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/drain"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/record"
	"github.com/jalon-trace/jalon/internal/sema"
	"github.com/jalon-trace/jalon/internal/session"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// maxTop bounds Aggregate.Top: so many events are kept.
const maxTop = 100_000

// limitMap has the time of the fastest of the slowest calls, once there are as many as wanted: hits leave no record of calls that were
// not slower. jalon writes it.
const limitMap = "@slowest"

// topOf gives tracepoints what Aggregate.Top needs. A hit keeps the time of the call, so that the histogram, the decision
// and the record have the same one.
func topOf(tps []*tracepoint.Tracepoint, act sema.Action) error {
	translated := func(c string) lang.Expr {
		x, err := lang.Translated(c, act.ValueFrom)
		if err != nil {
			panic(fmt.Sprintf("BUG: %s: %v", c, err))
		}
		return x
	}
	limit := &sema.Map{Name: limitMap, Kind: sema.MapNumber}
	// One more than the time is kept: 0 means that the entry was not seen, and a call may take no time of a coarse clock.
	const took = "(unsigned long)(@local(0) - 1)"
	keep := sema.Action{Do: sema.Keep, Value: translated("$elapsed + 1"), From: act.ValueFrom}
	act.Value, act.If = translated(took), translated("@local(0) != 0")
	unpaired := sema.Action{Do: sema.Leave, If: translated("@local(0) == 0"), From: act.ValueFrom}
	fast := sema.Action{Do: sema.Leave, If: translated(fmt.Sprintf("@has(%q) && %s <= @map(%q)", limitMap, took, limitMap)), From: act.ValueFrom, False: true}
	args, err := lang.ParseCollect("@entry($args)")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	for _, tp := range tps {
		if len(tp.Collect) == 0 {
			tp.Collect = args
		}
		tp.Actions, tp.Maps, tp.NoRecord = []sema.Action{keep, act, unpaired, fast}, []*sema.Map{limit}, false
		tp.Collect = append([]lang.Collect{{X: translated(took), Text: "$elapsed", Span: act.ValueFrom.Span, From: act.ValueFrom}}, tp.Collect...)
	}
	return nil
}

// topSink keeps the events with the largest first field, and passes them on at the end.
type topSink struct {
	drain.Sink
	s     *session.Session
	most  int
	list  []event.Event // the fastest first, when there are most
	limit uint64        // what the sites have
}

// elapsedOf is the first field of an event.
func elapsedOf(e *event.Event) uint64 {
	if len(e.Schema.Fields) == 0 {
		return 0
	}
	if v := e.Value(0); v.Status == event.OK && len(v.Data) == 8 {
		return binary.LittleEndian.Uint64(v.Data)
	}
	return 0
}

// Event implements drain.Sink.
func (k *topSink) Event(e *event.Event) error {
	took := elapsedOf(e)
	if len(k.list) == k.most && took <= elapsedOf(&k.list[0]) {
		return nil
	}
	kept := *e
	kept.Raw = slices.Clone(e.Raw)
	at, _ := slices.BinarySearchFunc(k.list, took, func(x event.Event, n uint64) int { return cmp.Compare(elapsedOf(&x), n) })
	k.list = slices.Insert(k.list, at, kept)
	if len(k.list) > k.most {
		k.list = slices.Delete(k.list, 0, 1)
	}
	return nil
}

// Flush implements drain.Sink. The sites get the new limit.
func (k *topSink) Flush() error {
	if len(k.list) == k.most && elapsedOf(&k.list[0]) > k.limit {
		k.limit = elapsedOf(&k.list[0])
		k.s.PutNumber(limitMap, k.limit)
	}
	return k.Sink.Flush()
}

// End implements drain.Ender.
func (k *topSink) End() error {
	for i := range slices.Backward(k.list) {
		if err := k.Sink.Event(&k.list[i]); err != nil {
			return err
		}
	}
	k.list = nil
	if e, ok := k.Sink.(drain.Ender); ok {
		return e.End()
	}
	return nil
}

// slowest is an output that gets the slowest calls only.
func slowest(o Output, most int) Output {
	return outputFunc(func(s *session.Session, by *record.Redactor) drain.Sink {
		k := &topSink{Sink: o.sink(s, by), s: s, most: most}
		if w, ok := k.Sink.(drain.Waiter); ok {
			return struct {
				*topSink
				drain.Waiter
			}{k, w}
		}
		return k
	})
}
