package testkit

import (
	"os"
	"os/signal"
	"syscall"
)

// defaultSignals gives the programs that tests start the default effect of signals which tests send. A shell
// without job control starts a command in the background with SIGINT and SIGQUIT ignored, nohup with SIGHUP, and
// ignored signals are inherited: jalon respects that.
func defaultSignals() {
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig) // exec resets a signal that is caught
		}
	}
}
