package experiment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// list is what is left of an answer that GDB fetches piece by piece.
type list[T rsp.Packet] []T

// next gives one piece, and the end of the list when there is none.
func (l *list[T]) next() (rsp.Packet, error) {
	if len(*l) == 0 {
		return rsp.EndOfList{}, nil
	}
	p := (*l)[0]
	*l = (*l)[1:]
	return p, nil
}

// uploader gives a new GDB what is defined.
type uploader struct {
	*base
	catalogue  *catalogue
	variables  *variables
	runner     *runner
	statistics *statistics
	pieces     list[rsp.Packet] // the remaining packets of qTsP
	values     list[rsp.Packet] // qTsV
	markers    list[rsp.Packet] // qTsSTM
	// merging: GDB has uploaded the tracepoints and converts them to its own. If a marker at the
	// address of a static tracepoint is reported meanwhile, GDB 13 writes to a string that is not
	// allocated yet, and crashes; without markers it prints a warning.
	merging bool
}

func (x *uploader) reset() { x.pieces, x.values, x.markers = nil, nil, nil }

// packets are those that it handles.
func (x *uploader) packets() []row {
	return []row{
		on("qTfP", "begins the list of tracepoints", x.firstTracepoint),
		on("qTsP", "goes on with it", x.nextTracepoint),
		on("qTfV", "begins the list of trace state variables", x.firstVariable),
		on("qTsV", "goes on with it", x.nextVariable),
		on("qTfSTM", "begins the list of static tracepoint markers", x.firstMarker),
		on("qTsSTM", "goes on with it", x.nextMarker),
		on("qTSTMat", "those at an address", x.markersAt),
	}
}

func (x *uploader) firstTracepoint(rsp.FirstTracepoint) (rsp.Packet, error) {
	x.runner.Tick()
	x.pieces = x.definitions(func(s rsp.UploadedSource) []rsp.UploadedSource {
		// Whole, as it came: GDB 13 takes each piece for a command of its own.
		s.Length = uint64(len(s.Text))
		return []rsp.UploadedSource{s}
	})
	return x.pieces.next()
}

func (x *uploader) nextTracepoint(rsp.NextTracepoint) (rsp.Packet, error) {
	x.merging = len(x.pieces) == 0
	return x.pieces.next()
}

// definitions are the pieces of all tracepoints; split cuts sources.
func (x *uploader) definitions(split func(rsp.UploadedSource) []rsp.UploadedSource) []rsp.Packet {
	var out []rsp.Packet
	for _, tp := range x.catalogue.list {
		out = append(out, x.definition(tp, split)...)
	}
	return out
}

// definition are the pieces of one.
func (x *uploader) definition(tp *tracepoint, split func(rsp.UploadedSource) []rsp.UploadedSource) []rsp.Packet {
	var out []rsp.Packet
	n, a := tp.number, tp.addr
	out = append(out, rsp.UploadedTracepoint{
		Number: n, Addr: a, Enabled: tp.spec.Enabled, Step: tp.spec.Steps, Pass: tp.pass,
		Fast: tp.fast, Static: tp.spec.Kind == Static, Condition: tp.cond,
	})
	for _, act := range tp.actions {
		out = append(out, rsp.UploadedActions{Number: n, Addr: a, Actions: []rsp.Action{act}})
	}
	for _, act := range tp.steps {
		out = append(out, rsp.UploadedStepActions{Number: n, Addr: a, Actions: []rsp.Action{act}})
	}
	for _, s := range tp.sources {
		if s.Kind == "at" && tp.spec.Kind == Static && markerSource(string(s.Text)) {
			continue
		}
		for _, piece := range split(s) {
			out = append(out, piece)
		}
	}
	out = append(out, rsp.UploadedUsage{Number: n, Addr: a, Hits: x.statistics.hits(tp), Usage: x.statistics.bytes(tp)})
	return out
}

// markerSource reports whether a place is one that only strace understands. GDB 13
// sends it as `-qualified -m MARKER`, fails to read that back, and gives up the whole
// upload. Without a source it takes the address.
func markerSource(at string) bool { return strings.Contains(" "+at, " -m ") }

// firstVariable begins the upload, the youngest first as gdbserver does: GDB makes the
// variables in the opposite order, which is then that of their definition.
func (x *uploader) firstVariable(rsp.FirstVariable) (rsp.Packet, error) {
	x.values = nil
	for _, v := range slices.Backward(x.uploadedVariables()) {
		x.values = append(x.values, v)
	}
	return x.values.next()
}

func (x *uploader) nextVariable(rsp.NextVariable) (rsp.Packet, error) { return x.values.next() }

func (x *uploader) uploadedVariables() []rsp.UploadedVariable {
	var out []rsp.UploadedVariable
	for _, v := range x.variables.list {
		if v.implied {
			continue
		}
		u := rsp.UploadedVariable{Number: uint64(v.Number), Value: uint64(v.Value), Name: rsp.Text(v.Name)}
		if v.Builtin {
			u.Builtin = 1
		}
		out = append(out, u)
	}
	return out
}

func (x *uploader) firstMarker(rsp.FirstMarker) (rsp.Packet, error) {
	markers, err := x.engine.Markers()
	if err != nil {
		return nil, fmt.Errorf("static tracepoint markers: %w", err)
	}
	x.markers = packMarkers(markers)
	return x.markers.next()
}

func (x *uploader) nextMarker(rsp.NextMarker) (rsp.Packet, error) { return x.markers.next() }

func (x *uploader) markersAt(p rsp.MarkerAt) (rsp.Packet, error) {
	if x.merging {
		return rsp.EndOfList{}, nil
	}
	markers, err := x.engine.MarkersAt(p.Addr)
	if err != nil {
		return nil, fmt.Errorf("static tracepoint markers at %#x: %w", p.Addr, err)
	}
	packs := packMarkers(markers)
	if len(packs) == 0 {
		return rsp.EndOfList{}, nil
	}
	return packs[0], nil
}

// markerRoom is how many bytes of markers go into one answer; it may have one more.
const markerRoom = 1000

// packMarkers makes answers of several markers each.
func packMarkers(markers []Marker) []rsp.Packet {
	var out []rsp.Packet
	var pack []rsp.Marker
	room := 0
	for _, m := range markers {
		pack = append(pack, rsp.Marker{Addr: m.Addr, ID: rsp.Text(m.ID), Extra: rsp.Text(m.Extra)})
		if room += 20 + 2*len(m.ID) + 2*len(m.Extra); room >= markerRoom {
			out = append(out, rsp.Markers{List: pack})
			pack, room = nil, 0
		}
	}
	if len(pack) > 0 {
		out = append(out, rsp.Markers{List: pack})
	}
	return out
}
