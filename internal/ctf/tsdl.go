package ctf

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/lttng"
)

// Info is what the metadata says about a trace.
type Info struct {
	UUID [16]byte
	// CTF2: the metadata are those of CTF 2, not 1.8. The packets are the same.
	CTF2 bool
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

// The clock of all times.
const (
	clockName      = "monotonic"
	clockText      = "CLOCK_MONOTONIC; the offset is that of the wall clock when the trace began"
	clockRate      = 1e9
	clockPrecision = 1000
)

// wallOffset is WallOffset in seconds, and nanoseconds from 0 on.
func (x *Info) wallOffset() (seconds, rest int64) {
	seconds, rest = x.WallOffset/clockRate, x.WallOffset%clockRate
	if rest < 0 {
		seconds, rest = seconds-1, rest+clockRate
	}
	return seconds, rest
}

// Metadata is the file that describes the streams of a trace. It fails if a schema is not one of a site.
func Metadata(info *Info, schemas Schemas) ([]byte, error) {
	if info.CTF2 {
		return metadata2(info, schemas)
	}
	return metadata1(info, schemas)
}

// metadata1 is a text in TSDL.
func metadata1(info *Info, schemas Schemas) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("/* CTF 1.8 */\n/* A trace of jalon: https://github.com/jalon-trace/jalon */\n\n")
	writeAliases(&b, integerAliases)
	header, _ := packetHeader.tsdl()
	fmt.Fprintf(&b, "trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"%s\";\n\tbyte_order = le;\n\tpacket.header := %s;\n};\n\n", uuidText(info.UUID), header)
	writeEnvironment(&b, info.Env)
	seconds, rest := info.wallOffset()
	fmt.Fprintf(&b, "clock {\n\tname = %s;\n\tdescription = %s;\n\tfreq = %d;\n\tprecision = %d;\n\toffset_s = %d;\n\toffset = %d;\n\tabsolute = true;\n};\n\n",
		quote(clockName), quote(clockText), int64(clockRate), clockPrecision, seconds, rest)
	writeAliases(&b, timeAliases)
	for c := range classes {
		writeStream(&b, c, info.Large[c])
		list, err := eventClasses(c, schemas)
		if err != nil {
			return nil, err
		}
		for i := range list {
			list[i].writeTSDL(&b)
		}
	}
	return b.Bytes(), nil
}

func writeAliases(b *bytes.Buffer, list []*aliasClass) {
	for _, a := range list {
		spec, _ := a.of.tsdl()
		fmt.Fprintf(b, "typealias %s := %s;\n", spec, a.name)
	}
	b.WriteByte('\n')
}

func writeEnvironment(b *bytes.Buffer, env []Env) {
	if len(env) == 0 {
		return
	}
	b.WriteString("env {\n")
	for _, e := range env {
		switch v := e.Value.(type) {
		case string:
			fmt.Fprintf(b, "\t%s = %s;\n", e.Name, quote(v))
		case int64:
			fmt.Fprintf(b, "\t%s = %d;\n", e.Name, v)
		}
	}
	b.WriteString("};\n\n")
}

func uuidText(u [16]byte) string {
	x := hex.EncodeToString(u[:])
	return strings.Join([]string{x[:8], x[8:12], x[12:16], x[16:20], x[20:]}, "-")
}

func writeStream(b *bytes.Buffer, c Class, large bool) {
	packet, _ := packetContext.tsdl()
	head, _ := eventHead(large).tsdl()
	fmt.Fprintf(b, "stream {\n\tid = %d;\n\tpacket.context := %s;\n\tevent.header := %s;\n", c, packet, head)
	if context, ok := eventContext(c); ok {
		spec, _ := context.tsdl()
		fmt.Fprintf(b, "\tevent.context := %s;\n", spec)
	}
	b.WriteString("};\n\n")
}

func (e *eventClass) writeTSDL(b *bytes.Buffer) {
	fields, _ := structClass{members: e.members, lines: true}.tsdl()
	fmt.Fprintf(b, "event {\n\tname = %s;\n\tid = %d;\n\tstream_id = %d;\n\tfields := %s;\n};\n\n", quote(e.name), e.id, e.class, fields)
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
