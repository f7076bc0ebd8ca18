package format

import "github.com/jalon-trace/jalon/internal/event"

// otherFrame reports whether value i is of a variable in $args@n or $locals@n that the function which called does not have.
// Such a value is not shown. all: the group has no other values, and i is the first one.
func otherFrame(ev *event.Event, v *event.Value, i int) (hidden, all bool) {
	group := v.Field.Group
	if v.Status != event.OtherFrame || group == "" {
		return false, false
	}
	list := ev.Schema.Fields
	if i > 0 && list[i-1].Group == group {
		return true, false
	}
	for ; i < len(list) && list[i].Group == group; i++ {
		if other := ev.Value(i); other.Status != event.OtherFrame {
			return true, false
		}
	}
	return true, true
}

// appendOtherFrame is for a group without values.
func appendOtherFrame(b []byte, f *event.Field) []byte {
	b = append(append(append(b, ' '), f.Group...), '=')
	return appendStatus(b, event.OtherFrame, 0, "")
}
