package jalon_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/jalon-trace/jalon"
)

// Start a program and print the hits of a function for which a condition holds.
func ExampleStart() {
	trace, err := jalon.Start(context.Background(), jalon.Command(program), jalon.Options{
		Tracepoints: []jalon.Tracepoint{{Place: "work", Condition: "n > 7", Collect: []string{"n, item->name, item->colour"}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer trace.Close()
	for ev := range trace.Events() {
		n, _ := ev.Value(0).Int64()
		name, _ := ev.Value(1).Text()
		fmt.Println(n, name, ev.Value(2))
	}
	result, err := trace.Wait()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d hits, %d recorded, %s\n", result.Sites[0].Hits(), result.Sites[0].Recorded, result.Outcome)
	// Output:
	// 8 hello GREEN
	// 9 hello GREEN
	// 10 hits, 2 recorded, exited with status 3
}

// Add a tracepoint to a running trace, then remove the first one.
func ExampleTrace_Add() {
	ctx := context.Background()
	trace, err := jalon.Start(ctx, jalon.Command(program, "1000").Streams(nil, nil, nil), jalon.Options{ // runs until it is killed
		Tracepoints: []jalon.Tracepoint{{Place: "work", Collect: []string{"n"}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer trace.Close()
	number, err := trace.Add(ctx, jalon.Tracepoint{Place: "work", Condition: "item->number < 0", Collect: []string{"item->number"}})
	if err == nil {
		err = trace.Remove(ctx, 1)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	for ev := range trace.Events() {
		if v, ok := ev.Lookup("item->number"); ok {
			fmt.Println("tracepoint", number, "found", v)
			break
		}
	}
	trace.Stop()
	if _, err := trace.Wait(); err != nil {
		fmt.Println(err)
	}
	if pid, ok := trace.Running(); ok {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	// Output:
	// tracepoint 2 found -7
}

// An error in an expression is a diagnostic: it has the position and often a hint.
func ExampleDiagnostic() {
	_, err := jalon.Start(context.Background(), jalon.Command(program), jalon.Options{
		Tracepoints: []jalon.Tracepoint{{Place: "work", Condition: "item->nmae"}},
	})
	var d *jalon.Diagnostic
	if errors.As(err, &d) {
		fmt.Printf("%s:%d:%d: %s (%s)\n", d.Source, d.Line, d.Column, d.Message, d.Hint)
	}
	// Output:
	// condition:1:7: struct item has no member "nmae" (did you mean "name"?)
}

// Write events as "jalon trace" does.
func ExampleJSON() {
	var lines bytes.Buffer
	trace, err := jalon.Start(context.Background(), jalon.Command(program), jalon.Options{
		Tracepoints: []jalon.Tracepoint{{Place: "work", Collect: []string{"$args"}}},
		Output:      jalon.JSON(&lines),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer trace.Close()
	result, err := trace.Wait()
	fmt.Println(result.Sites[0].Recorded, bytes.Count(lines.Bytes(), []byte("\n")), err)
	// Output:
	// 10 10 <nil>
}
