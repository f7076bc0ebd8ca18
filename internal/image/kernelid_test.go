package image

import "testing"

func FuzzBuildID(f *testing.F) {
	f.Add([]byte("\x04\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00GNU\x00\xab\xcd\x00\x00"))
	f.Fuzz(func(t *testing.T, notes []byte) {
		if id := buildID(notes); len(id)%2 != 0 {
			t.Errorf("%q", id)
		}
	})
}

func TestBuildID(t *testing.T) {
	if id := buildID([]byte("\x04\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00GNU\x00\xab\xcd\x00\x00")); id != "abcd" {
		t.Errorf("%q", id)
	}
}
