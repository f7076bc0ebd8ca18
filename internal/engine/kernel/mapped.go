package kernel

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/backend/ebpf"
	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/maps"
)

// mostTable bounds the memory of a table, which the kernel takes from the machine at once.
const mostTable = 64 << 20

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
	t := &table{name: m.Name, code: ebpf.Table{
		Name:  fmt.Sprintf("%s_map%d", bufferName, len(e.tables)),
		Shape: maps.Shape{Slots: m.Slots, Words: m.Words, More: m.More, Single: m.Single, Reuse: m.Own && !m.Single},
	}}
	if m.Cells {
		t.code.Sets = int(e.mem.flat.Layout(0).CPUMask) + 1
	}
	for {
		err := error(unix.E2BIG)
		if t.code.Bytes() <= mostTable {
			t.buffer, err = e.k.NewBuffer(t.code.Name, t.code.Bytes())
		}
		if err == nil {
			e.tables = append(e.tables, t)
			return t, nil
		}
		if !errors.Is(err, unix.E2BIG) || t.code.Slots == 1 { // kernels before 6.10 accept less
			return nil, fmt.Errorf("making the map %s: %w", m.Name, err)
		}
		t.code.Slots /= 2
	}
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
