package kernel

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/backend/ebpf"
	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/maps"
	"github.com/jalon-trace/jalon/internal/sema"
)

const (
	// mostTable bounds the memory of a table, which the kernel takes from the machine at once, for each sema.DefaultMapSlots keys that are asked for.
	mostTable = 64 << 20
	// largest is what a table has at most.
	largest = 512 << 20
	// leastSets is for how many CPUs a table with cells has sets of their own, before it has fewer slots than were asked for.
	leastSets = 4
)

// table is a map of the session: the value of an array map.
type table struct {
	name   string
	code   ebpf.Table
	buffer *bpf.Buffer
}

// tablesOf returns the tables of a program's maps, and makes those that do not exist yet.
func (e *loader) tablesOf(p *ir.Program) (list []*table, err error) {
	for n := range p.Maps {
		t, err := e.tableOf(&p.Maps[n])
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

func (e *loader) tableOf(m *ir.Map) (*table, error) {
	if !m.Shared {
		return nil, fmt.Errorf("the map %q: the kernel engine has maps of the session only", m.Name)
	}
	for _, t := range e.tables {
		if t.name == m.Name {
			return t, nil
		}
	}
	return e.newTable(m)
}

// newTable makes a table.
func (e *loader) newTable(m *ir.Map) (*table, error) {
	t := &table{name: m.Name, code: ebpf.Table{
		Name:  fmt.Sprintf("%s_map%d", bufferName, len(e.tables)),
		Shape: maps.Shape{Slots: m.Slots, Limit: m.Limit, Words: m.Words, More: m.More, Single: m.Single, Reuse: m.Deletes && !m.Single},
	}}
	if m.Cells {
		t.code.Sets = int(e.mem.flat.Layout(0).CPUMask) + 1
	}
	sets := leastSets
	for most := bound(m); ; most, sets = most/2, 1 {
		t.code.Shape = t.code.Fit(most, sets, 1)
		var err error
		if t.buffer, err = e.k.NewBuffer(t.code.Name, t.code.Bytes()); err == nil {
			maps.NewReader(t.code.Shape, t.buffer.Memory()).Begin()
			e.tables = append(e.tables, t)
			return t, nil
		}
		if !errors.Is(err, unix.E2BIG) || t.code.Slots == 1 { // kernels before 6.10 accept less
			return nil, fmt.Errorf("making the map %s: %w", m.Name, err)
		}
	}
}

// bound is how many bytes the table of a map may have.
func bound(m *ir.Map) uint64 {
	keys := m.Limit
	if keys == 0 {
		keys = m.Slots / 4 // see ir.Map.Deletes
	}
	return min(mostTable*uint64(max(1, keys/sema.DefaultMapSlots)), largest)
}

// Common is a table of both engines: the process maps the memory behind FD.
type Common struct {
	maps.Shape
	Name   string
	FD     int
	Size   uint64
	Memory []byte
}

// Common makes the table of a map that programs in a process use too, before the first Load. It has no cells.
func (e *Engine) Common(m *ir.Map) (Common, error) {
	if err := e.Permitted(); err != nil {
		return Common{}, err
	}
	t, err := e.loader.newTable(m)
	if err != nil {
		return Common{}, err
	}
	mem := t.buffer.Memory()
	return Common{Shape: t.code.Shape, Name: m.Name, FD: t.buffer.FD(), Size: uint64(len(mem)), Memory: mem}, nil
}

// Uncommon forgets the tables of Common: the process did not get one. Programs have not been loaded.
func (e *Engine) Uncommon() (err error) {
	for _, t := range e.loader.tables {
		err = errors.Join(err, t.buffer.Close())
	}
	e.loader.tables = nil
	return err
}

// Maps implements engine.Engine.
func (e *Engine) Maps(each func(name string, r *maps.Reader)) error {
	for _, t := range e.loader.tables {
		if mem := t.buffer.Memory(); mem != nil {
			each(t.name, maps.NewReader(t.code.Shape, mem))
		}
	}
	return nil
}
