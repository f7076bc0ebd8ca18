package eval

import (
	"fmt"
	"testing"
)

// TestSignal: signals are sent in their order, on the ways that are taken.
func TestSignal(t *testing.T) {
	o := execute(t, "b0:\nv0 = const 9\nv1 = const 0\nv2 = signal v0, 0\nbrif v2 -> b1 else b2\nb1:\nv3 = signal v0, 1\nexit\nb2:\nv4 = const 12\nv5 = signal v4, 1\nexit", machine())
	if got := fmt.Sprint(o.Signals); got != "[9 12]" {
		t.Errorf("sent %s", got)
	}
}
