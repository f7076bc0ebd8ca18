package sema

import (
	"fmt"
	"slices"
	"sync"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/lang"
)

// Map declares a map of the session: programs of all places and both engines that use a map of this name use the same
// elements. All its Inputs have an equal declaration, which fixes how keys and values lie in memory.
//
// A key is a list of parts, in the order of Key. An integer, enumeration or pointer is a word: its value by C's rules,
// extended to 64 bits by its type. A text is Bytes bytes, up to its NUL and zeros behind it.
//
// A value is a list of words, by Kind:
//
//	MapNumber  the number
//	MapCount   updates
//	MapSum     the sum
//	MapAvg     updates, the sum (MapStats the same)
//	MapMin     updates, and the complement of the smallest value; see Extreme
//	MapMax     updates, and the largest value; see Extreme
//	MapHist    updates by the index of bpftrace's hist() with Bits: negative values, 0, 1, ...
//	MapLinear  updates by the index of bpftrace's lhist(): below Low, Low to Low+Step-1, ..., High and above
//
// All kinds but MapNumber have cells: each CPU of each engine has its own words, which a reader adds up (Sums words) or
// takes the largest of. A key is in such a map if a word of its updates is not 0; in MapSum and MapNumber if its slot is shown.
type Map struct {
	Name string
	Kind MapKind
	Key  []KeyPart // empty: the map has one element, without key
	// Unsigned says that values are unsigned, for the order of the smallest and the largest.
	Unsigned        bool
	Bits            uint  // of MapHist
	Low, High, Step int64 // of MapLinear
	Slots           int   // keys that there is room for, about; 0: DefaultMapSlots. A power of two
	// Limit is how many keys the map has at most in each engine; 0: as many as there is room for. Keys that hits delete count until their slots are given
	// back, so a map with Delete has none.
	Limit int
	// SetOnly says that a MapNumber has no Update: then a key that is deleted keeps its number, hidden, and a thread that sets it
	// meanwhile leaves that number or no key.
	SetOnly bool
	// Deletes says that sites delete keys.
	Deletes bool
	// Both: sites in the process and in the kernel use one table of a MapNumber, whose keys have no KeyComm, KeyStack or KeySite. Then a KeyThread is the
	// number of the thread.
	Both bool
	// Infer, if not nil: Key and Unsigned follow from the types of the first place where an action is compiled.
	Infer *Inferred
}

// Inferred has the types of operands at the first place.
type Inferred struct {
	mu    sync.Mutex
	done  bool
	types ActionTypes
}

// TypeOf is the type of a part of a key, nil if it is not known, or no number.
func (m *Map) TypeOf(i int) *ctype.Type {
	if m.Infer == nil {
		return nil
	}
	m.Infer.mu.Lock()
	defer m.Infer.mu.Unlock()
	if i >= len(m.Infer.types.Key) {
		return nil
	}
	return m.Infer.types.Key[i]
}

// MapKind is what the values of a map are.
type MapKind uint8

// The kinds.
const (
	MapNumber MapKind = iota
	MapCount
	MapSum
	MapAvg
	MapStats
	MapMin
	MapMax
	MapHist
	MapLinear
)

// KeyPart is a part of a key.
type KeyPart struct {
	Kind  KeyKind
	Bytes int // of a KeyText: a multiple of 8 up to MaxKeyText
	// Frames is how many frames of a KeyStack in the kernel engine count; 0: all.
	Frames int
}

// text reports parts of several words.
func (p KeyPart) text() bool { return p.Kind == KeyText || p.Kind == KeyComm }

// KeyKind is what a part of a key is.
type KeyKind uint8

