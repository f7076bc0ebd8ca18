package procdir

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

func TestParseMaps(t *testing.T) {
	text := `00400000-00401000 r-xp 00000000 fe:01 123                        /usr/bin/a b (x) (deleted)
7f0000000000-7f0000001000 rw-s 00002000 00:01 7                          /memfd:jalon (deleted)
7ffc0000-7ffd0000 ---p 00000000 00:00 0 
7ffe0000-7fff0000 rw-p 00000000 00:00 0                                  [stack]
`
	want := []Mapping{
		{0x400000, 0x401000, unix.PROT_READ | unix.PROT_EXEC, false, 0, "fe:01", 123, "/usr/bin/a b (x)", true},
		{0x7f0000000000, 0x7f0000001000, unix.PROT_READ | unix.PROT_WRITE, true, 0x2000, "00:01", 7, "/memfd:jalon", true},
		{0x7ffc0000, 0x7ffd0000, 0, false, 0, "00:00", 0, "", false},
		{0x7ffe0000, 0x7fff0000, unix.PROT_READ | unix.PROT_WRITE, false, 0, "00:00", 0, "[stack]", false},
	}
	got, err := ParseMaps(text)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v, %v\nwant %v", got, err, want)
	}
	if got, err := ParseMaps("1000-2000 r-xp 0 fe:01 5 /a\\012b\n"); err != nil || got[0].Path != "/a\nb" {
		t.Errorf("a path with a newline: %q, %v", got[0].Path, err)
	}
	for _, bad := range []string{"x", "1-2", "2-1 r--p 0 0:0 0", "1-2 r-- 0 0:0 0", "1-2 r--p 0 0:0 z", "g-2 r--p 0 0:0 0"} {
		if _, err := ParseMaps(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}
