package image

import (
	"path/filepath"
	"strings"
)

// Recorded names addresses of a recorded program by a list of its mappings; nil: its file is not there any more. It names those of the program's
// own file and of the libraries that this is linked with: others may have been unloaded, and their addresses been given to something else.
func (f *Files) Recorded(program string, list []Saved) func(addr uint64) string {
	im := Restore(list, f)
	var own *Module
	for _, m := range im.mods {
		if m.Path == program && m.Open() == nil {
			own = m
		}
	}
	if own == nil {
		return nil
	}
	var stays map[string]bool // paths; nil: not known yet
	return func(addr uint64) string {
		m := im.Owner(addr)
		if m == nil {
			return ""
		}
		if m != own && stays == nil {
			stays = map[string]bool{}
			for _, x := range f.linked(own, func(needed string) string { return providing(list, needed) }) {
				stays[x.Path] = true
			}
		}
		if m != own && !stays[m.Path] {
			return ""
		}
		return im.Symbol(addr)
	}
}

// providing is the file in a list that a needed library is: its name is that, or begins with it (libc.so.6, libstdc++.so.6.0.30).
func providing(list []Saved, needed string) string {
	for i := range list {
		if base := filepath.Base(list[i].Path); base == needed || strings.HasPrefix(base, needed+".") {
			return list[i].Path
		}
	}
	return ""
}
