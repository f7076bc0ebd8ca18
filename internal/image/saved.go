package image

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/procdir"
)

// Saved is a mapping of a module as it can be written down: what the names of addresses
// need when the process is gone.
type Saved struct {
	Path string
	// BuildID identifies the file's content: its build-id in hexadecimal, or "sha256:"
	// and the hash of the whole file where the linker made none.
	BuildID            string
	Start, End, Offset uint64
	Prot               int // PROT_READ | PROT_WRITE | PROT_EXEC; 0: of code
}

// Save lists the mappings of the modules whose files can be read.
func (im *Image) Save() (list []Saved) {
	for _, m := range im.mods {
		if m.Open() != nil {
			continue
		}
		for i := range m.Maps {
			x := &m.Maps[i]
			list = append(list, Saved{m.Path, contentID(m.info), x.Start, x.End, x.Offset, x.Prot})
		}
	}
	return list
}

// contentID is what Saved.BuildID has of a file.
func contentID(info *dwarf.Module) string {
	if id := info.BuildID(); id != "" {
		return id
	}
	sum, err := info.File().Sum()
	if err != nil {
		return "" // the file is being truncated
	}
	return "sha256:" + sum
}

// Restore is the image that a list describes, of no process. The mappings of a file are
// expected together, those of the program first. A file that has another content now
// is not used.
func Restore(list []Saved, files *Files) *Image {
	im := New(0, files)
	var maps []procdir.Mapping
	byPath := map[[2]string]*Module{}
	for _, s := range list {
		if s.Start >= s.End {
			continue
		}
		m := byPath[[2]string{s.Path, s.BuildID}]
		if m == nil {
			m = &Module{Path: s.Path, Exe: len(im.mods) == 0, image: im, id: s.BuildID, file: s.Path, found: true}
			byPath[[2]string{s.Path, s.BuildID}] = m
			im.mods = append(im.mods, m)
		}
		if s.Prot == 0 {
			s.Prot = unix.PROT_READ | unix.PROT_EXEC
		}
		x := procdir.Mapping{Start: s.Start, End: s.End, Offset: s.Offset, Prot: s.Prot, Path: s.Path, Inode: 1}
		m.Maps = append(m.Maps, x)
		maps = append(maps, x)
	}
	im.index(maps)
	return im
}

// asSaved makes sure that a file has the content that was saved.
func (m *Module) asSaved(info *dwarf.Module) error {
	switch {
	case m.id == "":
		return fmt.Errorf("%s: which content it had is not recorded", m.Path)
	case contentID(info) != m.id:
		return fmt.Errorf("%s has another content than when it was recorded (%s)", m.Path, m.id)
	}
	return nil
}
