package maps

import "testing"

// TestFit: how many keys tables have on machines with many CPUs.
func TestFit(t *testing.T) {
	for _, c := range []struct {
		name               string
		words, limit, cpus int
		sets, keys         int
	}{
		{"count", 1, 4096, 2, 2, 4096},
		{"count", 1, 4096, 256, 128, 4096},
		{"count", 1, 4096, 4096, 128, 4096},
		{"hist", 65, 4096, 2, 2, 4096},
		{"hist", 65, 4096, 256, 4, 4096}, // 8 sets were 75 MB
		{"hist in parts", 2000, 4096, 2, 2, 512},
		{"hist in parts", 2000, 4096, 256, 4, 256},
		{"large", 1, 1 << 20, 256, 4, 1 << 17},
	} {
		s := Shape{Slots: 2 * c.limit, Words: c.words, Sets: c.cpus, Limit: c.limit}.Fit(64<<20, 4, 1)
		if s.Sets != c.sets || s.Limit != c.keys || s.Bytes() > 64<<20 || s.Slots < 2*s.Limit {
			t.Errorf("%s, %d CPUs: %d sets, %d keys, %d slots, %d bytes; want %d sets, %d keys", c.name, c.cpus, s.Sets, s.Limit, s.Slots, s.Bytes(), c.sets, c.keys)
		}
	}
}
