package image

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/procdir"
)

// An address belongs to the module that was mapped there at the time, and to none if that is not certain.
func TestWithin(t *testing.T) {
	mapping := func(path string, inode, start uint64) procdir.Mapping {
		return procdir.Mapping{Start: start, End: start + 0x1000, Prot: unix.PROT_READ | unix.PROT_EXEC, Path: path, Dev: "8:1", Inode: inode}
	}
	im := New(0, nil)
	stays := mapping("/lib/stays", 1, 0x1000)
	var changed []int64 // when
	update := func(maps ...procdir.Mapping) {
		n := len(im.past.list)
		im.Update(append([]procdir.Mapping{stays}, maps...))
		if len(im.past.list) > n {
			changed = append(changed, im.past.list[n].until)
		}
	}
	update(mapping("/lib/first", 2, 0x5000))
	update()
	update(mapping("/lib/other", 3, 0x5000)) // nothing is unmapped
	update()
	update(mapping("/lib/third", 4, 0x5000))
	if len(changed) != 2 {
		t.Fatalf("%d changes, want 2", len(changed))
	}
	name := func(im *Image, addr uint64) string {
		if m := im.Owner(addr); m != nil {
			return m.Path
		}
		return ""
	}
	for _, c := range []struct {
		from, to int64
		want     string
	}{
		{changed[0], changed[0], "/lib/first"},
		{0, changed[0], "/lib/first"},
		{changed[0] + 1, changed[1], "/lib/other"},
		{changed[1] + 1, changed[1] + 1, "/lib/third"},
		{changed[1] + 1, 1 << 62, "/lib/third"},
		{changed[0], changed[1], ""},
		{0, 1 << 62, ""},
	} {
		then := im.Within(c.from, c.to)
		if got := name(then, 0x5000); got != c.want {
			t.Errorf("in [%d, %d] %q, want %q", c.from, c.to, got, c.want)
		}
		if got := name(then, 0x1000); got != stays.Path {
			t.Errorf("in [%d, %d] %q, want %q", c.from, c.to, got, stays.Path)
		}
	}
	for range maxFormer {
		update()
		update(mapping("/lib/more", 5, 0x5000))
	}
	if got := im.Within(changed[0], changed[0]); name(got, 0x5000) != "" || len(im.past.list) != maxFormer {
		t.Errorf("what was forgotten is %q; %d are kept", name(got, 0x5000), len(im.past.list))
	}
}
