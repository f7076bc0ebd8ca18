package main

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/jalon-trace/jalon"
)

// placeLists are the lists of -c for a place.
type placeLists struct {
	place string
	lists []string
}

// listsOfPlaces assigns the lists on a command line to its places: a list is for the place before it, and the places before that which
// have none; one before all places is for all. So "A -c x B -c y" collects x at A, and "A B -c x" at both.
func listsOfPlaces(app *kong.Application, args []string) (out []placeLists) {
	known := flagsOf(app, args[0])
	var all []string
	last := ""
	open := 0 // the first place that a list is for
	for list := args[1:]; len(list) > 0; {
		n := flagLen(known, list)
		if n == 0 {
			if last == "list" {
				open = len(out)
			}
			out, last = append(out, placeLists{list[0], nil}), "place"
			list = list[1:]
			continue
		}
		if text, ok := collectFlag(list[:n]); ok {
			for i := open; i < len(out); i++ {
				out[i].lists = append(out[i].lists, text)
			}
			if len(out) == 0 {
				all = append(all, text)
			} else {
				last = "list"
			}
		}
		list = list[n:]
	}
	for i := range out {
		out[i].lists = append(all[:len(all):len(all)], out[i].lists...)
	}
	return out
}

// collectFlag returns the value of -c.
func collectFlag(flag []string) (string, bool) {
	for _, name := range []string{"-c", "--collect"} {
		if flag[0] == name && len(flag) == 2 {
			return flag[1], true
		}
	}
	if text, ok := strings.CutPrefix(flag[0], "--collect="); ok {
		return text, true
	}
	if strings.HasPrefix(flag[0], "--") {
		return "", false
	}
	return strings.CutPrefix(flag[0], "-c")
}

// parsePlaces parses the places with their lists; neighbours with the same lists together, so that an error in a list is
// reported once.
func parsePlaces(places []string, lists []placeLists, collect []string) (tps []jalon.Tracepoint, err error) {
	if len(lists) != len(places) { // not from the command line
		return jalon.Parse(places, collect)
	}
	for i := 0; i < len(lists); {
		n := i + 1
		for n < len(lists) && slices.Equal(lists[n].lists, lists[i].lists) {
			n++
		}
		some, err := jalon.Parse(places[i:n], lists[i].lists)
		if err != nil {
			return nil, err
		}
		tps, i = append(tps, some...), n
	}
	return tps, nil
}
