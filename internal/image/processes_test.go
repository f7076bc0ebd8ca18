package image

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestDeadProcess: data about an ended process are kept, and frames that cannot be code are removed if more
// than the site's file is known.
func TestDeadProcess(t *testing.T) {
	r, add, _, _, _, _ := again(t)
	p := NewProcesses(files(t))
	p.Watch(r.pid)
	path := p.known[r.pid].Modules()[0].Path
	r.stop()
	if f := p.Frames(r.pid, add+5, true); f[0].Function != "add" || f[0].Module != path {
		t.Errorf("%+v", f)
	}
	if got := p.Plausible(r.pid, []uint64{add, add + 1, 0x5000, add + 2}); len(got) != 2 {
		t.Errorf("%#x", got)
	}

	// Nothing but a hit is known of another one.
	const gone = 1 << 22 // beyond the largest process number
	m := p.known[r.pid].Modules()[0]
	const bias = 0x7000_0000_0000
	vaddr := add - m.Bias()
	var offset uint64
	for _, seg := range m.Info().Segments() {
		if seg.Exe {
			offset = vaddr - seg.Vaddr + seg.Offset
		}
	}
	p.Learn(gone, path, offset, bias+vaddr+1)
	if p.Known(gone) {
		t.Error("a hit at an odd distance is believed")
	}
	p.Learn(gone, path, offset, bias+vaddr)
	if f := p.Frames(gone, bias+vaddr+4, false); f[0].Function != "add" || f[0].Offset != 4 {
		t.Errorf("%+v", f)
	}
	if f := p.Frames(gone, 0x5000, false); f[0].Function != "" || f[0].Module != "" {
		t.Errorf("%+v", f)
	}
	if got := p.Plausible(gone, []uint64{bias + vaddr, 0x5000}); len(got) != 2 {
		t.Errorf("cut although only the site's file is known: %#x", got)
	}
	if got := p.Plausible(gone+1, []uint64{0x1800, 0x5000}); len(got) != 2 {
		t.Errorf("of a process of which nothing is known: %#x", got)
	}
}

// TestUnprovenFile: a file that nothing shows to be the mapped one is not used when the
// process is gone, whose memory would show it.
func TestUnprovenFile(t *testing.T) {
	r, add, _, _, _, _ := again(t)
	im := r.image(t)
	maps := append(im.mods[0].Maps[:0:0], im.mods[0].Maps...)
	for i := range maps {
		maps[i].Inode++ // as overlayfs shows it
	}
	while := New(r.pid, files(t))
	while.Update(maps)
	while.mods[0].file, while.mods[0].found = maps[0].Path, true // the links are not permitted
	wantNames(t, while, map[uint64]string{add: "add"})

	other := compile(t, "stand.c")
	while.mods[0] = &Module{Path: maps[0].Path, Exe: true, Maps: maps, image: while, file: other, found: true}
	if err := while.mods[0].Open(); err == nil {
		t.Error("another file is taken for the program's")
	}

	r.stop()
	after := New(r.pid, files(t))
	after.Update(maps)
	after.index(maps)
	wantNames(t, after, map[uint64]string{add: ""})
}

// TestOneFile: a file is opened once, by whatever path, and again when it has changed.
func TestOneFile(t *testing.T) {
	f := files(t)
	path := compile(t, "again.c")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	a, err1 := f.Open(path)
	b, err2 := f.Open(link)
	c, err3 := f.Open(fmt.Sprintf("/proc/%d/root%s", os.Getpid(), path))
	if err1 != nil || err2 != nil || err3 != nil || a != b || a != c {
		t.Errorf("%p %p %p, %v %v %v", a, b, c, err1, err2, err3)
	}
	if err := os.Rename(compile(t, "again.c", "-O2"), path); err != nil {
		t.Fatal(err)
	}
	if d, err := f.Open(path); err != nil || d == a {
		t.Errorf("the new file: %p, %v; the old one is %p", d, err, a)
	}
}
