package dwarf

import (
	"encoding/binary"
	"slices"

	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"
)

// calls are the calls of the module's functions, as compilers describe them (DW_TAG_call_site), and which of them a
// return address belongs to.
//
// A return address says which call was executed, and so which function was entered by it. That function may have
// reached another by tail calls, which leave no return address. Where the tail calls that lead there are not
// certain, nothing is known of the last one's caller.
type calls struct {
	*object
	*info
	in    map[uint64][]call // by the entry of the function that contains them
	index *callIndex
	tails map[uint64]tailReach
	ways  map[uint64][]way
	scan  *callScan
}

// call is an instruction that calls a function, or jumps to one.
type call struct {
	pc   uint64 // the return address, which is behind the instruction; 0 where a tail call has none described
	at   uint64 // an address in the instruction
	d    die
	f    *fn // whose code it is
	tail bool
}

// callIndex has all calls by the function that they call: calls, and tail calls. byPointer are calls by a pointer whose value
// the compiler describes.
type callIndex struct {
	calls, tails map[uint64][]call
	byPointer    []call
}

// mostIndexed bounds the debug information that is searched for the callers of a function, in bytes.
const mostIndexed = 48 << 20

// called is the entry of the function that c calls; 0: it is not known.
func (cs *calls) called(c call) uint64 {
	v, ok := c.d.attr(atCallOrigin)
	if !ok && c.d.ab.tag == tagGNUCallSite {
		v, ok = c.d.attr(atAbstractOrigin)
	}
	if !ok {
		return 0
	}
	d, ok := v.die()
	if !ok {
		return 0
	}
	if r := d.pcRanges(); r != nil {
		return r[0].Lo
	}
	if host.Processor != &amd64.Processor {
		return 0
	}
	to := cs.branch(c)
	if f := cs.functionAt(to); f != nil && f.d.funcName() == d.funcName() {
		return to
	}
	return 0
}

// branch is where the instruction of a call leads: call rel32, jmp rel32, jcc rel32.
func (cs *calls) branch(c call) uint64 {
	if c.pc == 0 {
		return cs.jump(c.at)
	}
	code := cs.file.ReadVaddr(c.pc-6, 6)
	if len(code) < 6 {
		return 0
	}
	near := c.pc + uint64(int64(int32(binary.LittleEndian.Uint32(code[2:]))))
	switch {
	case !c.tail && code[1] == 0xe8, c.tail && code[1] == 0xe9, c.tail && code[0] == 0x0f && code[1]&0xf0 == 0x80:
		return near
	case c.tail && code[4] == 0xeb:
		return c.pc + uint64(int64(int8(code[5])))
	}
	return 0
}

// jump is where the jump at an address leads.
func (cs *calls) jump(at uint64) uint64 {
	code := cs.file.ReadVaddr(at, 6)
	if len(code) < 6 {
		return 0
	}
	near := func(n int) uint64 {
		return at + uint64(n) + uint64(int64(int32(binary.LittleEndian.Uint32(code[n-4:]))))
	}
	switch {
	case code[0] == 0xe9:
		return near(5)
	case code[0] == 0x0f && code[1]&0xf0 == 0x80:
		return near(6)
	case code[0] == 0xeb, code[0]&0xf0 == 0x70:
		return at + 2 + uint64(int64(int8(code[1])))
	}
	return 0
}

// functionAt is the function with that entry.
func (cs *calls) functionAt(entry uint64) *fn {
	if u := cs.unitFor(entry); entry != 0 && u != nil {
		if f := u.functions().at(entry); f != nil && f.entry() == entry {
			return f
		}
	}
	return nil
}

// to are the calls of the module that lead to functions. In very large files they are those of one unit.
func (cs *calls) to(own *unit) *callIndex {
	if cs.index != nil {
		return cs.index
	}
	idx := &callIndex{calls: map[uint64][]call{}, tails: map[uint64][]call{}}
	x, size := cs.names(), uint64(0)
	for id := range x.main {
		size += x.units[id].end - x.units[id].off
	}
	if size > mostIndexed {
		cs.addCalls(idx, own)
		return idx
	}
	for id := range x.main {
		if x.hasCode(id) {
			cs.addCalls(idx, x.units[id])
		}
	}
	cs.index = idx
	return idx
}

func (cs *calls) addCalls(idx *callIndex, u *unit) {
	for _, f := range u.functions().fns {
		for _, c := range cs.callsIn(f) {
			to := cs.called(c)
			switch {
			case to == 0:
				if _, ok := c.passedValue(passed{target: true}); ok && !c.tail {
					idx.byPointer = append(idx.byPointer, c)
				}
			case c.tail:
				idx.tails[to] = append(idx.tails[to], c)
			default:
				idx.calls[to] = append(idx.calls[to], c)
			}
		}
	}
}

// tailReach are the functions that a function may continue in by tail calls alone. known: these are all.
type tailReach struct {
	entries []uint64
	known   bool
}

// mostReached bounds the functions of a tailReach.
const mostReached = 256

