package ring

import (
	"encoding/binary"
	"fmt"
	"math/rand"
	"slices"
	"sync"
	"testing"
)

func pcsOf(b []byte) (list []uint64) {
	for ; len(b) >= 8; b = b[8:] {
		list = append(list, binary.LittleEndian.Uint64(b))
	}
	return list
}

// randomStacks are stacks of which many begin alike, as calls of a program do.
func randomStacks(r *rand.Rand, n int) (list [][]uint64) {
	for range n {
		s := make([]uint64, 1+r.Intn(40))
		for i := range s {
			s[i] = 0x7f1234560000 + uint64(r.Intn(1+i/4))*0x1111
		}
		if r.Intn(50) == 0 { // recursion
			for i := range s {
				s[i] = 0x401000
			}
		}
		list = append(list, s)
	}
	return list
}

// TestStacks: threads enter the same stacks at once. Each gets one number, by which it is found again.
func TestStacks(t *testing.T) {
	const threads = 4
	list := randomStacks(rand.New(rand.NewSource(1)), 20000)
	shared := newShared(t, geometry(t, 1, PageSize, 1))
	var numbers [threads][]uint32
	var wg sync.WaitGroup
	for i := range threads {
		wg.Go(func() {
			table := shared.Stacks()
			for k, s := range list {
				numbers[i] = append(numbers[i], table.Intern(s, uint8(k%6)))
			}
		})
	}
	wg.Wait()
	table := shared.Stacks()
	known := map[string]uint32{}
	for k, s := range list {
		for i := range threads {
			if n := numbers[i][k]; n == 0 || n != numbers[0][k] {
				t.Fatalf("stack %d is %#x and %#x", k, numbers[0][k], n)
			}
		}
		number, end := numbers[0][k], uint8(k%6)
		got, reason := table.Frames(number)
		if !slices.Equal(pcsOf(got), s) || reason != end {
			t.Fatalf("stack %d, %#x: %#x ends with %d, want %#x with %d", k, number, pcsOf(got), reason, s, end)
		}
		key := fmt.Sprint(s, end)
		if n, ok := known[key]; ok && n != number {
			t.Errorf("equal stacks are %#x and %#x", n, number)
		}
		known[key] = number
	}
	distinct := map[uint32]bool{}
	for _, n := range known {
		distinct[n] = true
	}
	if len(distinct) != len(known) || table.Full() != 0 {
		t.Errorf("%d stacks have %d numbers; %d had no place", len(known), len(distinct), table.Full())
	}
}

// TestStacksFull: stacks without a place are counted, those that have one keep it.
func TestStacksFull(t *testing.T) {
	table := newShared(t, geometry(t, 1, PageSize, 1)).Stacks()
	r := rand.New(rand.NewSource(2))
	stack := make([]uint64, 60)
	type entry struct {
		number uint32
		stack  []uint64
	}
	var some []entry
	full, n := uint64(0), 0
	for ; full < 500; n++ {
		for i := range stack {
			stack[i] = uint64(r.Intn(1 << 30))
		}
		number := table.Intern(stack, 0)
		if number == 0 {
			full++
		} else if n%64 == 0 {
			some = append(some, entry{number, slices.Clone(stack)})
		}
	}
	nodes := 60 * n
	t.Logf("%d stacks of %d frames, of which 500 have no place, in %d places", n, nodes, StackNodes)
	if table.Full() != full || nodes < StackNodes/2 {
		t.Errorf("%d had no place, %d are counted; %d nodes", full, table.Full(), nodes)
	}
	for _, e := range some {
		if got, _ := table.Frames(e.number); !slices.Equal(pcsOf(got), e.stack) {
			t.Fatalf("%#x is %#x, want %#x", e.number, pcsOf(got), e.stack)
		}
	}
}

// TestStacksHostile: whatever the program writes to the table, its reader ends, and keeps little memory.
func TestStacksHostile(t *testing.T) {
	shared := newShared(t, geometry(t, 1, PageSize, 1))
	table := shared.Stacks()
	r := rand.New(rand.NewSource(3))
	for place := range uint32(StackNodes) {
		w := r.Uint64() &^ StackFirst
		if r.Intn(4) != 0 {
			w = w&^(1<<StackShift-1) | uint64(1+r.Intn(StackProbes))
		}
		if r.Intn(2000) == 0 {
			w |= StackFirst
		}
		*table.node(place) = w
	}
	// A node that is its own parent: pc 0x1000 at the place p with p = home(p, pc).
	const pc = 0x1000
	for p := range uint32(StackNodes) {
		if StackHome(p, pc) == p {
			*table.node(p) = StackWord(pc, false)
			if got, _ := table.Frames(StackKnown | p); got != nil {
				t.Errorf("a circle has %d frames", len(got)/8)
			}
			break
		}
	}
	found := 0
	for range 100000 {
		got, _ := table.Frames(r.Uint32())
		if len(got) > 8*maxStack {
			t.Fatalf("%d bytes", len(got))
		}
		if got != nil {
			found++
		}
		if table.bytes > keptStacks {
			t.Fatalf("%d bytes are kept", table.bytes)
		}
	}
	if found == 0 {
		t.Error("no stack was found")
	}
	_ = shared.Close()
	for range 100 {
		if got, _ := table.Frames(r.Uint32() | StackKnown); len(got) > 8*maxStack {
			t.Error("frames of a closed table")
		}
	}
}

// BenchmarkStacks is what the reader does for a record: the frames of one of 1000 stacks by its number.
func BenchmarkStacks(b *testing.B) {
	table := StacksIn(make([]byte, StacksSize))
	var numbers []uint32
	for _, s := range randomStacks(rand.New(rand.NewSource(4)), 1000) {
		numbers = append(numbers, table.Intern(s, 0))
	}
	i := 0
	for b.Loop() {
		if got, _ := table.Frames(numbers[i%len(numbers)]); got == nil {
			b.Fatal("no stack")
		}
		i++
	}
}
