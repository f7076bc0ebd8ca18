package ctf

import "strconv"

// packetHeader is what each packet begins with.
var packetHeader = structOf(
	member{"magic", uint32Class, "packet-magic-number"},
	member{"uuid", uuidClass{}, "metadata-stream-uuid"},
	member{"stream_id", uint32Class, "data-stream-class-id"},
	member{"stream_instance_id", uint64Class, "data-stream-id"},
)

// packetContext follows it.
var packetContext = structClass{lines: true, members: []member{
	{"timestamp_begin", time64Class, "default-clock-timestamp"},
	{"timestamp_end", time64Class, "packet-end-default-clock-timestamp"},
	{"content_size", uint32Class, "packet-content-length"},
	{"head_crc32c", uint32Class, ""},
	{"packet_size", uint64Class, "packet-total-length"},
	{"packet_seq_num", uint32Class, "packet-sequence-number"},
	{"content_crc32c", uint32Class, ""},
	{"events_discarded", uint64Class, "discarded-event-record-counter-snapshot"},
	{"cpu_id", uint32Class, ""},
	{"pid", int32Class, ""},
}}

// eventHead is the head of the events of a stream. large: for many sites.
func eventHead(large bool) structClass {
	bits, align, short := compactIDs, 1, time27Class
	if large {
		bits, align, short = largeIDs, 8, time32Class
	}
	extended := 1<<bits - 1
	id := &enumClass{of: integerClass{bits: bits, align: align}, words: true, labels: []label{
		{"compact", "0", strconv.Itoa(extended - 1)}, {"extended", strconv.Itoa(extended), strconv.Itoa(extended)},
	}}
	const ofID, ofTime = "event-record-class-id", "default-clock-timestamp"
	return structClass{align: 8, lines: true, members: []member{
		{"id", id, ofID},
		{name: "v", of: &variantClass{by: "id", tag: id, options: []member{
			{name: "compact", of: structOf(member{"timestamp", short, ofTime})},
			{name: "extended", of: structOf(member{"id", uint32Class, ofID}, member{"timestamp", time64Class, ofTime})},
		}}},
	}}
}

// eventContext is behind the heads of the events of a class; ok: there is something.
func eventContext(c Class) (_ structClass, ok bool) {
	switch c {
	case Process:
		return structOf(member{name: "_vtid", of: int32Class}), true
	case Kernel:
		return structOf(member{name: "_tid", of: int32Class}, member{name: "_pid", of: int32Class}), true
	}
	return structClass{}, false
}

// eventClass is the events of a site, or of one kind in the stream of states.
type eventClass struct {
	id      uint32
	class   Class
	name    string
	members []member
}

// eventClasses are those of a class of streams. It fails if a schema is not one of a site.
func eventClasses(c Class, schemas Schemas) (list []eventClass, err error) {
	if c == State {
		return stateClasses(), nil
	}
	for _, s := range schemas[c] {
		p := newPlan(s)
		if err := p.check(); err != nil {
			return nil, err
		}
		list = append(list, eventClass{s.SiteID, c, eventName(s), p.members})
	}
	return list, nil
}
