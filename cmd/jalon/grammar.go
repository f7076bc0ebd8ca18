package main

import (
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// grammar is the command line that a parser is made for: all of c, or only the command that the first argument names. The texts
// of all commands take kong 10 ms, a third of the time to arm a tracepoint.
func grammar(c *cli, args []string) (root any, extra []kong.Option) {
	if len(args) == 0 || slices.Contains(ofAll, args[0]) {
		return c, nil
	}
	v := reflect.ValueOf(c).Elem()
	for i := range v.NumField() {
		if f := v.Type().Field(i); commandName(f) == args[0] {
			return &struct{}{}, []kong.Option{kong.DynamicCommand(args[0], f.Tag.Get("help"), "", v.Field(i).Addr().Interface(), string(f.Tag))}
		}
	}
	return c, nil
}

// ofAll are the commands that read the whole grammar.
var ofAll = []string{"complete", "manual"}

// commandNames are the names of all commands.
func commandNames() (out []string) {
	t := reflect.TypeFor[cli]()
	for i := range t.NumField() {
		out = append(out, commandName(t.Field(i)))
	}
	return out
}

func commandName(f reflect.StructField) string { return strings.ToLower(f.Name) }
