package export

import (
	"cmp"
	"compress/gzip"
	"io"
	"maps"
	"slices"

	"github.com/jalon-trace/jalon/internal/ctf"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/report"
)

var (
	_ = add(Format{Name: "folded", Doc: "counts of stacks, for flamegraph.pl and speedscope", Write: func(w io.Writer, r *report.Reader, _ *Options) error {
		x, err := report.MakeFlame(r)
		if err != nil {
			return err
		}
		return x.Folded(w)
	}})
	_ = add(Format{Name: "pprof", Doc: "counts of stacks, for go tool pprof", Write: writePprof})
)

// Numbers of fields in pprof's messages (proto/profile.proto in its repository).
const (
	profileType, profileSample, profileMapping, profileLocation, profileFunction, profileStrings, profileTime, profileDuration = 1, 2, 3, 4, 5, 6, 9, 10

	typeName, typeUnit                                             = 1, 2
	sampleLocations, sampleValues, sampleLabel                     = 1, 2, 3
	labelKey, labelText                                            = 1, 2
	mappingID, mappingStart, mappingLimit, mappingOffset           = 1, 2, 3, 4
	mappingFile, mappingBuildID                                    = 5, 6
	mappingFunctions, mappingInlined                               = 7, 10 // and between them: files and lines are known
	locationID, locationMapping, locationAddress, locationLine     = 1, 2, 3, 4
	lineFunction, lineNumber                                       = 1, 2
	functionID, functionName, functionSystemName, functionFileName = 1, 2, 3, 4
)

// pprof counts events by stack and thread name. An event without a stack is in a function with the name of its place.
type pprof struct {
	out       message
	strings   map[string]uint64
	list      []string
	functions map[[2]string]uint64
	locations map[location]uint64
	mappings  map[[2]string]uint64 // by file and build-id
	state     *ctf.States
}

type location struct {
	pc       uint64
	function uint64
	mapping  uint64
	line     int
}

type pprofKey struct {
	stack  uint32
	schema *event.Schema
	comm   string
}

func writePprof(w io.Writer, r *report.Reader, _ *Options) error {
	counts := map[pprofKey]uint64{}
	if err := r.Each(func(ev *event.Event) error {
		k := pprofKey{r.Stack(ev), nil, ev.Comm}
		if k.stack == 0 {
			k.schema = ev.Schema
		}
		counts[k]++
		return nil
	}); err != nil {
		return err
	}
	p := &pprof{
		strings: map[string]uint64{}, functions: map[[2]string]uint64{}, locations: map[location]uint64{}, mappings: map[[2]string]uint64{}, state: r.Trace.State,
	}
	p.text("")
	p.program(&r.Trace.Info)
	var kind message
	kind.uint(typeName, p.text("events"))
	kind.uint(typeUnit, p.text("count"))
	p.out.bytes(profileType, kind)
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b pprofKey) int {
		return cmp.Or(cmp.Compare(a.stack, b.stack), cmp.Compare(a.comm, b.comm), cmp.Compare(place(a.schema), place(b.schema)))
	})
	for _, k := range keys {
		p.sample(r, k, counts[k])
	}
	first, last, _ := r.Trace.Span()
	p.out.uint(profileTime, uint64(first+r.Trace.Info.WallOffset))
	p.out.uint(profileDuration, uint64(last-first))
	for _, s := range p.list {
		p.out.text(profileStrings, s)
	}
	z := gzip.NewWriter(w)
	if _, err := z.Write(p.out); err != nil {
		return err
	}
	return z.Close()
}

func place(s *event.Schema) string {
	if s == nil {
		return ""
	}
	return s.Place
}

func (p *pprof) text(s string) uint64 {
	s = utf8Text([]byte(s))
	n, ok := p.strings[s]
	if !ok {
		n = uint64(len(p.list))
		p.strings[s] = n
		p.list = append(p.list, s)
	}
	return n
}

func (p *pprof) sample(r *report.Reader, k pprofKey, count uint64) {
	var at []uint64
	for _, f := range r.Trace.State.Frames(k.stack) {
		at = append(at, p.location(f.PC, p.mapping(f.Module, f.BuildID), report.FrameName(&f), f.File, f.Line))
	}
	if k.schema != nil {
		at = append(at, p.location(k.schema.PC, 0, k.schema.Place, k.schema.File, k.schema.Line))
	}
	var label, sample message
	label.uint(labelKey, p.text("thread"))
	label.uint(labelText, p.text(k.comm))
	sample.packed(sampleLocations, at)
	sample.packed(sampleValues, []uint64{count})
	sample.bytes(sampleLabel, label)
	p.out.bytes(profileSample, sample)
}

// program adds the mapping of the traced program: pprof takes the first one for it.
func (p *pprof) program(info *ctf.FileInfo) {
	if len(p.state.Mappings) == 0 {
		if len(info.Command) > 0 {
			p.mapping(info.Command[0], "")
		}
		return
	}
	first := &p.state.Mappings[0]
	for i := range p.state.Processes {
		if x := &p.state.Processes[i]; x.Pid == first.Pid && x.Program != "" {
			for j := range p.state.Mappings {
				if m := &p.state.Mappings[j]; m.Pid == x.Pid && m.Path == x.Program {
					first = m
					break
				}
			}
		}
	}
	p.mapping(first.Path, first.BuildID)
}

// mapping returns the number of the mapping of a file; 0: frames have none.
func (p *pprof) mapping(file, build string) uint64 {
	key := [2]string{file, build}
	id, ok := p.mappings[key]
	if ok || file == "" {
		return id
	}
	id = uint64(len(p.mappings)) + 1
	p.mappings[key] = id
	var m message
	m.uint(mappingID, id)
	var start, limit, offset uint64
	for i := range p.state.Mappings {
		x := &p.state.Mappings[i]
		if x.Path == file && x.BuildID == build && x.Pid == p.state.Mappings[0].Pid {
			if limit == 0 {
				start, offset = x.Start, x.Offset
			}
			limit = x.End
		}
	}
	m.uint(mappingStart, start)
	m.uint(mappingLimit, limit)
	m.uint(mappingOffset, offset)
	m.uint(mappingFile, p.text(file))
	m.uint(mappingBuildID, p.text(build))
	for known := uint64(mappingFunctions); known <= mappingInlined; known++ { // pprof has nothing to look up
		m.uint(known, 1)
	}
	p.out.bytes(profileMapping, m)
	return id
}

func (p *pprof) location(pc, mapping uint64, name, file string, line int) uint64 {
	fn, ok := p.functions[[2]string{name, file}]
	if !ok {
		fn = uint64(len(p.functions)) + 1
		p.functions[[2]string{name, file}] = fn
		var f message
		f.uint(functionID, fn)
		f.uint(functionName, p.text(name))
		f.uint(functionSystemName, p.text(name))
		f.uint(functionFileName, p.text(file))
		p.out.bytes(profileFunction, f)
	}
	key := location{pc, fn, mapping, line}
	id, ok := p.locations[key]
	if !ok {
		id = uint64(len(p.locations)) + 1
		p.locations[key] = id
		var l, at message
		l.uint(lineFunction, fn)
		l.uint(lineNumber, uint64(max(line, 0)))
		at.uint(locationID, id)
		at.uint(locationMapping, mapping)
		at.uint(locationAddress, pc)
		at.bytes(locationLine, l)
		p.out.bytes(profileLocation, at)
	}
	return id
}
