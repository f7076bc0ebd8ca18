// Program golang has variables of packages.
package main

import (
	"os"

	"example.com/prog/sub"
)

type limits struct{ Low, High int }

var (
	counter = 3
	bounds  = limits{1, 99}
	name    = "global name"
	hook    = func(n int) int { return n + counter }
)

//go:noinline
func work(a int, s string, f float64, p *sub.T) int {
	t := p.Add(a, s) + hook(0)
	counter += a
	return t + len(name) + bounds.High + int(f)
}

func main() {
	sum := 0
	for i := 1; i < 4; i++ {
		sum += work(i, "hello", 2.5, &sub.T{A: 4, B: "bee"})
	}
	bounds.Low++
	name = "other"
	if sum == 0 {
		os.Exit(1)
	}
}
