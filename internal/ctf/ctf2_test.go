package ctf

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// properties are those of CTF2-SPEC-2.0 that jalon uses, by fragment and field class; those that begin with + are required.
var properties = map[string]string{
	"preamble":                           "+version uuid",
	"field-class-alias":                  "+name +field-class",
	"trace-class":                        "environment packet-header-field-class",
	"clock-class":                        "+id name description +frequency origin offset-from-origin precision",
	"data-stream-class":                  "id default-clock-class-id packet-context-field-class event-record-header-field-class event-record-common-context-field-class",
	"event-record-class":                 "id data-stream-class-id name payload-field-class",
	"fixed-length-unsigned-integer":      "+length +byte-order alignment preferred-display-base mappings roles",
	"fixed-length-signed-integer":        "+length +byte-order alignment preferred-display-base mappings roles",
	"fixed-length-floating-point-number": "+length +byte-order alignment",
	"null-terminated-string":             "",
	"static-length-string":               "+length",
	"dynamic-length-string":              "+length-field-location",
	"static-length-blob":                 "+length roles",
	"static-length-array":                "+element-field-class +length",
	"dynamic-length-array":               "+element-field-class +length-field-location",
	"structure":                          "member-classes minimum-alignment",
	"variant":                            "+options +selector-field-location",
}

type object = map[string]any

// reader2 reads packets by the metadata of CTF 2, and by nothing else. Values are texts as babeltrace2 prints them.
type reader2 struct {
	t       *testing.T
	aliases object
	streams map[uint64]object
	events  map[[2]uint64]object
	header  any
	b       []byte
	bit     int
	roles   map[string]uint64
	time    uint64
}

func newReader2(t *testing.T, metadata []byte) *reader2 {
	t.Helper()
	r := &reader2{t: t, aliases: object{}, streams: map[uint64]object{}, events: map[[2]uint64]object{}}
	list := bytes.Split(metadata, []byte{0x1e})
	if len(list[0]) > 0 {
		t.Fatalf("before the first RS: %q", list[0])
	}
	for i, text := range list[1:] {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		x := object{}
		if err := d.Decode(&x); err != nil || !bytes.HasSuffix(text, []byte("\n")) {
			t.Fatalf("fragment %d: %v: %q", i, err, text)
		}
		r.checkProperties(x)
		if (i == 0) != (x["type"] == "preamble") {
			t.Fatalf("fragment %d is a %v", i, x["type"])
		}
		switch x["type"] {
		case "field-class-alias":
			r.aliases[x["name"].(string)] = x["field-class"]
		case "trace-class":
			r.header = x["packet-header-field-class"]
		case "data-stream-class":
			r.streams[number(x["id"])] = x
		case "event-record-class":
			r.events[[2]uint64{number(x["data-stream-class-id"]), number(x["id"])}] = x
		}
	}
	return r
}

