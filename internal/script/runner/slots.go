package runner

import (
	"slices"

	"github.com/jalon-trace/jalon/internal/maps"
	"github.com/jalon-trace/jalon/internal/script/plan"
	"github.com/jalon-trace/jalon/internal/sema"
)

// slots gives a map slots for the elements that it may have.
func slots(d *sema.Map, k *plan.SiteMap, asked int) {
	room := min(asked, sema.MaxMapSlots)
	for d.Slots < room {
		d.Slots *= 2
	}
	if k.Deletes && !k.Scalar && (k.InKernel || !byThread(d)) { // for new keys until the slots of deleted ones are given back
		d.Slots = min(4*d.Slots, sema.MaxMapSlots)
		_, words := d.Layout()
		for stride := int((maps.Shape{Words: d.Words(), More: words - 2}).Stride()); d.Slots < spareSlots && 2*d.Slots*stride <= spareBytes; {
			d.Slots *= 2
		}
	}
	if !k.Deletes { // keys that hits delete keep their slots for a while
		d.Limit = room
		d.Slots = min(2*d.Slots, sema.MaxMapSlots) // so that each key finds one
	}
	if k.Clears && d.Kind != sema.MapNumber && d.Slots < sema.MaxMapSlots {
		d.Slots *= 2 // for new keys until the slots of cleared ones are given back
	}
}

// byThread reports whether threads are in the keys: where a thread of a process ends, jalon looks through the whole table.
func byThread(d *sema.Map) bool {
	return slices.ContainsFunc(d.Key, func(part sema.KeyPart) bool { return part.Kind == sema.KeyThread || part.Kind == sema.KeyComm })
}

// spareBytes bounds the memory for these slots.
const spareBytes = 16 << 20

// spareSlots is how many slots a table has at least where ever new keys wait until jalon has given slots of deleted ones back: so many come in half a
// second by uprobes, while jalon waits for a processor.
var spareSlots = 1 << 18
