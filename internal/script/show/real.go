package show

import (
	"math"
	"strconv"

	"github.com/jalon-trace/jalon/internal/script/printf"
)

// Ranges of histograms of floating-point values are those of integers, and go on below 1: powers of two from realLow on, each divided in 2^k
// ranges. Index 0 is for negative values, 1 for those below the first power, the last for those from realHigh on.
const realLow, realHigh = -32, 64

// RealIndex is the index of the range of a value, which is not NaN.
func RealIndex(x float64, k uint) int {
	bits := math.Float64bits(x)
	first := uint64(1023+realLow) << k
	switch at := bits >> (52 - k); {
	case x == 0:
		return 1
	case x < 0:
		return 0
	case at < first:
		return 1
	default:
		return int(min(at-first, (realHigh-realLow)<<k)) + 2
	}
}

// realBound is the upper bound of the range of an index of RealIndex.
func realBound(index int, k uint) printf.Value {
	if index == 0 {
		return printf.Int(0)
	}
	return bound(math.Float64frombits((uint64(1023+realLow)<<k + uint64(index-1)) << (52 - k)))
}

// bound is a bound as histograms of integers have it, and with three digits if it is less than 1.
func bound(x float64) printf.Value {
	v, digits, unit := x, 6, ""
	for i := 0; v >= 1024 && i < 6; i++ {
		v, unit = v/1024, "KMGTPE"[i:i+1]
	}
	if v < 1 {
		digits = 3
	}
	return printf.Approximate(strconv.FormatFloat(v, 'g', digits, 64)+unit, x)
}

// RealHist makes a histogram from counts by RealIndex; div divides the counts. The range from 0 on ends where the first other one begins that
// has a value.
func RealHist(counts []uint64, k uint, div uint64) Histogram {
	first, last := ends(counts)
	h := Histogram{Real: true}
	if first < 0 {
		return h
	}
	if first > 0 {
		h.Lower = realBound(first-1, k)
	}
	next := 2 // the range behind that from 0 on
	for next < last && counts[next] == 0 {
		next++
	}
	for i := first; i <= last; i++ {
		if i == 1 && last > 1 {
			h.Upper, h.Counts = append(h.Upper, realBound(next-1, k)), append(h.Counts, counts[1]/max(div, 1))
			i = next - 1
			continue
		}
		if i < (realHigh-realLow)<<k+2 {
			h.Upper = append(h.Upper, realBound(i, k))
		}
		h.Counts = append(h.Counts, counts[i]/max(div, 1))
	}
	return h
}

// RealOrder is the place of a floating-point number among others.
func RealOrder(x float64) Order {
	bits := math.Float64bits(x)
	if bits>>63 != 0 {
		return Order{N: ^bits}
	}
	return Order{N: bits | 1<<63}
}
