package runner

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/check"
	"github.com/jalon-trace/jalon/internal/script/interp"
)

// cancelling ends a context when something is written.
type cancelling struct{ cancel context.CancelFunc }

func (c cancelling) Write(b []byte) (int, error) {
	c.cancel()
	return len(b), nil
}

// TestEndInterrupted: an end probe that runs for ever ends by a signal, if none has ended the script before; the next end probe runs.
func TestEndInterrupted(t *testing.T) {
	s, err := script.Parse("t", `begin { exit(); } end { print("end"); $i = (uint64)1; while ($i) { $i += 2; } print("never"); }`)
	if err != nil {
		t.Fatal(err)
	}
	p, err := check.Check(s, check.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := Run(ctx, p, Options{Options: interp.Options{Out: cancelling{cancel}, Err: io.Discard, Now: time.Now}})
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the end probe does not end")
	}
}