func number(v any) uint64 {
	n, err := strconv.ParseUint(string(v.(json.Number)), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// checkProperties checks a fragment or field class, and the classes in it.
func (r *reader2) checkProperties(x object) {
	kind, _ := x["type"].(string)
	text, ok := properties[kind]
	if !ok {
		r.t.Fatalf("no fragment or field class is a %q", kind)
	}
	allowed := strings.Fields(text)
	for _, p := range allowed {
		if name, required := strings.CutPrefix(p, "+"); required && x[name] == nil {
			r.t.Fatalf("a %s has no %s: %v", kind, name, x)
		}
	}
	for name, v := range x {
		if name != "type" && !slices.Contains(allowed, name) && !slices.Contains(allowed, "+"+name) {
			r.t.Fatalf("a %s has no %s", kind, name)
		}
		if name, ok := v.(string); ok && strings.HasSuffix(name, "field-class") && r.aliases[name] == nil {
			r.t.Fatalf("there is no alias %q yet", name)
		}
		if class, ok := v.(object); ok && class["type"] != nil {
			r.checkProperties(class)
		}
	}
	for _, list := range []string{"member-classes", "options"} {
		parts, _ := x[list].([]any)
		for _, p := range parts {
			if class, ok := p.(object)["field-class"].(object); ok {
				r.checkProperties(class)
			}
		}
	}
}

// value2 is a value: its text, and the number of an integer, or the members of a structure.
type value2 struct {
	text   string
	number uint64
}

func (r *reader2) align(bits int) { r.bit = (r.bit + bits - 1) / bits * bits }

// alignment is what a class needs, by the specification.
func (r *reader2) alignment(class any) int {
	x := r.class(class)
	n := 1
	switch x["type"] {
	case "structure":
		if m := x["minimum-alignment"]; m != nil {
			n = int(number(m))
		}
		parts, _ := x["member-classes"].([]any)
		for _, p := range parts {
			n = max(n, r.alignment(p.(object)["field-class"]))
		}
	case "static-length-array", "dynamic-length-array":
		n = r.alignment(x["element-field-class"])
	case "variant":
	case "fixed-length-unsigned-integer", "fixed-length-signed-integer", "fixed-length-floating-point-number":
		if a := x["alignment"]; a != nil {
			n = int(number(a))
		}
	default:
		n = 8
	}
	return n
}

func (r *reader2) class(class any) object {
	if name, ok := class.(string); ok {
		class = r.aliases[name]
	}
	return class.(object)
}

// read reads a field; the structure that it is in has these values.
func (r *reader2) read(class any, in map[string]value2) value2 {
	x := r.class(class)
	r.align(r.alignment(x))
	length := func() int {
		if at, ok := x["length-field-location"].(object); ok {
			return int(in[at["path"].([]any)[0].(string)].number)
		}
		return int(number(x["length"]))
	}
	switch x["type"] {
	case "fixed-length-unsigned-integer", "fixed-length-signed-integer":
		return r.integer(x)
	case "fixed-length-floating-point-number":
		b := r.bytes(length() / 8)
		if len(b) == 4 {
			return value2{text: floatText(float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))}
		}
		return value2{text: floatText(math.Float64frombits(binary.LittleEndian.Uint64(b)))}
	case "null-terminated-string":
		b := r.bytes(bytes.IndexByte(r.b[r.bit/8:], 0) + 1)
		return value2{text: quoted(b[:len(b)-1])}
	case "static-length-string", "dynamic-length-string":
		b, _, _ := bytes.Cut(r.bytes(length()), []byte{0})
		return value2{text: quoted(b)}
	case "static-length-blob":
		return value2{text: fmt.Sprintf("%x", r.bytes(length()))}
	case "static-length-array", "dynamic-length-array":
		var list []string
		for i := range length() {
			list = append(list, fmt.Sprintf("[%d] = %s", i, r.read(x["element-field-class"], in).text))
		}
		return value2{text: enclosed("[", list, "]")}
	case "structure":
		return r.structure(x)
	}
	return r.variant(x, in)
}

func enclosed(open string, list []string, end string) string {
	if len(list) == 0 {
		return open + " " + end
	}
	return open + " " + strings.Join(list, ", ") + " " + end
}

func (r *reader2) structure(x object) value2 {
	var list []string
	values := map[string]value2{}
	parts, _ := x["member-classes"].([]any)
	for _, p := range parts {
		name := p.(object)["name"].(string)
		if _, again := values[name]; again {
			r.t.Fatalf("two members are %q", name)
		}
		values[name] = r.read(p.(object)["field-class"], values)
		list = append(list, name+" = "+values[name].text)
	}
	return value2{text: enclosed("{", list, "}")}
}

func (r *reader2) variant(x object, in map[string]value2) value2 {
	selected := in[x["selector-field-location"].(object)["path"].([]any)[0].(string)].number
	for _, o := range x["options"].([]any) {
		for _, span := range o.(object)["selector-field-ranges"].([]any) {
			if b := span.([]any); selected >= number(b[0]) && selected <= number(b[1]) {
				return value2{text: "{ " + r.read(o.(object)["field-class"], nil).text + " }"}
			}
		}
	}
	r.t.Fatalf("no option for %d", selected)
	return value2{}
}

func (r *reader2) bytes(n int) []byte {
	b := r.b[r.bit/8:][:n]
	r.bit += 8 * n
	return b
}

func (r *reader2) integer(x object) value2 {
	bits, v := int(number(x["length"])), uint64(0)
	for i := range bits {
		v |= uint64(r.b[r.bit/8]>>(r.bit&7)&1) << i
		r.bit++
	}
	text := strconv.FormatUint(v, 10)
	switch {
	case x["type"] == "fixed-length-signed-integer":
		text = strconv.FormatInt(int64(v)<<(64-bits)>>(64-bits), 10)
	case x["preferred-display-base"] != nil:
		text = fmt.Sprintf("0x%X", v)
	}
	if names, ok := x["mappings"].(object); ok {
		label := "<unknown>"
		for name, spans := range names {
			if b := spans.([]any)[0].([]any); string(b[0].(json.Number)) == text {
				label = strconv.Quote(name)
			}
		}
		text = fmt.Sprintf("( %s : container = %s )", label, text)
	}
	list, _ := x["roles"].([]any)
	for _, role := range list {
		r.role(role.(string), v, bits)
	}
	return value2{text, v}
}

// role takes what a field of a packet or of the head of an event says.
func (r *reader2) role(role string, v uint64, bits int) {
	r.roles[role] = v
	if role == "default-clock-timestamp" {
		r.time = wrap(r.time, v, uint(bits))
		if bits == 64 {
			r.time = v
		}
	}
}

func floatText(x float64) string {
	return fmt.Sprintf("%.6g", x)
}

// packets reads a file of packets; it returns the texts of its events by time.
func (r *reader2) packets(b []byte, events map[uint64]string) {
	for len(b) > 0 {
		r.b, r.bit, r.roles = b, 0, map[string]uint64{}
		r.read(r.header, nil)
		stream := r.streams[r.roles["data-stream-class-id"]]
		r.read(stream["packet-context-field-class"], nil)
		if r.roles["packet-magic-number"] != magic {
			r.t.Fatalf("the magic number is %#x", r.roles["packet-magic-number"])
		}
		for end := int(r.roles["packet-content-length"]); r.bit < end; {
			r.read(stream["event-record-header-field-class"], nil)
			text := ""
			if c := stream["event-record-common-context-field-class"]; c != nil {
				text = r.read(c, nil).text + ", "
			}
			e := r.events[[2]uint64{number(stream["id"]), r.roles["event-record-class-id"]}]
			if e == nil {
				r.t.Fatalf("the event %d of class %v is not declared", r.roles["event-record-class-id"], stream["id"])
			}
			text += r.read(e["payload-field-class"], nil).text
			if number(stream["id"]) != uint64(State) {
				events[r.time] = text
			}
			if r.bit > end {
				r.t.Fatalf("an event ends at bit %d of %d", r.bit, end)
			}
		}
		if r.time != r.roles["packet-end-default-clock-timestamp"] {
			r.t.Fatalf("the last event is at %d, the packet ends at %d", r.time, r.roles["packet-end-default-clock-timestamp"])
		}
		b = b[r.roles["packet-total-length"]/8:]
	}
}

// sameText reports whether a line of babeltrace2 ends by a text. For an empty text 2.0 prints the one that an event before had there.
func sameText(line, want string) bool {
	pieces := strings.Split(want, `""`)
	last := len(pieces) - 1
	if !strings.HasSuffix(line, pieces[last]) {
		return false
	}
	line = line[:len(line)-len(pieces[last])]
	for _, piece := range slices.Backward(pieces[:last]) {
		i := strings.LastIndex(line, piece+`"`)
		if i < 0 {
			return false
		}
		line = line[:i]
	}
	return true
}

// quoted is a text as babeltrace2 prints it.
func quoted(b []byte) string {
	out := []byte{'"'}
	for _, c := range b {
		switch i := strings.IndexByte("\a\b\x1b\f\n\r\t\v\\\"?'", c); {
		case i >= 0:
			out = append(out, '\\', `abefnrtv\"?'`[i])
		case c < ' ' || c == 0x7f:
			out = fmt.Appendf(out, `\x%02x`, c)
		default:
			out = append(out, c)
		}
	}
	return string(append(out, '"'))
}

// TestCTF2: the metadata of CTF 2 have what the specification asks for, and a reader that knows only these finds the events and values that
// babeltrace2 finds by the metadata of CTF 1.8.
func TestCTF2(t *testing.T) {
	testkit.Need(t, "babeltrace2")
	first := uint64(testkit.Seed(t, 1))
	for seed := first; seed < first+2; seed++ {
		m := makeTrace(t, seed, 200)
		info := *m.info
		info.CTF2 = true
		text, err := Metadata(&info, m.sites)
		if err != nil {
			t.Fatal(err)
		}
		r, events := newReader2(t, text), map[uint64]string{}
		files, err := filepath.Glob(filepath.Join(m.dir, "[pks][re]*-*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range append(files, filepath.Join(m.dir, "state")) {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			r.packets(b, events)
		}
		out, err := exec.Command("babeltrace2", "--clock-cycles", "--no-delta", m.dir).Output()
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(string(out)) {
			stamp, rest, _ := strings.Cut(strings.TrimPrefix(line, "["), "] ")
			if !strings.Contains(rest, `file "`) {
				continue
			}
			n++
			at, _ := strconv.ParseUint(stamp, 10, 64)
			if want := events[at]; want == "" || !sameText(line, ", "+want+"\n") {
				t.Fatalf("seed %d: babeltrace2 has at %d\n%sby CTF 2 it is\n%s", seed, at, line, want)
			}
		}
		if n != len(m.events) || n != len(events) {
			t.Fatalf("seed %d: %d events, by CTF 2 %d, babeltrace2 has %d", seed, len(m.events), len(events), n)
		}
	}
}
