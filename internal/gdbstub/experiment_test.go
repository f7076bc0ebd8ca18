package gdbstub

import "github.com/jalon-trace/jalon/internal/experiment"

// The experiment of package experiment is one for the stub.
var _ Experiment = (*experiment.Experiment)(nil)
