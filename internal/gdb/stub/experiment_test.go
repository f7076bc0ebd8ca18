package stub

import "github.com/jalon-trace/jalon/internal/gdb/experiment"

// The experiment of package experiment is one for the stub.
var _ Experiment = (*experiment.Experiment)(nil)
