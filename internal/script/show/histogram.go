// Package show prints maps of scripts as bpftrace does: histograms, time series, statistics; as text and as JSON
// lines.
//
// Import rule: show imports only script/printf.
package show

import (
	"fmt"
	"io"
	"math/bits"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/script/printf"
)

// Histogram has the counts of ranges of values.
type Histogram struct {
	// Lower is the lower bound of the first range; Missing if it has none.
	Lower printf.Value
	// Upper are the upper bounds. The last range has none if there is one count more.
	Upper  []printf.Value
	Counts []uint64
	Real   bool // of floating-point values
}

// HistIndex is the index of the range of a value in a histogram of powers of two, each divided in 2^k ranges.
// Index 0 is for negative values; the first 2^(k+1) after it have one value each.
func HistIndex(v int64, k uint) int {
	switch {
	case v < 0:
		return 0
	case v < 2<<k:
		return int(v) + 1
	}
	power := uint(bits.Len64(uint64(v))) - 1 - k
	return int(uint64(power+1)<<k+uint64(v)>>power-1<<k) + 1
}

// histBound is the upper bound of the range of an index of HistIndex.
func histBound(index int, k uint) printf.Value {
	if index <= 2<<k {
		return printf.Int(int64(index))
	}
	n := uint64(1) << k
	factor := n + uint64(index)&(n-1)
	power := uint(index)>>k - 1
	v := factor << power
	if power >= 64 || v>>power != factor {
		return printf.Symbol("16E", 1<<64-1)
	}
	decade := power / 10
	text := strconv.FormatUint(factor<<(power-10*decade), 10)
	if decade > 0 {
		text += string("KMGTPE"[decade-1])
	}
	return printf.Symbol(text, v)
}

// Hist makes a histogram from counts by HistIndex; div divides the counts.
func Hist(counts []uint64, k uint, div uint64) Histogram {
	first, last := ends(counts)
	h := Histogram{}
	if first < 0 {
		return h
	}
	if first > 0 {
		h.Lower = histBound(first-1, k)
	}
	for i := first; i <= last; i++ {
		h.Upper = append(h.Upper, histBound(i, k))
		h.Counts = append(h.Counts, counts[i]/max(div, 1))
	}
	return h
}

// LinearIndex is the index of the range of a value in a linear histogram. Index 0 is for values less than low;
// the last for those from high on.
func LinearIndex(v, low, high, step int64) int {
	switch {
	case v < low:
		return 0
	case v >= high:
		return int((high-low)/step) + 1
	}
	return int((v-low)/step) + 1
}

// Linear makes a histogram from counts by LinearIndex.
func Linear(counts []uint64, low, high, step int64) Histogram {
	first, last := ends(counts)
	h := Histogram{}
	if first < 0 {
		return h
	}
	if first > 0 {
		h.Lower = linearBound(low+int64(first-1)*step, step)
	}
	for i := first; i <= last; i++ {
		if b := low + int64(i)*step; b <= high {
			h.Upper = append(h.Upper, linearBound(b, step))
		}
		h.Counts = append(h.Counts, counts[i])
	}
	return h
}

// linearBound is a number, shortened if the steps are multiples of 1024.
func linearBound(n, step int64) printf.Value {
	const kilo, mega = 1 << 10, 1 << 20
	switch {
	case step%kilo != 0 || n == 0:
		return printf.Int(n)
	case n%mega == 0:
		return printf.Symbol(strconv.FormatInt(n/mega, 10)+"M", uint64(n))
	case n%kilo == 0:
		return printf.Symbol(strconv.FormatInt(n/kilo, 10)+"K", uint64(n))
	}
	return printf.Int(n)
}

// ends are the indexes of the first and the last count that is not 0; -1 if there are none.
func ends(counts []uint64) (first, last int) {
	first, last = -1, -1
	for i, n := range counts {
		if n > 0 {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	return first, last
}

// lower is the lower bound of range i.
func (h *Histogram) lower(i int) printf.Value {
	if i == 0 {
		return h.Lower
	}
	return h.Upper[i-1]
}

const barWidth = 52

// text draws the histogram.
func (h *Histogram) text(w io.Writer) {
	most := uint64(0)
	for _, n := range h.Counts {
		most = max(most, n)
	}
	width := 16
	for i := range h.Counts {
		if h.Real {
			width = max(width, len(h.label(i))+1)
		}
	}
	for i, n := range h.Counts {
		bar := 0
		if most > 0 {
			bar = int(float32(n) / float32(most) * barWidth)
		}
		fmt.Fprintf(w, "%-*s%8d |%-*s|\n", width, h.label(i), n, barWidth, strings.Repeat("@", bar))
	}
}

// label is the text of range i.
func (h *Histogram) label(i int) string {
	low := h.lower(i)
	switch {
	case i >= len(h.Upper):
		return "[" + low.String() + ", ...)"
	case low.Missing():
		return "(..., " + h.Upper[i].String() + ")"
	}
	a, _, _ := low.Number()
	if b, _, _ := h.Upper[i].Number(); !h.Real && a+1 == b && low.String() == strconv.FormatInt(int64(a), 10) {
		return "[" + low.String() + "]"
	}
	return "[" + low.String() + ", " + h.Upper[i].String() + ")"
}

// json is the histogram as bpftrace writes it; the bounds are part of the ranges, but for the upper ones of floating-point values.
func (h *Histogram) json() string {
	parts := make([]string, len(h.Counts))
	for i, n := range h.Counts {
		s := "{"
		if low := h.lower(i); !low.Missing() {
			s += `"min": ` + low.JSON() + ", "
		}
		if i < len(h.Upper) {
			b, _, _ := h.Upper[i].Number()
			last := printf.Int(int64(b - 1))
			if h.Real {
				last = h.Upper[i]
			}
			s += `"max": ` + last.JSON() + ", "
		}
		parts[i] = s + `"count": ` + strconv.FormatUint(n, 10) + "}"
	}
	return "[" + strings.Join(parts, ",") + "]"
}
