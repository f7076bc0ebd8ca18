package stub

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// monitor carries out commands of GDB's user for the server itself.
type monitor struct {
	*core
	roster   *roster
	threadDB string // monitor set libthread-db-search-path
}

// packets are those that it handles.
func (x *monitor) packets() []row {
	return []row{
		on("qRcmd", "a command of the user (monitor)", x.command),
		on("qGetTLSAddr", "where thread-local data is", x.tlsAddress),
	}
}

// monitorHead and monitorTail are what `monitor help` says around the target's own
// commands. GDB's test suite knows a gdbserver by the first and the last line.
const (
	monitorHead = `The following monitor commands are supported:
  set debug <0|1>
    Log the packets of the remote protocol
  set libthread-db-search-path PATH
    Where libthread_db must be for thread-local variables to be found
  set debug-hw-points, remote-debug, event-loop-debug, debug-format, debug-file
    Accepted because gdbserver has them; set debug logs all there is
`
	monitorTail = `  trace
    What happened at each tracepoint: hits, false conditions, faults, losses
  exit
    Quit GDBserver
`
)

// switches are settings that are on or off: what their commands print.
var switches = map[string][2]string{
	"debug":            {"Debug output disabled.\n", "Debug output enabled.\n"},
	"debug-hw-points":  {"H/W point debugging output disabled.\n", "H/W point debugging output enabled.\n"},
	"remote-debug":     {"Protocol debug output disabled.\n", "Protocol debug output enabled.\n"},
	"event-loop-debug": {"Event loop debug output disabled.\n", "Event loop debug output enabled.\n"},
}

// monitor carries out a command that the user gives to the server itself. GDB shows
// text, and no words of errors.
func (x *monitor) command(p rsp.Monitor) rsp.Packet {
	command := strings.TrimSpace(string(p.Command))
	if name, value, ok := setting(command); ok && x.set(name, value) {
		return rsp.OK{}
	}
	switch command {
	case "help":
		x.printHelp()
		return rsp.OK{}
	case "trace":
		x.print(x.exp.Report())
		return rsp.OK{}
	case "exit":
		x.reply(rsp.OK{})
		x.emit(Out{Kind: OutClose})
		x.emit(Out{Kind: OutExit})
		return nil
	}
	text, err := x.target.Monitor(command)
	switch {
	case command == "" || errors.Is(err, ErrUnsupported):
		x.print("Unknown monitor command.\n\n")
		x.printHelp()
		return badNumber
	case err != nil:
		x.print(err.Error() + "\n")
		return badNumber
	}
	x.print(text)
	return rsp.OK{}
}

// setting takes `set NAME VALUE` apart.
func setting(command string) (name, value string, ok bool) {
	rest, ok := strings.CutPrefix(command, "set ")
	name, value, _ = strings.Cut(strings.TrimSpace(rest), " ")
	return name, strings.TrimSpace(value), ok
}

// set is false for what is no setting.
func (x *monitor) set(name, value string) bool {
	switch {
	case switches[name] != [2]string{} && (value == "0" || value == "1"):
		on := int(value[0] - '0')
		if name == "debug" || name == "remote-debug" {
			x.debug = on == 1
		}
		x.print(switches[name][on])
	case name == "debug-format" && (value == "all" || value == "none"):
		x.print("All extra debug format options " + map[string]string{"all": "enabled", "none": "disabled"}[value] + ".\n")
	case name == "debug-file":
	case name == "libthread-db-search-path":
		x.threadDB = value
		x.print(fmt.Sprintf("libthread-db-search-path set to `%s'\n", value))
	default:
		return false
	}
	return true
}

func (x *monitor) printHelp() {
	x.print(monitorHead)
	if more, err := x.target.Monitor("help"); err == nil {
		x.print(more)
	}
	x.print(monitorTail)
}

// threadDBFound reports whether a directory that the user named has the library: this server does not need
// it, but a path that points elsewhere means that thread-local data is not wanted.
func (x *monitor) threadDBFound() bool {
	if x.threadDB == "" {
		return true
	}
	for _, dir := range strings.Split(x.threadDB, ":") {
		if strings.HasPrefix(dir, "$") { // $sdir, $pdir: the system's, the program's
			return true
		}
		if _, err := x.target.Files(0).Stat(dir + "/libthread_db.so.1"); err == nil {
			return true
		}
	}
	return false
}

func (x *monitor) tlsAddress(p rsp.TLSAddress) rsp.Packet {
	x.roster.sync()
	t := x.roster.find(p.Thread)
	if t == nil {
		return noThread
	}
	if !x.threadDBFound() {
		return failf("libthread_db is not in %s", x.threadDB)
	}
	addr, err := x.target.ThreadLocal(t.id, p.Offset, p.LinkMap)
	if err != nil {
		return fail(err)
	}
	return rsp.Address{Addr: addr}
}
