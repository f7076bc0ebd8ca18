package show

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/script/printf"
)

func hist(k uint, values ...int64) *Histogram {
	counts := make([]uint64, 64<<k+2)
	for _, v := range values {
		counts[HistIndex(v, k)]++
	}
	h := Hist(counts, k, 1)
	return &h
}

func linear(low, high, step int64, values ...int64) *Histogram {
	counts := make([]uint64, (high-low)/step+2)
	for _, v := range values {
		counts[LinearIndex(v, low, high, step)]++
	}
	h := Linear(counts, low, high, step)
	return &h
}

const bar = "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@"

func TestText(t *testing.T) {
	blank := strings.Repeat(" ", 52)
	half := bar[:26] + blank[:26]
	start := time.Date(2026, 1, 2, 10, 41, 46, 700e6, time.UTC)
	series := &Series{Interval: 100 * time.Millisecond, Points: []Point{
		{start, printf.Int(-5)}, {start.Add(100 * time.Millisecond), printf.None()}, {start.Add(200 * time.Millisecond), printf.Int(5)}, {start.Add(300 * time.Millisecond), printf.Int(0)},
	}}
	for _, c := range []struct {
		m    Map
		want string
	}{
		{
			Map{Name: "@", Scalar: true, Kind: Hists, Elems: []Elem{{Hist: hist(0, -1, 2, 3, 4, 20)}}},
			"@:\n" +
				"(..., 0)               1 |" + half + "|\n" +
				"[0]                    0 |" + blank + "|\n" +
				"[1]                    0 |" + blank + "|\n" +
				"[2, 4)                 2 |" + bar + "|\n" +
				"[4, 8)                 1 |" + half + "|\n" +
				"[8, 16)                0 |" + blank + "|\n" +
				"[16, 32)               1 |" + half + "|\n\n",
		},
		{
			Map{Name: "@x", Kind: Hists, Elems: []Elem{{Key: printf.Tuple(printf.Int(1), printf.Text("a")), Hist: hist(0, 1500, 3<<20)}}},
			"@x[1, a]:\n" +
				"[1K, 2K)               1 |" + bar + "|\n" + strings.Join([]string{
				"[2K, 4K)               0 |", "[4K, 8K)               0 |", "[8K, 16K)              0 |", "[16K, 32K)             0 |", "[32K, 64K)             0 |",
				"[64K, 128K)            0 |", "[128K, 256K)           0 |", "[256K, 512K)           0 |", "[512K, 1M)             0 |", "[1M, 2M)               0 |",
			}, blank+"|\n") + blank + "|\n" +
				"[2M, 4M)               1 |" + bar + "|\n\n",
		},
		{
			Map{Name: "@", Scalar: true, Kind: Hists, Elems: []Elem{{Hist: linear(0, 10, 2, -1, 2, 3, 6, 11)}}},
			"@:\n" +
				"(..., 0)               1 |" + half + "|\n" +
				"[0, 2)                 0 |" + blank + "|\n" +
				"[2, 4)                 2 |" + bar + "|\n" +
				"[4, 6)                 0 |" + blank + "|\n" +
				"[6, 8)                 1 |" + half + "|\n" +
				"[8, 10)                0 |" + blank + "|\n" +
				"[10, ...)              1 |" + half + "|\n\n",
		},
		{Map{Name: "@", Scalar: true, Kind: Hists, Elems: []Elem{{Hist: linear(0, 10, 1, 10)}}}, "@:\n[10, ...)              1 |" + bar + "|\n\n"},
		{
			Map{Name: "@c", Elems: []Elem{
				{Key: printf.Text("b"), Value: printf.Uint(7), Order: Order{N: 7}},
				{Key: printf.Text("a"), Value: printf.Uint(7), Order: Order{N: 7}},
				{Key: printf.Text("z"), Value: printf.Int(-1), Order: Order{N: math.MaxUint64, Signed: true}},
			}},
			"@c[z]: -1\n@c[a]: 7\n@c[b]: 7\n",
		},
		{Map{Name: "@s", Scalar: true, Elems: []Elem{{Value: printf.Text("x")}}}, "@s: x\n"},
		{
			Map{Name: "@st", Kind: Stats, Elems: []Elem{{Key: printf.Int(5), Value: printf.Record([]string{"count", "average", "total"}, []printf.Value{printf.Int(2), printf.Int(6), printf.Int(12)})}}},
			"@st[5]: { .count = 2, .average = 6, .total = 12 }\n",
		},
		{
			Map{Name: "@t", Scalar: true, Kind: Serieses, Elems: []Elem{{Series: series}}},
			`@t:
             -5                                                  5
hh:mm:ss.ms  |___________________________________________________|
10:41:46.700 *                         .                         | -5
10:41:46.800 |                         .                         | -
10:41:46.900 |                         .                         * 5
10:41:47.000 |                         *                         | 0
             v___________________________________________________v
             -5                                                  5

`,
		},
	} {
		var b strings.Builder
		c.m.Sort(0)
		c.m.Text(&b)
		if b.String() != c.want {
			t.Errorf("got\n%s\nwant\n%s", b.String(), c.want)
		}
	}
}

