package main

import (
	"fmt"
	"strings"
)

// table is one published table.
type table struct {
	title     string
	published []string // columns of the paper, with their unit
	ours      []string // columns measured here
	rows      []row
	differs   string // what differs from the paper's measurement
}

type row struct {
	name      string
	published []string
	ours      []cell
}

// cell is where a figure comes from.
type cell struct {
	from               source
	table, row, column string
	minus              *cell  // subtracted: a part of the whole
	text               string // instead of a figure
}

// less is the difference of two figures.
func less(a, b cell) cell {
	a.minus = &b
	return a
}

func (c cell) value(all figures) string {
	if c.text != "" {
		return c.text
	}
	f, ok := all.find(c)
	if !ok {
		return "-"
	}
	if c.minus == nil && f.Low == f.High {
		return number(f.Median)
	}
	if c.minus == nil {
		return fmt.Sprintf("%s (%s-%s)", number(f.Median), number(f.Low), number(f.High))
	}
	g, ok := all.find(*c.minus)
	if !ok {
		return "-"
	}
	return number(f.Median - g.Median)
}

func (all figures) find(c cell) (f struct{ Median, Low, High float64 }, ok bool) {
	file := all[c.from]
	if file == nil {
		return f, false
	}
	x, ok := file.Find(c.table, c.row, c.column)
	f.Median, f.Low, f.High = x.Median, x.Low, x.High
	return f, ok
}

// number has two digits after the point below 10, one below 100, else none.
func number(v float64) string {
	switch a := max(v, -v); {
	case a < 10:
		return fmt.Sprintf("%.2f", v)
	case a < 100:
		return fmt.Sprintf("%.1f", v)
	case a < 10_000:
		return fmt.Sprintf("%.0f", v)
	}
	s := fmt.Sprintf("%.0f", v)
	return s[:len(s)-3] + "," + s[len(s)-3:]
}

func (t *table) write(s *strings.Builder, all figures) {
	fmt.Fprintf(s, "## %s\n\n", t.title)
	head := append([]string{""}, t.published...)
	head = append(head, t.ours...)
	fmt.Fprintf(s, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("-|", len(head)))
	for _, r := range t.rows {
		cells := append([]string{r.name}, r.published...)
		for _, c := range r.ours {
			cells = append(cells, c.value(all))
		}
		for len(cells) < len(head) {
			cells = append(cells, "")
		}
		fmt.Fprintf(s, "| %s |\n", strings.Join(cells, " | "))
	}
	fmt.Fprintf(s, "\nWhat differs: %s\n\n", t.differs)
}
