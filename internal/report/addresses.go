package report

import (
	"github.com/jalon-trace/jalon/internal/ctf"
	"github.com/jalon-trace/jalon/internal/image"
)

// Names names addresses of the program whose mappings a recording has; nil: it has those of several programs or of none, or the
// program's file is not there.
func Names(t *ctf.Trace, files *image.Files) func(pid int, addr uint64) string {
	list := t.State.Mappings
	if len(list) == 0 || len(t.Info.Joined) > 0 {
		return nil
	}
	own, program := list[0].Pid, list[0].Path
	var saved []image.Saved
	for i := range list {
		m := &list[i]
		if m.Pid != own {
			return nil
		}
		saved = append(saved, image.Saved{Path: m.Path, BuildID: m.BuildID, Start: m.Start, End: m.End, Offset: m.Offset})
	}
	for i := range t.State.Processes {
		if p := &t.State.Processes[i]; p.Pid == own && p.Program != "" {
			program = p.Program
		}
	}
	symbol := files.Recorded(program, saved)
	if symbol == nil {
		return nil
	}
	return func(pid int, addr uint64) string {
		if pid != own {
			return ""
		}
		return symbol(addr)
	}
}
