package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/jalon-trace/jalon/internal/ctf"
	"github.com/jalon-trace/jalon/internal/merge"
)

// mergeCmd joins two recorded traces by their clocks.
type mergeCmd struct {
	First  string         `arg:"" help:"The directory of a trace, whose clock is that of the result"`
	Second string         `arg:"" help:"The directory of another one, of another machine or guest"`
	Output string         `short:"o" required:"" placeholder:"DIR" help:"The directory of the joined trace"`
	Forth  []string       `sep:"none" placeholder:"SEND,RECEIVE" help:"Messages from the first machine to the second: the places where they are sent, in the first trace, and received, in the second"`
	Back   []string       `sep:"none" placeholder:"SEND,RECEIVE" help:"Messages from the second machine to the first: the places where they are sent, in the second trace, and received, in the first"`
	Key    string         `placeholder:"EXPR" help:"With --forth and --back: a C expression over the recorded fields that has the same value for a message where it is sent and received"`
	KeyOf  string         `name:"second-key" placeholder:"EXPR" help:"The expression in the events of the second trace, if it is another one"`
	Offset *time.Duration `placeholder:"DURATION" help:"What is added to the times of the second trace's clock, if it is known"`
}

// Run joins the traces.
func (c *mergeCmd) Run() error {
	o := &merge.Options{Key: c.Key, KeyOf: c.KeyOf, Offset: c.Offset, Jalon: version}
	for _, list := range []struct {
		flag  string
		texts []string
		back  bool
	}{{"--forth", c.Forth, false}, {"--back", c.Back, true}} {
		for _, text := range list.texts {
			send, receive, ok := strings.Cut(text, ",")
			if !ok {
				return usageError(list.flag + " needs two places: SEND,RECEIVE")
			}
			o.Pairs = append(o.Pairs, merge.Pair{Send: strings.TrimSpace(send), Receive: strings.TrimSpace(receive), Back: list.back})
		}
	}
	switch {
	case len(o.Pairs) > 0 && c.Key == "":
		return usageError("--forth and --back need --key: what identifies a message")
	case len(o.Pairs) == 0 && (c.Key != "" || c.KeyOf != ""):
		return usageError("--key is for --forth and --back")
	case len(o.Pairs) > 0 && c.Offset != nil:
		return usageError("--offset, or --forth and --back")
	}
	a, err := ctf.Open(c.First)
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := ctf.Open(c.Second)
	if err != nil {
		return err
	}
	defer b.Close()
	res, err := merge.Merge(c.Output, a, b, o)
	if err != nil {
		return fmt.Errorf("joining %s and %s: %w", c.First, c.Second, err)
	}
	for _, t := range []*ctf.Trace{a, b} {
		for _, text := range t.Damage {
			fmt.Fprintf(stderr, "jalon: %s\n", text)
		}
	}
	fmt.Fprintf(stderr, "jalon: %s: %d events\n%s\n", c.Output, res.Events, clockText(res))
	return nil
}

// clockText says how the clocks relate.
func clockText(res *merge.Result) string {
	text := fmt.Sprintf("the second clock: %+v", time.Duration(res.Shift))
	if res.Rate != 0 {
		text += fmt.Sprintf(", %+.3f ppm", res.Rate*1e6)
	}
	if res.Error != nil {
		text += fmt.Sprintf(", ±%v", time.Duration(*res.Error))
	} else {
		text += ", with an unknown error"
	}
	text += "; from " + res.How
	if res.Ambiguous > 0 {
		text += fmt.Sprintf("; %d keys are of several events", res.Ambiguous)
	}
	if res.Unmatched > 0 {
		text += fmt.Sprintf("; %d messages are in one trace only", res.Unmatched)
	}
	return text
}
