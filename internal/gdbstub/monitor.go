package gdbstub

import (
	"errors"
	"strings"

	"github.com/jalon-trace/jalon/internal/rsp"
)

var _ = []struct{}{on((*Machine).monitor)}

// monitorHelp is what `monitor help` says first; the target adds its own.
const monitorHelp = `monitor help               this text
monitor set debug 0|1      do not log, or log, the packets of the remote protocol
monitor exit               end the server
`

// monitor carries out a command that the user gives to the server itself. GDB shows
// text, and no words of errors.
func (m *Machine) monitor(p rsp.Monitor) rsp.Packet {
	command := strings.TrimSpace(string(p.Command))
	switch command {
	case "help":
		m.print(monitorHelp)
		if more, err := m.target.Monitor(command); err == nil {
			m.print(more)
		}
		return rsp.OK{}
	case "set debug 0", "set debug 1":
		m.debug = strings.HasSuffix(command, "1")
		m.print("Packets are " + map[bool]string{true: "logged.\n", false: "not logged.\n"}[m.debug])
		return rsp.OK{}
	case "exit":
		m.reply(rsp.OK{})
		m.emit(Out{Kind: OutClose})
		m.emit(Out{Kind: OutExit})
		return nil
	}
	text, err := m.target.Monitor(command)
	switch {
	case errors.Is(err, ErrUnsupported):
		m.print("Unknown monitor command; \"monitor help\" lists all.\n")
		return badNumber
	case err != nil:
		m.print(err.Error() + "\n")
		return badNumber
	}
	m.print(text)
	return rsp.OK{}
}

// print shows text to GDB's user, in pieces that fit into packets.
func (m *Machine) print(text string) {
	for room := m.cfg.PacketSize/2 - 1; text != ""; {
		n := min(len(text), room)
		m.reply(rsp.Output{Text: rsp.Text(text[:n])})
		text = text[n:]
	}
}