// The kinds of parts.
const (
	KeyNumber KeyKind = iota
	KeyText
	// KeyStack is a stack, as its number in the session's table of stacks (ring.Stacks), or in those of the kernel engine; 0: the table had no
	// room. In the kernel a stack of a program has the number of an address space in the upper half (ir.UserStack), and one of the kernel
	// does not have ring.StackKnown (1: there is no stack). A stack of a program may have several such numbers there.
	KeyStack
	// KeyThread is the thread: in a process its thread pointer (which at one time one thread has), in the kernel its number
	// ($tid), which is less than LeastThread.
	KeyThread
	// KeyComm is the name of the thread, of CommBytes: in the kernel its text, in a process the thread as in KeyThread.
	KeyComm
	// KeySite is the number of the site (event.Schema.SiteID): each engine has its own.
	KeySite
)

// CommBytes are those of a KeyComm.
const CommBytes = 16

// LeastThread is less than any thread pointer, and more than any number of a thread (the kernel's PID_MAX_LIMIT).
const LeastThread = 1<<22 + 1

// Limits of maps.
const (
	DefaultMapSlots = 4096
	MaxMapSlots     = ir.MaxMapSlots
	MaxKeyText      = 64
	MaxHistBits     = 5
	MaxLinear       = 1000 // ranges
)

// Action is a change of a map at a hit.
//
// Actions are executed in their order, when the condition holds and (but for Begin) before the record is taken. One whose operands cannot
// be evaluated (memory that cannot be read, a division by zero) changes nothing, and is counted (ring.CounterCondFault).
type Action struct {
	Map *Map // nil: Update, Set and Delete only have one
	Do  Do
	// Local is the number of what Keep and Taken keep.
	Local int
	After int // see Begin
	// Key has an expression for each part: a scalar for KeyNumber; for KeyText str(p[, n]), a pointer to characters or
	// an array of them; $bt for KeyStack: at places in the kernel the kernel's, and $ubt is the program's.
	Key   []lang.Expr
	Value lang.Expr // nil where there is none
	If    lang.Expr // nil: always
	From  lang.Text // what the expressions are written in, for diagnostics
	// ValueFrom is what Value is written in, if not From.
	ValueFrom lang.Text
	// False: a hit that leaves is counted as one for which the condition does not hold.
	False bool
}

// Do is what an action does.
type Do uint8

// The actions.
const (
	// Update counts, or adds Value, or takes it into account otherwise: as Map.Kind says. Of a MapNumber: adds it (@x += Value).
	Update Do = iota
	Set       // element = Value; MapNumber only
	Delete    // the element; MapNumber only
	// Keep keeps Value for the hit: it is @local(Local) in later actions and in what is collected. It is 0 if If does not hold,
	// or Value cannot be evaluated.
	Keep
	// Leave ends the hit without a record.
	Leave
	// Begin begins a part of the hit, up to its End, that is executed if If holds. Parts can have parts. Behind a part that is not executed its
	// locals have what they had before, or 0, and nothing is promised of its items. With parts, actions and items are one sequence: each action
	// comes behind the first After items. There is no Leave.
	Begin
	End
	// Eval evaluates Value, which may assign to trace state variables.
	Eval
	// Taken keeps the value of item After-1, a number of 8 bytes; 0 if it has none. Value is that of the item, for hits without a record.
	Taken
)

// Layout is where the parts of keys lie: the first word of each.
func (m *Map) Layout() (first []int, words int) {
	// The first two words are for numbers: they are in registers.
	numbers := 0
	words = 2
	for _, p := range m.Key {
		switch {
		case p.text():
			first = append(first, words)
			words += p.Bytes / 8
		case numbers < 2:
			first = append(first, numbers)
			numbers++
		default:
			first = append(first, words)
			words++
		}
	}
	return first, words
}

// Words is the number of words of a value, Sums how many of them a reader adds up.
func (m *Map) Words() int {
	switch m.Kind {
	case MapAvg, MapStats, MapMin, MapMax:
		return 2
	case MapHist:
		return HistIndex(1<<63-1, m.Bits) + 1
	case MapLinear:
		return int((m.High-m.Low)/m.Step) + 2
	}
	return 1
}

