package main

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// flagsFirst moves the flags of a subcommand before its other arguments, because the parser takes a list of
// places only in one piece. Users write
//
//	jalon trace main.c:9 -c i other.c:3 -n 10
func flagsFirst(app *kong.Application, args []string) []string {
	cmd := -1
	for i, a := range args {
		if !strings.HasPrefix(a, "-") {
			cmd = i
			break
		}
	}
	if cmd < 0 {
		return args
	}
	known := flagsOf(app, args[cmd])
	var flags, rest []string
	for list := args[cmd+1:]; len(list) > 0; {
		if by := countedBy(args, list); by != "" && len(rest) > 0 {
			flags, list = append(flags, list[0], "--by="+by), list[2:]
			continue
		}
		n := flagLen(known, list)
		if n == 0 {
			rest, list = append(rest, list[0]), list[1:]
			continue
		}
		if n == 2 && (list[0] == "-c" || list[0] == "--collect") && strings.HasPrefix(list[1], "-") { // an expression: -rc
			flags, list = append(flags, "--collect="+list[1]), list[2:]
			continue
		}
		flags, list = append(flags, list[:n]...), list[n:]
	}
	out := append(append([]string(nil), args[:cmd+1]...), flags...)
	return append(out, rest...)
}

// flagsOf returns the flags that a command takes.
func flagsOf(app *kong.Application, command string) []*kong.Flag {
	known := app.Flags
	for _, n := range app.Children {
		if n.Name == command {
			known = slices.Concat(known, n.Flags)
		}
	}
	return known
}

// countedBy returns the expression in "PLACE --count EXPR", which is short for "--count --by EXPR".
func countedBy(args, list []string) string {
	if list[0] != "--count" || len(list) < 2 || strings.HasPrefix(list[1], "-") {
		return ""
	}
	for _, a := range args {
		if a == "--by" || strings.HasPrefix(a, "--by=") {
			return ""
		}
	}
	return list[1]
}

// flagLen returns how many arguments the flag at the start of list takes, 0 if it is not a flag.
func flagLen(known []*kong.Flag, list []string) int {
	a := list[0]
	if len(a) < 2 || a[0] != '-' {
		return 0
	}
	name, _, attached := strings.Cut(strings.TrimPrefix(a, "--"), "=")
	long := strings.HasPrefix(a, "--")
	for i, r := range strings.TrimPrefix(a, "-") {
		for _, f := range known {
			switch {
			case f.IsBool():
			case long && f.Name == name:
				return withValue(attached, list)
			case !long && f.Short == r: // -n10, -n 10, -qn 10
				return withValue(i+2 < len(a), list)
			}
		}
	}
	return 1
}

// withValue returns the number of arguments of a flag with a value. A flag without its value stays last,
// and the parser reports it.
func withValue(attached bool, list []string) int {
	switch {
	case attached:
		return 1
	case len(list) == 1:
		return 0
	}
	return 2
}
