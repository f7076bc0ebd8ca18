package inproc

import (
	"encoding/hex"
	"testing"
)

// TestGoCheck: the checks of Go's stack at the start of functions, as cmd/internal/obj/x86 makes them; other code has none.
func TestGoCheck(t *testing.T) {
	for _, c := range []struct {
		code  string
		n, to int
	}{
		{"493b6610 0f86f9000000 55", 10, 0x103},
		{"493b6610 7640 55", 6, 0x46},
		{"4c8d6424f8 4d3b6610 0f8610000000", 15, 0x1f},
		{"4c8da42400ffffff 4d3b6610 7605", 14, 19},
		{"4989e4 4981ec00200000 0f8220000000 4d3b6610 0f8616000000", 26, 0x30},
		{"4989e4 4981ec00200000 0f8220000000 4d3b6610 0f8617000000", 0, 0}, // two targets
		{"493b6610 7740", 0, 0},
		{"493b6610 0f86f9", 0, 0},
		{"4c8d6424", 0, 0},
		{"4989e4 4981ec", 0, 0},
		{"554889e5", 0, 0},
		{"", 0, 0},
	} {
		text := ""
		for _, x := range c.code {
			if x != ' ' {
				text += string(x)
			}
		}
		code, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if n, to := goCheck(code); n != c.n || n != 0 && to != c.to {
			t.Errorf("%s: %d bytes to %#x, want %d to %#x", c.code, n, to, c.n, c.to)
		}
	}
}
