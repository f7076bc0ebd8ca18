package image

import (
	"encoding/hex"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/procdir"
)

// Saved is a mapping of a module, or a part of the kernel, as it can be written down:
// what the names of addresses need when the process is gone, or on another machine.
type Saved struct {
	Path string
	// BuildID identifies the file's content: its build-id in hexadecimal, or "sha256:"
	// and the hash of the whole file where the linker made none.
	BuildID            string
	Start, End, Offset uint64
	Prot               int // PROT_READ | PROT_WRITE | PROT_EXEC; 0: of code

	// Kernel is the part of the kernel that this is: Vmlinux, or the name of a module of
	// the kernel. "": it is a mapping of a process. See Kernel.Save.
	Kernel  string
	Symbols []SavedSymbol // of a part of the kernel
}

// Save lists the mappings of the modules whose files can be read.
func (im *Image) Save() (list []Saved) {
	for _, m := range im.mods {
		if m.Open() != nil {
			continue
		}
		for i := range m.Maps {
			x := &m.Maps[i]
			list = append(list, Saved{Path: m.Path, BuildID: contentID(m.info), Start: x.Start, End: x.End, Offset: x.Offset, Prot: x.Prot})
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
// is not used. Parts of the kernel may be among them, anywhere.
func Restore(list []Saved, files *Files) *Image {
	im := New(0, files)
	im.kernel = restoreKernel(list, files)
	var maps []procdir.Mapping
	byPath := map[[2]string]*Module{}
	for _, s := range list {
		if s.Start >= s.End || s.Kernel != "" {
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

// byBuildID opens the file with a build-id: the one at path if it has that id, otherwise its debug file;
// nil if there is none. It looks once: the frames of stacks ask again and again.
func (f *Files) byBuildID(buildID, path string) *dwarf.Module {
	key := buildID + " " + path
	m, looked := f.builds[key]
	if !looked {
		m = f.findBuild(buildID, path)
		f.builds[key] = m
	}
	return m
}

func (f *Files) findBuild(buildID, path string) *dwarf.Module {
	if b, err := hex.DecodeString(buildID); err != nil || len(b) == 0 {
		return nil // the list may be damaged or hostile: nothing else becomes part of a path
	}
	find := f.opt.Finder()
	for _, p := range append([]string{path}, find.Files(path, buildID)...) {
		if m := f.ofBuild(buildID, p); m != nil {
			return m
		}
	}
	if find.Fetch == nil {
		return nil
	}
	return f.ofBuild(buildID, find.Fetch(buildID))
}

// ofBuild opens a file if it has a build-id.
func (f *Files) ofBuild(buildID, path string) *dwarf.Module {
	if path == "" {
		return nil
	}
	if info, err := f.Open(path); err == nil && info.BuildID() == buildID {
		return info
	}
	return nil
}
