package runner

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/check"
	"github.com/jalon-trace/jalon/internal/script/interp"
)

// TestEndInterrupted: an end probe that runs for long ends by a signal, if none has ended the script before.
func TestEndInterrupted(t *testing.T) {
	s, err := script.Parse("t", `begin { exit(); } end { system("a signal comes"); $i = (uint64)1; while ($i) { $i += 2; } print("never"); }`)
	if err != nil {
		t.Fatal(err)
	}
	p, err := check.Check(s, check.Options{Unsafe: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	done := make(chan error, 1)
	go func() {
		_, err := Run(ctx, p, Options{Options: interp.Options{Out: &out, Err: io.Discard, Now: time.Now, Quiet: true, System: func(string) ([]byte, error) {
			cancel()
			return nil, nil
		}}})
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil || out.Len() > 0 {
			t.Error(out.String(), err)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the end probe does not end")
	}
}
