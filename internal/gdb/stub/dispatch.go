package stub

import (
	"fmt"
	"reflect"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// row is a row of the table of packets. Each part of a Machine has the rows of those that
// it handles (its method packets); those of trace experiments are the Experiment's.
type row struct {
	name, what string // as GDB's manual has them
	packet     reflect.Type
	// handle carries the packet out. The result is the reply; nil: none, or it comes
	// later, or was sent already.
	handle func(rsp.Packet) rsp.Packet
}

// on makes the row of a type of packet.
func on[P rsp.Packet](name, what string, f func(P) rsp.Packet) row {
	return row{name, what, reflect.TypeFor[P](), func(p rsp.Packet) rsp.Packet { return f(p.(P)) }}
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