func TestJSON(t *testing.T) {
	start := time.Date(1970, 1, 1, 0, 0, 0, 500e6, time.UTC)
	for _, c := range []struct {
		m    Map
		want string
	}{
		{Map{Name: "@hist", Scalar: true, Kind: Hists, Elems: []Elem{{Hist: hist(0, 2, 5)}}}, `{"type": "hist", "data": {"@hist": [{"min": 2, "max": 3, "count": 1},{"min": 4, "max": 7, "count": 1}]}}`},
		{Map{Name: "@h", Kind: Hists, Elems: []Elem{{Key: printf.Text("a b"), Hist: hist(0, -2)}}}, `{"type": "hist", "data": {"@h": {"a b": [{"max": -1, "count": 1}]}}}`},
		{Map{Name: "@l", Scalar: true, Kind: Hists, Elems: []Elem{{Hist: linear(0, 10, 5, 7, 12)}}}, `{"type": "hist", "data": {"@l": [{"min": 5, "max": 9, "count": 1},{"min": 10, "count": 1}]}}`},
		{Map{Name: "@m", Elems: []Elem{{Key: printf.Tuple(printf.Int(1), printf.Text("a")), Value: printf.Int(2)}}}, `{"type": "map", "data": {"@m": {"1,a": 2}}}`},
		{Map{Name: "@b", Elems: []Elem{
			{Key: printf.Tuple(printf.Text("a b"), printf.Tuple(printf.Int(1), printf.Text("c, d")), printf.Record([]string{"x"}, []printf.Value{printf.Text("e f")})), Value: printf.Int(1)},
			{Key: printf.Text("(sd-pam)"), Value: printf.Int(2)},
		}}, `{"type": "map", "data": {"@b": {"a b,(1,c, d),{.x=e f}": 1, "(sd-pam)": 2}}}`},
		{Map{Name: "@s", Scalar: true, Elems: []Elem{{Value: printf.Text("x\"")}}}, `{"type": "map", "data": {"@s": "x\""}}`},
		{
			Map{Name: "@st", Scalar: true, Kind: Stats, Elems: []Elem{{Value: printf.Record([]string{"count", "average", "total"}, []printf.Value{printf.Int(2), printf.Int(6), printf.Int(12)})}}},
			`{"type": "stats", "data": {"@st": {"count": 2, "average": 6, "total": 12}}}`,
		},
		{
			Map{Name: "@t", Scalar: true, Kind: Serieses, Elems: []Elem{{Series: &Series{Interval: 1e8, Points: []Point{{start, printf.Int(9)}, {start, printf.None()}}}}}},
			`{"type": "tseries", "data": {"@t": [{"interval_start":"1970-01-01 00:00:00.500000000","value":9}]}}`,
		},
		{Map{Name: "@empty"}, ""},
	} {
		var b strings.Builder
		c.m.JSON(&b)
		if strings.TrimSuffix(b.String(), "\n") != c.want {
			t.Errorf("got  %s\nwant %s", b.String(), c.want)
		}
	}
}

// TestIndexes: each value is in the range of its index, for all k.
func TestIndexes(t *testing.T) {
	for k := range uint(6) {
		for shift := range 63 {
			for _, d := range []int64{-1, 0, 1, 1 << shift / 3} {
				v := int64(1)<<shift + d
				if v < 0 {
					continue
				}
				i := HistIndex(v, k)
				low, _, _ := histBound(i-1, k).Number()
				high, _, _ := histBound(i, k).Number()
				if uint64(v) < low || uint64(v) >= high {
					t.Fatalf("k %d: %d is not in [%d, %d)", k, v, low, high)
				}
			}
		}
	}
	if HistIndex(math.MaxInt64, 5) >= 64<<5+2 || HistIndex(math.MinInt64, 0) != 0 {
		t.Error("the largest index")
	}
}

func TestTop(t *testing.T) {
	m := Map{Name: "@"}
	for i := range 10 {
		m.Elems = append(m.Elems, Elem{Key: printf.Int(int64(i)), Value: printf.Int(int64(i)), Order: Order{N: uint64(i)}})
	}
	m.Sort(2)
	var b strings.Builder
	m.Text(&b)
	if b.String() != "@[8]: 8\n@[9]: 9\n" {
		t.Error(b.String())
	}
}
