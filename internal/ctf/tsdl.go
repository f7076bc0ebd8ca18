package ctf

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/lttng"
)

// Info is what the metadata says about a trace.
type Info struct {
	UUID [16]byte
	// WallOffset is added to times for the wall clock, in nanoseconds.
	WallOffset int64
	// Large: the classes of streams of which the heads are for many sites.
	Large [classes]bool
	// Env are the entries of the environment, in order: strings and int64.
	Env []Env
}

// Env is an entry of a trace's environment.
type Env struct {
	Name  string
	Value any // string or int64
}

// Schemas are the sites of a trace, by class.
type Schemas map[Class][]*event.Schema

const preamble = `/* CTF 1.8 */
/* A trace of jalon: https://github.com/jalon-trace/jalon */

typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 32; align = 8; signed = true; } := int32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;

`

// Metadata is the TSDL text of a trace. It fails if a schema is not one of a site.
func Metadata(info *Info, schemas Schemas) (string, error) {
	var b strings.Builder
	b.WriteString(preamble)
	fmt.Fprintf(&b, "trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"%s\";\n\tbyte_order = le;\n", uuidText(info.UUID))
	b.WriteString("\tpacket.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; uint64_t stream_instance_id; };\n};\n\n")
	if len(info.Env) > 0 {
		b.WriteString("env {\n")
		for _, e := range info.Env {
			switch v := e.Value.(type) {
			case string:
				fmt.Fprintf(&b, "\t%s = %s;\n", e.Name, quote(v))
			case int64:
				fmt.Fprintf(&b, "\t%s = %d;\n", e.Name, v)
			}
		}
		b.WriteString("};\n\n")
	}
	const second = 1e9
	offset := info.WallOffset / second
	rest := info.WallOffset % second
	if rest < 0 {
		offset, rest = offset-1, rest+second
	}
	fmt.Fprintf(&b, `clock {
	name = "monotonic";
	description = "CLOCK_MONOTONIC; the offset is that of the wall clock when the trace began";
	freq = 1000000000;
	precision = 1000;
	offset_s = %d;
	offset = %d;
	absolute = true;
};

typealias integer { size = 27; align = 1; signed = false; map = clock.monotonic.value; } := time27_t;
typealias integer { size = 32; align = 8; signed = false; map = clock.monotonic.value; } := time32_t;
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := time64_t;

`, offset, rest)
	for c := range classes {
		b.WriteString(streamText(c, info.Large[c]))
		if c == State {
			b.WriteString(stateText())
			continue
		}
		for _, s := range schemas[c] {
			text, err := eventText(c, s)
			if err != nil {
				return "", err
			}
			b.WriteString(text)
		}
	}
	return b.String(), nil
}

func uuidText(u [16]byte) string {
	x := hex.EncodeToString(u[:])
	return strings.Join([]string{x[:8], x[8:12], x[12:16], x[16:20], x[20:]}, "-")
}

func streamText(c Class, large bool) string {
	id := "enum : integer { size = 5; align = 1; signed = false; } { compact = 0 ... 30, extended = 31 } id;"
	short := "time27_t"
	if large {
		id = "enum : integer { size = 16; align = 8; signed = false; } { compact = 0 ... 65534, extended = 65535 } id;"
		short = "time32_t"
	}
	context := ""
	switch c {
	case Process:
		context = "\tevent.context := struct { int32_t _vtid; };\n"
	case Kernel:
		context = "\tevent.context := struct { int32_t _tid; int32_t _pid; };\n"
	}
	return fmt.Sprintf(`stream {
	id = %d;
	packet.context := struct {
		time64_t timestamp_begin; time64_t timestamp_end; uint32_t content_size; uint32_t head_crc32c; uint64_t packet_size;
		uint32_t packet_seq_num; uint32_t content_crc32c; uint64_t events_discarded; uint32_t cpu_id; int32_t pid;
	};
	event.header := struct {
		%s
		variant <id> { struct { %s timestamp; } compact; struct { uint32_t id; time64_t timestamp; } extended; } v;
	} align(8);
%s};

`, c, id, short, context)
}

// eventText declares the events of a site.
func eventText(c Class, s *event.Schema) (string, error) {
	p := newPlan(s)
	if err := p.check(); err != nil {
		return "", err
	}
	rows := "\n\t\t" + strings.Join(p.rows, "\n\t\t") + "\n\t"
	if len(p.rows) == 0 {
		rows = " "
	}
	return fmt.Sprintf("event {\n\tname = %s;\n\tid = %d;\n\tstream_id = %d;\n\tfields := struct {%s};\n};\n\n", quote(eventName(s)), s.SiteID, c, rows), nil
}

// eventName is what viewers call the events of a site: the place, but LTTng's names for tracepoints of the kernel.
func eventName(s *event.Schema) string {
	if system, name := lttng.Tracepoint(s.Place); name != "" {
		return lttng.EventName(system, name)
	}
	return s.Place
}

// fieldName is what viewers call a field: the expression, but LTTng's names at tracepoints of the kernel.
func fieldName(s *event.Schema, f *event.Field) string {
	if system, name := lttng.Tracepoint(s.Place); name != "" {
		return lttng.FieldName(system, name, f.Name)
	}
	return f.Name
}
