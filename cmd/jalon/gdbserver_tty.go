package main

import (
	"os/signal"
	"syscall"
)

// ignoreTTYSignals lets jalon use a terminal whose foreground group is the program's.
func ignoreTTYSignals() { signal.Ignore(syscall.SIGTTOU, syscall.SIGTTIN) }
