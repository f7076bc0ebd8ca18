package image

import "github.com/jalon-trace/jalon/internal/debuginfo"

// Again names the frames of a stack, innermost first, that have build-ids and no lines: with the debug information that is there now.
// What it cannot name better stays as it is.
func (f *Files) Again(frames []debuginfo.Frame) []debuginfo.Frame {
	var out []debuginfo.Frame
	for i := 0; i < len(frames); {
		end := i // the last of those of one address
		for frames[end].Inlined && end+1 < len(frames) {
			end++
		}
		if named := f.again(frames[end]); named != nil {
			out = append(out, named...)
		} else {
			out = append(out, frames[i:end+1]...)
		}
		i = end + 1
	}
	return out
}

// again names one address; nil: not better than before.
func (f *Files) again(fr debuginfo.Frame) []debuginfo.Frame {
	if fr.BuildID == "" || fr.Line > 0 {
		return nil
	}
	info := f.byBuildID(fr.BuildID, fr.Module)
	if info == nil {
		return nil
	}
	vaddr := fr.Address
	if fr.Caller {
		vaddr-- // the call
	}
	var inlined []string
	old := fr
	fr.Function, fr.Offset, fr.File, fr.Line, inlined = info.Symbolize(vaddr)
	if fr.Function == "" || fr.Line == 0 && old.Function != "" {
		return nil
	}
	var calls []debuginfo.SourceLine
	if len(inlined) > 0 {
		calls = info.Calls(vaddr)
	}
	return debuginfo.CodeFrames(fr, fr.Caller, inlined, calls)
}
