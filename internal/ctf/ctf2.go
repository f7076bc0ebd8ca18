package ctf

import (
	"bytes"
	"encoding/json"
)

// The fragments of the metadata of CTF 2, as CTF2-SPEC-2.0 has them.
type (
	preamble2 struct {
		Type    string  `json:"type"`
		Version int     `json:"version"`
		UUID    [16]int `json:"uuid"`
	}
	alias2 struct {
		Type  string `json:"type"`
		Name  string `json:"name"`
		Class any    `json:"field-class"`
	}
	trace2 struct {
		Type         string         `json:"type"`
		Environment  map[string]any `json:"environment,omitempty"`
		PacketHeader any            `json:"packet-header-field-class"`
	}
	offset2 struct {
		Seconds int64 `json:"seconds"`
		Cycles  int64 `json:"cycles"`
	}
	clock2 struct {
		Type        string  `json:"type"`
		ID          string  `json:"id"`
		Name        string  `json:"name"`
		Description string  `json:"description"`
		Frequency   uint64  `json:"frequency"`
		Origin      string  `json:"origin"`
		Offset      offset2 `json:"offset-from-origin"`
		Precision   uint64  `json:"precision"`
	}
	stream2 struct {
		Type    string `json:"type"`
		ID      Class  `json:"id"`
		Clock   string `json:"default-clock-class-id"`
		Packet  any    `json:"packet-context-field-class"`
		Head    any    `json:"event-record-header-field-class"`
		Context any    `json:"event-record-common-context-field-class,omitempty"`
	}
	event2 struct {
		Type    string `json:"type"`
		ID      uint32 `json:"id"`
		Stream  Class  `json:"data-stream-class-id"`
		Name    string `json:"name"`
		Payload any    `json:"payload-field-class"`
	}
)

// metadata2 is a JSON text sequence (RFC 7464): each fragment is a line behind the character RS.
func metadata2(info *Info, schemas Schemas) ([]byte, error) {
	s := sequence2{}
	s.enc = json.NewEncoder(&s.b)
	s.enc.SetEscapeHTML(false)
	p := preamble2{Type: "preamble", Version: 2}
	for i, b := range info.UUID {
		p.UUID[i] = int(b)
	}
	s.add(p)
	for _, a := range append(integerAliases[:len(integerAliases):len(integerAliases)], statusClass) {
		s.add(alias2{"field-class-alias", a.name, a.of.ctf2("")})
	}
	t := trace2{Type: "trace-class", PacketHeader: packetHeader.ctf2("")}
	for _, e := range info.Env {
		if t.Environment == nil {
			t.Environment = map[string]any{}
		}
		t.Environment[e.Name] = e.Value
	}
	s.add(t)
	seconds, rest := info.wallOffset()
	s.add(clock2{"clock-class", clockName, clockName, clockText, clockRate, "unix-epoch", offset2{seconds, rest}, clockPrecision})
	for c := range classes {
		x := stream2{Type: "data-stream-class", ID: c, Clock: clockName, Packet: packetContext.ctf2(""), Head: eventHead(info.Large[c]).ctf2("")}
		if context, ok := eventContext(c); ok {
			x.Context = context.ctf2("")
		}
		s.add(x)
		list, err := eventClasses(c, schemas)
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			s.add(event2{"event-record-class", e.id, e.class, e.name, structOf(e.members...).ctf2("")})
		}
	}
	return s.b.Bytes(), s.err
}

// sequence2 is a JSON text sequence.
type sequence2 struct {
	b   bytes.Buffer
	enc *json.Encoder
	err error
}

func (s *sequence2) add(fragment any) {
	s.b.WriteByte(0x1e)
	if err := s.enc.Encode(fragment); s.err == nil {
		s.err = err
	}
}
