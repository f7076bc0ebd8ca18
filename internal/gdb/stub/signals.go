package stub

import "fmt"

// Linux's numbers of the signals that are meant here by name.
const (
	sigInt  = 2
	sigTrap = 5
	sigKill = 9
	sigStop = 19
)

// GDB's numbers of signals are its own (include/gdb/signals.def); those below 16
// are mostly Linux's.
const (
	gdbSignal0       = 0
	gdbSignalTrap    = 5
	gdbSignalUnknown = 143
	gdbRealtime33    = 45 // 33 to 63 in a row
	gdbRealtime63    = 75
	gdbRealtime32    = 77
	gdbRealtime64    = 78
)

// linuxToGDB has GDB's number of each standard signal of Linux on x86-64. SIGSTKFLT
// (16) has none.
var linuxToGDB = [32]int{
	0:  gdbSignal0,
	1:  1,  // SIGHUP
	2:  2,  // SIGINT
	3:  3,  // SIGQUIT
	4:  4,  // SIGILL
	5:  5,  // SIGTRAP
	6:  6,  // SIGABRT
	7:  10, // SIGBUS
	8:  8,  // SIGFPE
	9:  9,  // SIGKILL
	10: 30, // SIGUSR1
	11: 11, // SIGSEGV
	12: 31, // SIGUSR2
	13: 13, // SIGPIPE
	14: 14, // SIGALRM
	15: 15, // SIGTERM
	16: gdbSignalUnknown,
	17: 20, // SIGCHLD
	18: 19, // SIGCONT
	19: 17, // SIGSTOP
	20: 18, // SIGTSTP
	21: 21, // SIGTTIN
	22: 22, // SIGTTOU
	23: 16, // SIGURG
	24: 24, // SIGXCPU
	25: 25, // SIGXFSZ
	26: 26, // SIGVTALRM
	27: 27, // SIGPROF
	28: 28, // SIGWINCH
	29: 23, // SIGIO
	30: 32, // SIGPWR
	31: 12, // SIGSYS
}

var gdbToLinux = func() map[int]int {
	list := map[int]int{33: 29} // SIGPOLL is SIGIO
	for linux, gdb := range linuxToGDB {
		if gdb != gdbSignalUnknown {
			list[gdb] = linux
		}
	}
	for linux := 32; linux <= 64; linux++ {
		list[gdbSignal(linux)] = linux
	}
	return list
}()

// signalNames are the names of Linux's standard signals.
var signalNames = [...]string{
	"0", "SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "SIGUSR1",
	"SIGSEGV", "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGSTKFLT", "SIGCHLD", "SIGCONT", "SIGSTOP", "SIGTSTP",
	"SIGTTIN", "SIGTTOU", "SIGURG", "SIGXCPU", "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO", "SIGPWR",
	"SIGSYS",
}

// signalName is a signal's name as GDB writes it.
func signalName(linux int) string {
	if linux >= 0 && linux < len(signalNames) {
		return signalNames[linux]
	}
	return fmt.Sprintf("SIG%d", linux)
}

// gdbSignal is GDB's number of a signal of Linux.
func gdbSignal(linux int) int {
	switch {
	case linux >= 0 && linux < len(linuxToGDB):
		return linuxToGDB[linux]
	case linux == 32:
		return gdbRealtime32
	case linux == 64:
		return gdbRealtime64
	case linux >= 33 && linux <= 63:
		return gdbRealtime33 + linux - 33
	}
	return gdbSignalUnknown
}

// linuxSignal is Linux's number of a signal of GDB; ok is false where it has none.
func linuxSignal(gdb int) (linux int, ok bool) {
	linux, ok = gdbToLinux[gdb]
	return linux, ok
}