func (cs *calls) reach(entry uint64) tailReach {
	if r, ok := cs.tails[entry]; ok {
		return r
	}
	r := tailReach{known: true}
	seen := map[uint64]bool{}
	for todo := []uint64{entry}; len(todo) > 0 && r.known; todo = todo[1:] {
		f := cs.functionAt(todo[0])
		if f == nil || !describesTailCalls(f.d) || len(seen) > mostReached {
			r.known = false
			break
		}
		for _, c := range cs.callsIn(f) {
			if !c.tail {
				continue
			}
			to := cs.called(c)
			if to == 0 {
				r.known = false
			}
			if !seen[to] {
				seen[to] = true
				r.entries, todo = append(r.entries, to), append(todo, to)
			}
		}
	}
	if cs.tails == nil {
		cs.tails = map[uint64]tailReach{}
	}
	cs.tails[entry] = r
	return r
}

// describesTailCalls reports whether all tail calls of a function have entries.
func describesTailCalls(d die) bool {
	return slices.ContainsFunc([]uint16{atCallAllCalls, atCallAllSourceCalls, atCallAllTailCalls, atGNUAllTailCallSites, atGNUAllCallSites, atGNUAllSourceCallSites}, d.flag)
}

// way leads to a function: a call, which leaves the return address, and the tail calls behind it, if any.
type way []call

// Bounds of the ways to a function.
const (
	mostWays  = 1024
	mostTails = 6
)

// waysTo are the ways to the function with that entry, each of which is the only one for its return address, in
// the order of these.
func (cs *calls) waysTo(f *fn) []way {
	entry := f.entry()
	if list, ok := cs.ways[entry]; ok {
		return list
	}
	idx := cs.to(f.d.u)
	var list []way
	if cs.enteredOnce(entry) {
		for start, tails := range cs.tailsTo(idx, entry) {
			for _, c := range idx.calls[start] {
				list = append(list, append(way{c}, tails...))
			}
		}
	}
	slices.SortFunc(list, func(a, b way) int { return int(int64(a[0].pc) - int64(b[0].pc)) })
	if cs.ways == nil {
		cs.ways = map[uint64][]way{}
	}
	if len(list) > mostWays {
		list = nil
	}
	cs.ways[entry] = list
	return list
}

// enteredOnce reports whether the function with that entry does not reach itself by tail calls.
func (cs *calls) enteredOnce(entry uint64) bool {
	again := cs.reach(entry)
	return again.known && !slices.Contains(again.entries, entry)
}

// mostByPointer bounds the calls by pointers: each of them may be one of any function.
const mostByPointer = 128

// byPointer are the calls by pointers that may be calls of a function. Which function they called shows at the hit.
func (cs *calls) byPointer(f *fn) []call {
	list := cs.to(f.d.u).byPointer
	if len(list) > mostByPointer || !cs.enteredOnce(f.entry()) {
		return nil
	}
	return list
}

// tailsTo are the functions from which tail calls lead to an entry in exactly one way, with these calls.
func (cs *calls) tailsTo(idx *callIndex, entry uint64) map[uint64][]call {
	found := map[uint64][]call{entry: nil}
	ambiguous := map[uint64]bool{}
	type step struct {
		at    uint64
		tails []call
	}
	for todo := []step{{at: entry}}; len(todo) > 0; todo = todo[1:] {
		s := todo[0]
		for _, c := range idx.tails[s.at] {
			from := c.f.entry()
			if len(s.tails) >= mostTails {
				return map[uint64][]call{entry: nil}
			}
			if _, again := found[from]; again {
				ambiguous[from] = true
				continue
			}
			tails := append([]call{c}, s.tails...)
			found[from] = tails
			todo = append(todo, step{from, tails})
		}
	}
	for from, tails := range found {
		sure := from == entry || cs.reach(from).known
		for _, c := range tails {
			at := c.f.entry()
			sure = sure && !ambiguous[at] && !slices.Contains(cs.reach(at).entries, at)
		}
		if !sure {
			delete(found, from)
		}
	}
	return found
}

// passedValue is the expression for what a call passes, or for the function that it calls.
func (c call) passedValue(want passed) (v val, ok bool) {
	if want.target {
		return c.d.expression(atCallTarget, atGNUCallSiteTarget)
	}
	for p := range c.d.children() {
		if t := p.ab.tag; t != tagCallSiteParameter && t != tagGNUCallSiteParameter || !p.passes(want) {
			continue
		}
		if want.size > 0 {
			return p.expression(atCallDataValue, atGNUCallSiteDataValue)
		}
		return p.expression(atCallValue, atGNUCallSiteValue)
	}
	return val{}, false
}

// expression is the first of those attributes that is an expression.
func (d die) expression(names ...uint16) (v val, ok bool) {
	for _, n := range names {
		if v, ok = d.attr(n); ok && v.IsBlock() && len(v.B) > 0 {
			return v, true
		}
	}
	return val{}, false
}

// passes reports whether a parameter of a call is the one that is wanted.
func (d die) passes(want passed) bool {
	if want.param.ab != nil {
		for _, n := range []uint16{atCallParameter, atAbstractOrigin} {
			if r, ok := d.ref(n); ok {
				return r.key() == want.param.key()
			}
		}
		return false
	}
	v, ok := d.attr(atLocation)
	if !ok || !v.IsBlock() {
		return false
	}
	c := raw.Cursor{B: v.B}
	switch code := c.U8(); {
	case code >= opReg0 && code < opReg0+32:
		return int(code)-opReg0 == want.reg && c.Done()
	case code == opRegx:
		return c.ULEB() == uint64(want.reg) && c.Done()
	}
	return false
}

// Operations of location expressions.
const (
	opReg0 = 0x50
	opRegx = 0x90
)
