package words

import "strings"

// signals are the names of Linux's signals from 1 on, for x86-64 and arm64.
var signals = strings.Fields("HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP " +
	"TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS")

// SignalNumber returns the number of a signal named with or without SIG; 0 if there is none.
func SignalNumber(name string) int {
	name = strings.TrimPrefix(strings.ToUpper(name), "SIG")
	for i, s := range signals {
		if s == name {
			return i + 1
		}
	}
	return 0
}
