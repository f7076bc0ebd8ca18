package kernel

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

// TestDeadProcess: of a process that is gone what is known stays, and frames that can
// be no code are cut where more than the site's file is known.
func TestDeadProcess(t *testing.T) {
	const gone = 1 << 22 // beyond the largest process number
	var u userSymbols
	u.set(gone, &mapped{ranges: []codeRange{{0x1000, 0x2000, 0, "/prog"}}})
	if r, ok := u.find(gone, 0x1800); !ok || r.path != "/prog" {
		t.Errorf("%+v, %v", r, ok)
	}
	if _, ok := u.find(gone, 0x2800); ok {
		t.Error("found what is not there")
	}
	if got := u.plausible(gone, []uint64{0x1800, 0x1900, 0x5000, 0x1a00}); len(got) != 2 {
		t.Errorf("%#x", got)
	}
	u.procs[gone].part = true
	if got := u.plausible(gone, []uint64{0x1800, 0x1900, 0x5000, 0x1a00}); len(got) != 4 {
		t.Errorf("%#x", got)
	}
	if got := u.plausible(gone+1, []uint64{0x1800, 0x5000}); len(got) != 2 {
		t.Errorf("of a process of which nothing is known: %#x", got)
	}
}
