package patch

import (
	"encoding/hex"
	"testing"
)

// TestStepping checks the instructions that a single step must treat specially.
func TestStepping(t *testing.T) {
	for _, c := range []struct {
		code string
		want Stepping
	}{
		{"0f05", StepCall},
		{"0f34", StepCall},
		{"cd80", StepCall},
		{"cd03", StepPlain},
		{"480f05", StepCall},
		{"9c", StepPushes},
		{"669c", StepPushes},
		{"9d", StepPops},
		{"48cf", StepPops},
		{"f3a4", StepRepeat},
		{"f348a5", StepRepeat},
		{"f2ae", StepRepeat},
		{"f366ab", StepRepeat},
		{"48a5", StepPlain},
		{"90", StepPlain},
		{"f390", StepPlain},
		{"c3", StepPlain},
		{"b89c000000", StepPlain},
		{"0f1f440000", StepPlain},
	} {
		b, _ := hex.DecodeString(c.code)
		in, err := Decode(b, 0x1000)
		if err != nil {
			t.Errorf("%s: %v", c.code, err)
			continue
		}
		if got := in.Stepping(); got != c.want {
			t.Errorf("%s: %d, want %d", c.code, got, c.want)
		}
	}
}
