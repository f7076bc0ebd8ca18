package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/jalon-trace/jalon/internal/engine/kernel"
	"github.com/jalon-trace/jalon/internal/probe"
)

// listKinds prints the descriptors of the kinds of places.
func listKinds(w io.Writer) error {
	plain := strings.NewReplacer("`", "")
	for _, k := range probe.Kinds() {
		fmt.Fprintln(w, k.Form)
		fmt.Fprintf(w, "    %s\n", plain.Replace(k.Where))
		fmt.Fprintf(w, "    names: %s\n", plain.Replace(k.Names))
		if len(k.Words) > 1 {
			fmt.Fprintf(w, "    short: %s:\n", strings.Join(k.Words[1:], ":, "))
		}
		fmt.Fprintf(w, "    %s\n", kernel.Attaching(k))
	}
	return nil
}
