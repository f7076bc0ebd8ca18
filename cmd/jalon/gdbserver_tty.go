package main

import (
	"os/signal"
	"syscall"
)

// ignoreTTYSignals lets jalon use a terminal whose foreground group is that of the program.
func ignoreTTYSignals() { signal.Ignore(syscall.SIGTTOU, syscall.SIGTTIN) }
