package dwarf

// recent caches results by address: stacks contain the same return addresses thousands of times.
type recent[V any] struct{ m map[uint64]V }

// maxRecent bounds it.
const maxRecent = 1 << 14

func (r *recent[V]) get(vaddr uint64) (V, bool) {
	v, ok := r.m[vaddr]
	return v, ok
}

func (r *recent[V]) put(vaddr uint64, v V) {
	if r.m == nil || len(r.m) >= maxRecent {
		r.m = map[uint64]V{}
	}
	r.m[vaddr] = v
}
