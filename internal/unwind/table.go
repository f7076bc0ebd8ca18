package unwind

// Table is the rules of a module by its own addresses (vaddr). It does not change.
//
// A row holds from its start to that of the next. The index divides the addresses into
// buckets of equal size, so that few rows are compared: first[b] is the number of the row that holds at
// the start of bucket b.
type Table struct {
	base, end uint64 // what the rows cover
	starts    []uint32
	rules     []Rule
	first     []uint32
}

// bucketShift: a bucket is 256 bytes of code, in which some 5 rows begin.
const bucketShift = 8

// index makes the buckets.
func (t *Table) index() {
	n := (t.end-t.base)>>bucketShift + 1
	t.first = make([]uint32, n+1)
	at := 0
	for b := range t.first {
		for at+1 < len(t.starts) && uint64(t.starts[at+1]) <= uint64(b)<<bucketShift {
			at++
		}
		t.first[b] = uint32(at)
	}
}

// Row is a rule that holds from an address to that of the next row.
type Row struct {
	PC   uint64
	Rule Rule
}

// New makes a table of rows in the order of their addresses, of which the last one ends the code: its rule is not
// used. They must span less than 4 GiB.
func New(rows []Row) *Table {
	t := &Table{base: rows[0].PC, end: rows[len(rows)-1].PC}
	for _, r := range rows {
		t.starts, t.rules = append(t.starts, uint32(r.PC-t.base)), append(t.rules, r.Rule)
	}
	t.rules[len(rows)-1] = Rule(None)
	t.index()
	return t
}

// Rows returns how many rows there are.
func (t *Table) Rows() int { return len(t.starts) }

// Size returns the bytes of memory of the table.
func (t *Table) Size() int { return 8*len(t.starts) + 4*(len(t.first)+RowsAtOnce) }

// Find returns the rule at an address of the module.
func (t *Table) Find(vaddr uint64) Rule {
	if t == nil || vaddr < t.base || vaddr >= t.end {
		return Rule(None)
	}
	off := vaddr - t.base
	b := off >> bucketShift
	lo, hi := t.first[b], t.first[b+1]
	for lo < hi { // the last row that starts at or before off
		mid := (lo + hi + 1) / 2
		if uint64(t.starts[mid]) <= off {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return t.rules[lo]
}
