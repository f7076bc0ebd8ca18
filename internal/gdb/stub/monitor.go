package stub

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

var _ = []struct{}{on((*Machine).monitor)}

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
func (m *Machine) monitor(p rsp.Monitor) rsp.Packet {
	command := strings.TrimSpace(string(p.Command))
	if name, value, ok := setting(command); ok && m.set(name, value) {
		return rsp.OK{}
	}
	switch command {
	case "help":
		m.printHelp()
		return rsp.OK{}
	case "trace":
		m.print(m.exp.Report())
		return rsp.OK{}
	case "exit":
		m.reply(rsp.OK{})
		m.emit(Out{Kind: OutClose})
		m.emit(Out{Kind: OutExit})
		return nil
	}
	text, err := m.target.Monitor(command)
	switch {
	case command == "" || errors.Is(err, ErrUnsupported):
		m.print("Unknown monitor command.\n\n")
		m.printHelp()
		return badNumber
	case err != nil:
		m.print(err.Error() + "\n")
		return badNumber
	}
	m.print(text)
	return rsp.OK{}
}

// setting takes `set NAME VALUE` apart.
func setting(command string) (name, value string, ok bool) {
	rest, ok := strings.CutPrefix(command, "set ")
	name, value, _ = strings.Cut(strings.TrimSpace(rest), " ")
	return name, strings.TrimSpace(value), ok
}

// set is false for what is no setting.
func (m *Machine) set(name, value string) bool {
	switch {
	case switches[name] != [2]string{} && (value == "0" || value == "1"):
		on := int(value[0] - '0')
		if name == "debug" || name == "remote-debug" {
			m.debug = on == 1
		}
		m.print(switches[name][on])
	case name == "debug-format" && (value == "all" || value == "none"):
		m.print("All extra debug format options " + map[string]string{"all": "enabled", "none": "disabled"}[value] + ".\n")
	case name == "debug-file":
	case name == "libthread-db-search-path":
		m.threadDB = value
		m.print(fmt.Sprintf("libthread-db-search-path set to `%s'\n", value))
	default:
		return false
	}
	return true
}

func (m *Machine) printHelp() {
	m.print(monitorHead)
	if more, err := m.target.Monitor("help"); err == nil {
		m.print(more)
	}
	m.print(monitorTail)
}

// threadDBFound says whether a directory that the user named has the library: this
// server does not need it, but a path that points elsewhere means that thread-local data is not wanted.
func (m *Machine) threadDBFound() bool {
	if m.threadDB == "" {
		return true
	}
	for _, dir := range strings.Split(m.threadDB, ":") {
		if strings.HasPrefix(dir, "$") { // $sdir, $pdir: the system's, the program's
			return true
		}
		if _, err := m.target.Files(0).Stat(dir + "/libthread_db.so.1"); err == nil {
			return true
		}
	}
	return false
}

// print shows text to GDB's user, in pieces that fit into packets.
func (m *Machine) print(text string) {
	for room := m.cfg.PacketSize/2 - 1; text != ""; {
		n := min(len(text), room)
		m.reply(rsp.Output{Text: rsp.Text(text[:n])})
		text = text[n:]
	}
}
