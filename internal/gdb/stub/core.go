package stub

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// core is what all parts of a Machine use: the target, what this GDB has said, and what is
// to be sent.
type core struct {
	target   Target
	exp      Experiment
	cfg      Config
	caps     Caps
	disabled map[string]bool
	log      func(string)
	debug    bool    // each packet is logged (monitor set debug 1)
	extended bool    // `!`: stay when no process is left
	options  Options // what GDB has asked to be reported
	out      []Out

	peer
}

// peer is what is known of the GDB of a connection.
type peer struct {
	connected bool
	offers    map[string]bool // GDB's features
	multi     bool            // thread ids have a process
	desc      *rsp.Target     // what GDB takes the registers for; nil: the target's description
	nonStop   bool
	denied    map[string]bool // QAllow
}

func newCore(target Target, exp Experiment, cfg Config) *core {
	if cfg.PacketSize == 0 {
		cfg.PacketSize = rsp.DefaultPacketSize
	}
	x := &core{target: target, exp: exp, cfg: cfg, caps: target.Caps(), log: cfg.Log}
	x.disabled = disabled(cfg.Disabled)
	if x.log == nil {
		x.log = func(string) {}
	}
	return x
}

func (x *core) reset() { x.peer = peer{offers: map[string]bool{}, denied: map[string]bool{}} }

// name is the thread's id in GDB's form.
func (x *core) name(id ThreadID) rsp.ThreadID {
	if x.multi {
		return rsp.ThreadID{PID: int64(id.PID), TID: int64(id.TID), Multi: true}
	}
	return rsp.ThreadID{TID: int64(id.TID)}
}

func (x *core) emit(o Out) { x.out = append(x.out, o) }

// reply sends a packet; nil is none.
func (x *core) reply(p rsp.Packet) {
	if p != nil {
		x.emit(Out{Kind: OutReply, Payload: rsp.Encode(p)})
	}
}

// print shows text to GDB's user, in pieces that fit into packets.
func (x *core) print(text string) {
	for room := x.cfg.PacketSize/2 - 1; text != ""; {
		n := min(len(text), room)
		x.reply(rsp.Output{Text: rsp.Text(text[:n])})
		text = text[n:]
	}
}

// description is that of the registers that GDB knows of.
func (x *core) description() *rsp.Target {
	if x.desc != nil {
		return x.desc
	}
	return x.target.Description()
}

// applyOptions passes the events that GDB has requested to the target.
func (x *core) applyOptions() {
	x.options.ForkEvents = x.offers["fork-events"]
	x.options.VForkEvents = x.offers["vfork-events"]
	x.options.ExecEvents = x.offers["exec-events"]
	x.options.NonStop = x.nonStop
	x.target.SetOptions(x.options)
}

// forbiddenTrace is the reason why a packet of a trace experiment is not allowed; nil: it is allowed.
func (x *core) forbiddenTrace(p rsp.Packet) rsp.Packet {
	if d, ok := p.(rsp.DefineTracepoint); ok {
		if d.Fast != nil && x.denied["InsertFastTrace"] || d.Fast == nil && x.denied["InsertTrace"] {
			return forbidden("insert tracepoints")
		}
	}
	return nil
}

func errForbidden(what string) error {
	return fmt.Errorf("GDB is set not to %s (see \"show observer\" and \"show may-...\")", what)
}

func forbidden(what string) rsp.Packet { return fail(errForbidden(what)) }

// badNumber is the error where GDB accepts a number only, and prints nothing.
var badNumber = rsp.Error{Code: 1}

// fail is an error in words.
func fail(err error) rsp.Packet { return rsp.ErrorText{Text: rsp.Raw(err.Error())} }

func failf(format string, args ...any) rsp.Packet {
	return rsp.ErrorText{Text: rsp.Raw(fmt.Sprintf(format, args...))}
}

// done is OK, or the error in words.
func done(err error) rsp.Packet {
	if err != nil {
		return fail(err)
	}
	return rsp.OK{}
}

// leaveWhenEmpty reports whether the server ends because no process is left.
func (x *core) leaveWhenEmpty() bool {
	return !x.extended && !x.cfg.Multi && !x.caps.Kernel && len(x.target.Processes()) == 0
}
