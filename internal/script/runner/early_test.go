package runner

import (
	"context"
	"errors"
	"testing"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/check"
	"github.com/jalon-trace/jalon/internal/script/plan"
	"github.com/jalon-trace/jalon/internal/script/source"
)

// TestEndedWhilePlanned: a signal ends jalon while it plans the sites of a long script.
func TestEndedWhilePlanned(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	held := make(chan struct{})
	defer close(held)
	files := func(string) []string {
		cancel()
		<-held
		return nil
	}
	script, err := script.Parse("t", "uprobe:/nowhere/*:f { @ = count(); }")
	if err != nil {
		t.Fatal(err)
	}
	p, err := check.Check(script, check.Options{Source: source.Open()})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := sitesOf(ctx, p, plan.Options{Files: files}, false); !errors.Is(err, errEarly) {
		t.Errorf("%v", err)
	}
}
