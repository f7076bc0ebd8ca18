package experiment

import (
	"fmt"
	"reflect"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// row is a row of the table of packets. Each part of an Experiment has the rows of those
// that it handles (its method packets).
type row struct {
	name, what string // as GDB's manual has them
	packet     reflect.Type
	handle     func(rsp.Packet) rsp.Packet
}

// on makes the row of a type of packet. The handler's error is sent to GDB unchanged.
func on[P rsp.Packet](name, what string, f func(P) (rsp.Packet, error)) row {
	return row{name, what, reflect.TypeFor[P](), func(p rsp.Packet) rsp.Packet {
		reply, err := f(p.(P))
		if err != nil {
			return rsp.ErrorText{Text: rsp.Raw(err.Error())}
		}
		return reply
	}}
}

// done makes the row of a packet whose answer is OK.
func done[P rsp.Packet](name, what string, f func(P) error) row {
	return on(name, what, func(p P) (rsp.Packet, error) { return rsp.OK{}, f(p) })
}

// tableOf puts the rows of all parts together.
func tableOf(parts ...[]row) map[reflect.Type]row {
	table := map[reflect.Type]row{}
	for _, rows := range parts {
		for _, r := range rows {
			if old, ok := table[r.packet]; ok {
				panic(fmt.Sprintf("BUG: %s and %s are both %v", old.name, r.name, r.packet))
			}
			table[r.packet] = r
		}
	}
	return table
}
