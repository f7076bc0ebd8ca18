package stub

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// session is how GDB and the server begin.
type session struct{ *core }

// packets are those that it handles.
func (x *session) packets() []row {
	return []row{
		on("qSupported", "what GDB and the server can do", x.querySupported),
		on("QStartNoAckMode", "ends acknowledgements", x.startNoAck),
		on("!", "stay when no process is left", x.extendedMode),
		on("qSymbol", "the server needs no symbols", x.symbolLookup),
		on("qOffsets", "how far the program was moved", x.queryOffsets),
		on("QAgent", "the agent is what all tracepoints use", x.setAgent),
		on("QAllow", "what GDB may do (observer mode)", x.allow),
		on("vMustReplyEmpty", "how packets that are not known are answered", x.mustReplyEmpty),
	}
}

// supportedAlways are the features that do not depend on anything.
var supportedAlways = []string{
	"QStartNoAckMode", "multiprocess", "vContSupported", "swbreak", "hwbreak", "no-resumed", "qRelocInsn", "QAgent",
	"qXfer:features:read", "qXfer:threads:read", "qXfer:traceframe-info:read", "qXfer:statictrace:read", "qXfer:sdata:read",
	"InstallInTrace", "EnableDisableTracepoints", "StaticTracepoints", "TracepointSource", "tracenz", "QTBuffer:size",
}

// supportedProcesses are those of targets with processes.
var supportedProcesses = []string{
	"QPassSignals", "QProgramSignals", "QCatchSyscalls", "QNonStop", "QThreadEvents", "ConditionalBreakpoints",
	"BreakpointCommands", "QDisableRandomization", "QStartupWithShell", "QEnvironmentHexEncoded", "QEnvironmentReset",
	"QEnvironmentUnset", "QSetWorkingDir",
}

// supportedAnswers are sent only to a GDB that sends them itself.
var supportedAnswers = []string{"fork-events", "vfork-events", "exec-events"}

func (x *session) querySupported(p rsp.QuerySupported) rsp.Packet {
	x.offers = map[string]bool{}
	for _, f := range p.Features {
		x.offers[f.Name] = f.Mark == '+'
	}
	x.multi = x.offers["multiprocess"]
	x.desc = nil
	if !takesDescription(p.Features) {
		x.desc = x.target.Description().Base()
	}
	reply := rsp.Supported{Features: []rsp.Feature{{Name: "PacketSize", Mark: '=', Value: fmt.Sprintf("%x", x.cfg.PacketSize)}}}
	said := map[string]bool{}
	add := func(f rsp.Feature) {
		if !said[f.Name] {
			said[f.Name] = true
			reply.Features = append(reply.Features, f)
		}
	}
	for _, name := range x.features() {
		add(rsp.Feature{Name: name, Mark: '+'})
	}
	for _, f := range x.exp.Features() {
		add(f)
	}
	x.applyOptions()
	return reply
}

// takesDescription reports whether GDB reads the registers' description: one that does not (xmlRegisters=,
// with this architecture among its values) knows those that every processor has.
func takesDescription(features []rsp.Feature) bool {
	return slices.ContainsFunc(features, func(f rsp.Feature) bool {
		return f.Name == "xmlRegisters" && f.Mark == '=' && slices.Contains(strings.Split(f.Value, ","), "i386")
	})
}

// features are the names of what the stub can do for this GDB.
func (x *session) features() []string {
	list := slices.Clone(supportedAlways)
	if !x.caps.Kernel {
		list = append(list, supportedProcesses...)
		for _, name := range supportedAnswers {
			if x.offers[name] {
				list = append(list, name)
			}
		}
	}
	for _, name := range x.caps.Objects {
		list = append(list, "qXfer:"+name+":read")
	}
	for _, name := range x.caps.Writable {
		list = append(list, "qXfer:"+name+":write")
	}
	return list
}

func (x *session) startNoAck(rsp.StartNoAck) rsp.Packet {
	x.emit(Out{Kind: OutStartNoAck})
	return rsp.OK{}
}

func (x *session) symbolLookup(rsp.SymbolLookup) rsp.Packet { return rsp.OK{} }

func (x *session) queryOffsets(rsp.QueryOffsets) rsp.Packet {
	offset, ok := x.target.Offsets()
	if !ok {
		return rsp.Unsupported{}
	}
	return rsp.SectionOffsets{Text: offset, Data: offset, BSS: &offset}
}

// setAgent has nothing to do: the agent is what all tracepoints use.
func (x *session) setAgent(rsp.SetAgent) rsp.Packet { return rsp.OK{} }

func (x *session) mustReplyEmpty(rsp.MustReplyEmpty) rsp.Packet { return rsp.Unsupported{} }

func (x *session) allow(p rsp.Allow) rsp.Packet {
	for _, item := range p.Permissions {
		x.denied[item.Op] = !item.Allowed
	}
	return rsp.OK{}
}

func (x *session) extendedMode(rsp.ExtendedMode) rsp.Packet {
	x.extended = true
	return rsp.OK{}
}
