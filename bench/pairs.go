package main

import (
	"fmt"
	"slices"
	"strings"
)

// pairRows are hits at the return of a function, without and with its entry.
var pairRows = []struct{ name, place, list string }{
	{"record at the return", "test_function%return", "$ret"},
	{"entry and return, $elapsed recorded", "test_function%return", "$elapsed"},
	{"entry and return, @entry(x) recorded", "test_function%return", "@entry(counter1)"},
	{"entry and return, $elapsed false", "test_function%return if $elapsed > 1000000000000", "$elapsed"},
}

// pairs measures what the entry of a call costs where its return needs it, in records at the same return.
func (b *bench) pairs(rounds int, only string) error {
	if !strings.Contains("pairs of entry and return", only) {
		return nil
	}
	ns := make([][]float64, len(pairRows))
	for range rounds {
		bare, err := b.bare("bare")
		if err != nil {
			return err
		}
		for i, row := range pairRows {
			list, err := b.traced("bare", row.place, row.list)
			if err != nil {
				return err
			}
			for _, v := range list {
				ns[i] = append(ns[i], v-median(bare))
			}
		}
	}
	fmt.Printf("%-44s %9s %9s %9s\n", "ns per call, entry and return", "median", "min", "records")
	for i, row := range pairRows {
		fmt.Printf("%-44s %9.2f %9.2f %9.2f\n", row.name, median(ns[i]), slices.Min(ns[i]), slices.Min(ns[i])/slices.Min(ns[0]))
	}
	fmt.Println()
	return nil
}
