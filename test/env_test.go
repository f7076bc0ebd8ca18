package test

import (
	"testing"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/ir"
)

// TestEnvTask: debuginfo imports no ir, so it has the number a second time.
func TestEnvTask(t *testing.T) {
	if debuginfo.EnvTask != ir.EnvTask {
		t.Errorf("debuginfo.EnvTask is %d, ir.EnvTask %d", debuginfo.EnvTask, ir.EnvTask)
	}
}
