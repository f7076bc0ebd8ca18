package format

import "github.com/jalon-trace/jalon/internal/event"

// AppendField prints a field's value, or the reason why it has none, on one line. It does not print registers
// and stack traces.
func (p *Printer) AppendField(b []byte, ev *event.Event, v *event.Value) []byte {
	return p.appendField(b, ev, v)
}

// HeaderValue is a field of kind event.Header: a number, or the text of $comm.
func HeaderValue(ev *event.Event, name string) (n int64, text string, isText bool) {
	return headerValue(ev, name)
}

// Registers are the values of a field of kind event.Regs by their names.
func Registers(v *event.Value) map[string]uint64 {
	if len(v.Data) < 8*len(regNames) {
		return nil
	}
	out := map[string]uint64{}
	for i, name := range regNames {
		out[name] = register(v.Data, i)
	}
	return out
}
