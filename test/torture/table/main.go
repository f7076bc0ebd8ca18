// Command table prints the counts that tests have left in a file, as one table, and
// ends with status 1 when a program was harmed: the end of `make torture`.
package main

import (
	"fmt"
	"os"

	"github.com/jalon-trace/jalon/test/testkit"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: table FILE")
		os.Exit(2)
	}
	harmed, err := show(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if harmed > 0 {
		os.Exit(1)
	}
}

func show(name string) (harmed uint64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var all testkit.Tally
	if err := all.Read(f); err != nil {
		return 0, err
	}
	all.Print(os.Stdout, "make torture")
	all.Each(func(c testkit.Count) {
		if c.Table != "known limits" {
			harmed += c.Harmed
		}
	})
	return harmed, nil
}
