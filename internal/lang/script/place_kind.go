package script

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

func kernelFunc(pl *Place, parts []string) error {
	if len(parts) == 2 {
		pl.Target = parts[0]
	}
	return pl.function(parts[len(parts)-1], pl.Provider.Name == "kprobe")
}

func tramp(pl *Place, parts []string) error {
	last := parts[len(parts)-1]
	pl.Name = last
	switch {
	case parts[0] == "bpf" && len(parts) == 1:
		return fmt.Errorf("the name of the eBPF program is missing: %s", pl.Provider.usage())
	case parts[0] == "bpf":
		pl.Target = "bpf"
		if len(parts) == 3 && parts[1] != "*" {
			v, err := ParseInt(parts[1])
			if err != nil {
				return fmt.Errorf("%q is not the id of an eBPF program: %w", parts[1], err)
			}
			pl.Program = v
		}
	case len(parts) == 3:
		return fmt.Errorf("only bpf:ID:PROGRAM has three parts")
	case len(parts) == 2:
		pl.Target = parts[0]
	}
	return missing(last, "function")
}

func event(pl *Place, parts []string) error {
	if len(parts) == 1 {
		if !strings.Contains(parts[0], "*") {
			return fmt.Errorf("the subsystem is missing: tracepoint:SUBSYSTEM:EVENT")
		}
		parts = []string{"*", parts[0]}
	}
	pl.Target, pl.Name = parts[0], parts[1]
	if pl.Target == "" {
		return missing("", "subsystem")
	}
	return missing(pl.Name, "event")
}

func rawEvent(pl *Place, parts []string) error {
	pl.Target, pl.Name = "*", parts[len(parts)-1]
	if len(parts) == 2 {
		pl.Target = parts[0]
	}
	return missing(pl.Name, "event")
}

func userFunc(pl *Place, parts []string) error {
	uprobe := pl.Provider.Name == "uprobe"
	if i := slices.Index(parts, "@"); i >= 0 {
		return sourceLine(pl, parts, i, uprobe)
	}
	switch n := len(parts); {
	case n > 3:
		return fmt.Errorf("%d parts are too many: %s", n, pl.Provider.usage())
	case n == 1: // the program of -p
	case n == 2 && parts[0] == "cpp":
		pl.Language = "cpp"
	case n == 3:
		pl.Target, pl.Language = parts[0], parts[1]
	default:
		pl.Target = parts[0]
	}
	if len(parts) > 1 && pl.Language == "" && pl.Target == "" {
		return missing("", "program or library")
	}
	if pl.Language != "" && pl.Language != "cpp" {
		return fmt.Errorf("there is no language %q; there is cpp", pl.Language)
	}
	last := parts[len(parts)-1]
	if pl.Language == "cpp" {
		pl.Name = last
		return missing(last, "function")
	}
	if err := pl.function(last, uprobe); err != nil {
		return err
	}
	if pl.HasAddr && strings.Contains(pl.Target, "*") {
		return fmt.Errorf("a wildcard cannot be combined with an address")
	}
	return nil
}

// sourceLine parses target@file:line[:col]; the "@" is part i.
func sourceLine(pl *Place, parts []string, i int, uprobe bool) error {
	if !uprobe {
		return fmt.Errorf("%s cannot be at a line", pl.Provider.Name)
	}
	rest := parts[i+1:]
	if i > 1 || len(rest) < 2 || len(rest) > 3 || rest[0] == "" {
		return fmt.Errorf("expected BINARY@FILE:LINE[:COLUMN]")
	}
	pl.Target, pl.File = parts[0], rest[0]
	if strings.Contains(pl.Target, "*") {
		return fmt.Errorf("a wildcard cannot be combined with a line")
	}
	for j, into := range []*uint64{&pl.Line, &pl.Col}[:len(rest)-1] {
		v, err := ParseInt(rest[j+1])
		if err != nil || v == 0 {
			return fmt.Errorf("%q is not the number of a line or column", rest[j+1])
		}
		*into = v
	}
	return nil
}

func static(pl *Place, parts []string) error {
	pl.Name = parts[len(parts)-1]
	switch len(parts) {
	case 3:
		pl.Target, pl.Namespace = parts[0], parts[1]
	case 2:
		pl.Target = parts[0]
	}
	return missing(pl.Name, "probe")
}

// timeUnits are the nanoseconds of the units of timers.
var timeUnits = map[string]uint64{"us": 1e3, "ms": 1e6, "s": 1e9}

func timer(pl *Place, parts []string) error {
	v, err := ParseInt(parts[len(parts)-1])
	if err != nil {
		return fmt.Errorf("%q is not a rate: %w", parts[len(parts)-1], err)
	}
	unit := uint64(1)
	if len(parts) == 2 {
		if parts[0] == "hz" {
			if v == 0 {
				return fmt.Errorf("the rate must be more than 0")
			}
			pl.Hertz = v
			return nil
		}
		var ok bool
		if unit, ok = timeUnits[parts[0]]; !ok {
			return fmt.Errorf("%q is not a unit of time; there are us, ms, s and hz", parts[0])
		}
	}
	if v == 0 {
		return fmt.Errorf("the time must be more than 0")
	}
	if v > math.MaxInt64/unit {
		return fmt.Errorf("the time is longer than 292 years")
	}
	if pl.Nanos = v * unit; pl.Nanos < 1000 {
		return fmt.Errorf("%d ns are less than the shortest time, 1us", pl.Nanos)
	}
	return nil
}

func counted(events []string, what string) func(*Place, []string) error {
	return func(pl *Place, parts []string) error {
		pl.Target = parts[0]
		if !slices.Contains(events, pl.Target) {
			return fmt.Errorf("%q is not a %s; there are %s", pl.Target, what, strings.Join(events, " "))
		}
		if len(parts) == 2 && parts[1] != "*" && parts[1] != "" {
			v, err := ParseInt(parts[1])
			if err != nil {
				return fmt.Errorf("%q is not a count: %w", parts[1], err)
			}
			pl.Count = v
		}
		return nil
	}
}

func watch(pl *Place, parts []string) error {
	var err error
	if pl.Address, err = ParseInt(parts[0]); err != nil || pl.Address == 0 {
		return fmt.Errorf("%q is not an address", parts[0])
	}
	pl.HasAddr = true
	if pl.Length, err = ParseInt(parts[1]); err != nil || !slices.Contains([]uint64{1, 2, 4, 8}, pl.Length) {
		return fmt.Errorf("the length must be 1, 2, 4 or 8, not %q", parts[1])
	}
	mode := []byte(parts[2])
	slices.Sort(mode)
	pl.Mode = string(mode)
	if !slices.Contains([]string{"r", "w", "x", "rw"}, pl.Mode) {
		return fmt.Errorf("the mode must be r, w, x or rw, not %q", parts[2])
	}
	return nil
}

func iterator(pl *Place, parts []string) error {
	if strings.Contains(strings.Join(parts, ""), "*") {
		return fmt.Errorf("iter does not support wildcards")
	}
	pl.Name = parts[0]
	if len(parts) == 2 {
		pl.Pin = parts[1]
	}
	return missing(pl.Name, "iterator")
}