// Sums is how many of the words of a value a reader adds up; it takes the largest of the others.
func (m *Map) Sums() int {
	if m.Kind == MapMin || m.Kind == MapMax {
		return 1
	}
	return m.Words()
}

// Shows says that a key is in the map if its slot is shown, not if it has updates.
func (m *Map) Shows() bool { return m.Kind == MapNumber || m.Kind == MapSum }

// Extreme is the smallest or largest value, from the second word of a value.
func (m *Map) Extreme(word uint64) uint64 {
	if m.Kind == MapMin {
		word = ^word
	}
	if !m.Unsigned {
		word ^= 1 << 63
	}
	return word
}

// HistIndex is the index of a value in bpftrace's hist(v, k).
func HistIndex(v int64, k uint) int {
	if v < 0 {
		return 0
	}
	power := 0
	for v>>power >= 2<<k {
		power++
	}
	return power<<k + int(v>>power) + 1
}

// own reports whether the thread is a part of the keys of numbers: each key is one thread's.
func (m *Map) own() bool {
	return m.Kind == MapNumber && slices.ContainsFunc(m.Key, func(p KeyPart) bool { return p.Kind == KeyThread })
}

// ThreadNumbers declares the map in which hits in a process find the numbers of their threads, by the thread pointer: jalon lists them there.
func ThreadNumbers() *Map {
	return &Map{Name: "numbers of threads", Key: []KeyPart{{Kind: KeyNumber}}, Slots: 1 << 14, SetOnly: true}
}

// IR declares the map in programs.
func (m *Map) IR() ir.Map {
	_, words := m.Layout()
	d := ir.Map{Name: m.Name, Words: m.Words(), Slots: m.Slots, Limit: m.Limit, More: words - 2, Single: len(m.Key) == 0, Cells: m.Kind != MapNumber, Deletes: m.Deletes, Shared: true}
	switch {
	case d.Single:
		d.Slots, d.Limit = 1, 0
	case d.Slots == 0:
		d.Slots = DefaultMapSlots
	}
	return d
}

// check describes what is wrong with a declaration, "" if nothing is.
func (m *Map) check() string {
	_, words := m.Layout()
	switch {
	case m.Kind > MapLinear:
		return "an unknown kind of map"
	case words > ir.MaxKeyWords:
		return fmt.Sprintf("the key of %s has %d bytes; a key has at most %d", m.Name, 8*words, 8*ir.MaxKeyWords)
	case m.Kind == MapHist && m.Bits > MaxHistBits:
		return fmt.Sprintf("the bits of a histogram must be from 0 to %d", MaxHistBits)
	case m.Kind == MapLinear && m.Step <= 0:
		return "the step of a histogram must be greater than 0"
	case m.Kind == MapLinear && m.Low >= m.High:
		return "the lower bound of a histogram must be less than the upper bound"
	case m.Kind == MapLinear && uint64(m.High-m.Low)/uint64(m.Step) > MaxLinear:
		return fmt.Sprintf("a histogram has at most %d ranges", MaxLinear)
	case m.Limit < 0:
		return fmt.Sprintf("a limit of %d keys", m.Limit)
	case m.Slots < 0 || m.Slots > ir.MaxMapSlots || m.Slots&(m.Slots-1) != 0:
		return fmt.Sprintf("room for %d keys: not a power of two up to %d", m.Slots, ir.MaxMapSlots)
	}
	for _, p := range m.Key {
		if p.Kind > KeySite || p.Kind == KeyComm && p.Bytes != CommBytes || p.text() && (p.Bytes <= 0 || p.Bytes%8 != 0 || p.Bytes > MaxKeyText) {
			return fmt.Sprintf("a part of a key of %d bytes: not a multiple of 8 up to %d", p.Bytes, MaxKeyText)
		}
	}
	return ""
}

// ActionTypes are the types of an action's operands at the place, for showing them.
type ActionTypes struct {
	Key   []*ctype.Type // nil for KeyText and KeyStack
	Value *ctype.Type
}
