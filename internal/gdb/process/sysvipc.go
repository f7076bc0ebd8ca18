package process

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// ipcColumn is a column of System V objects: what is made of which field of
// /proc/sysvipc (proc_sysvipc(5)).
type ipcColumn struct {
	name  string
	field int
	show  func(*procfs, string) string
}

func showPlain(_ *procfs, s string) string    { return s }
func showUser(fs *procfs, s string) string    { return fs.userName(s) }
func showGroup(fs *procfs, s string) string   { return fs.groupName(s) }
func showCommand(fs *procfs, s string) string { return fs.comm(s) }

// showTime writes seconds since the epoch; 0 is never.
func showTime(_ *procfs, s string) string {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n == 0 {
		return ""
	}
	return time.Unix(n, 0).Format(time.ANSIC)
}

var msgColumns = []ipcColumn{
	{"key", 0, showPlain},
	{"msqid", 1, showPlain},
	{"permissions", 2, showPlain},
	{"num used bytes", 3, showPlain},
	{"num messages", 4, showPlain},
	{"last msgsnd() command", 5, showCommand},
	{"last msgrcv() command", 6, showCommand},
	{"user", 7, showUser},
	{"group", 8, showGroup},
	{"creator user", 9, showUser},
	{"creator group", 10, showGroup},
	{"last msgsnd() time", 11, showTime},
	{"last msgrcv() time", 12, showTime},
	{"last msgctl() time", 13, showTime},
}

var semColumns = []ipcColumn{
	{"key", 0, showPlain},
	{"semid", 1, showPlain},
	{"permissions", 2, showPlain},
	{"num semaphores", 3, showPlain},
	{"user", 4, showUser},
	{"group", 5, showGroup},
	{"creator user", 6, showUser},
	{"creator group", 7, showGroup},
	{"last semop() time", 8, showTime},
	{"last semctl() time", 9, showTime},
}

var shmColumns = []ipcColumn{
	{"key", 0, showPlain},
	{"shmid", 1, showPlain},
	{"permissions", 2, showPlain},
	{"size", 3, showPlain},
	{"creator command", 4, showCommand},
	{"last op. command", 5, showCommand},
	{"num attached", 6, showPlain},
	{"user", 7, showUser},
	{"group", 8, showGroup},
	{"creator user", 9, showUser},
	{"creator group", 10, showGroup},
	{"last shmat() time", 11, showTime},
	{"last shmdt() time", 12, showTime},
	{"last shmctl() time", 13, showTime},
}

// ipcRows reads a file of /proc/sysvipc, whose first line is a heading.
func ipcRows(name string, columns []ipcColumn) func(*procfs) [][]rsp.OSColumn {
	return func(fs *procfs) [][]rsp.OSColumn {
		var rows [][]rsp.OSColumn
		for _, line := range fs.lines("sysvipc/" + name) {
			f := strings.Fields(line)
			if len(f) < len(columns) {
				continue
			}
			if _, err := strconv.Atoi(f[0]); err != nil {
				continue
			}
			var out []rsp.OSColumn
			for _, c := range columns {
				out = append(out, rsp.OSColumn{Name: c.name, Value: c.show(fs, f[c.field])})
			}
			rows = append(rows, out)
		}
		return rows
	}
}

// socketStates are the kernel's numbers (net/tcp_states.h).
var socketStates = []string{
	"(unknown)", "ESTABLISHED", "SYN_SENT", "SYN_RECV", "FIN_WAIT1", "FIN_WAIT2", "TIME_WAIT",
	"CLOSE", "CLOSE_WAIT", "LAST_ACK", "LISTEN", "CLOSING",
}

func socketRows(fs *procfs) [][]rsp.OSColumn {
	var rows [][]rsp.OSColumn
	for _, t := range []struct{ file, family, protocol string }{
		{"net/tcp", "INET", "STREAM"},
		{"net/udp", "INET", "DGRAM"},
		{"net/tcp6", "INET6", "STREAM"},
		{"net/udp6", "INET6", "DGRAM"},
	} {
		for _, line := range fs.lines(t.file) {
			f := strings.Fields(line)
			if len(f) < 8 {
				continue
			}
			local, localPort, ok1 := socketAddress(f[1])
			remote, remotePort, ok2 := socketAddress(f[2])
			state, err := strconv.ParseUint(f[3], 16, 8)
			if !ok1 || !ok2 || err != nil {
				continue // the heading
			}
			if state >= uint64(len(socketStates)) {
				state = 0
			}
			rows = append(rows, row("local address", local, "local port", localPort,
				"remote address", remote, "remote port", remotePort, "state", socketStates[state],
				"user", fs.userName(f[7]), "family", t.family, "protocol", t.protocol))
		}
	}
	return rows
}

// socketAddress reads `ADDRESS:PORT`: the address as hexadecimal words of 32 bits, each
// printed as the machine reads it.
func socketAddress(s string) (addr, port string, ok bool) {
	words, hexPort, _ := strings.Cut(s, ":")
	b, err := hex.DecodeString(words)
	if err != nil || len(b) != 4 && len(b) != 16 {
		return "", "", false
	}
	for w := b; len(w) > 0; w = w[4:] {
		binary.LittleEndian.PutUint32(w, binary.BigEndian.Uint32(w))
	}
	a, _ := netip.AddrFromSlice(b)
	n, err := strconv.ParseUint(hexPort, 16, 16)
	return a.String(), strconv.FormatUint(n, 10), err == nil
}
