package elf

import (
	"testing"

	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/arch/arm64"
)

// TestTLSOffset: on arm64 the numbers are those of programs of GCC 12 and glibc 2.36 (static
// ones too) that printed the distance of the first variable of their segment from tpidr_el0.
func TestTLSOffset(t *testing.T) {
	for _, c := range []struct {
		tls TLS
		at  int64
	}{
		{TLS{0x1fdc0, 0x8, 0x8}, 16},
		{TLS{0x48c808, 0x68, 0x8}, 16},
		{TLS{0x1fdb0, 0x14, 0x10}, 16},
		{TLS{0x1fd80, 0x44, 0x40}, 64},
		{TLS{0x48c7c0, 0xa8, 0x40}, 64},
		{TLS{0x1fc00, 0x104, 0x100}, 256},
	} {
		if got := c.tls.Offset(&arm64.Processor); got != c.at {
			t.Errorf("arm64, %+v: %d, want %d", c.tls, got, c.at)
		}
		if got, want := c.tls.Offset(&amd64.Processor), -int64(c.tls.Below()); got != want {
			t.Errorf("amd64, %+v: %d, want %d", c.tls, got, want)
		}
	}
}
