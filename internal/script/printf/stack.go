package printf

import (
	"fmt"
	"strings"
)

// Frame is a function in a stack.
type Frame struct {
	PC       uint64
	Function string // "" if it is not known
	Offset   uint64 // of PC in the function
	Module   string
	File     string // "" if it is not known, or not to be shown
	Line     int
	Inlined  bool // the next frame has the same address
	Note     bool // it is no frame: Function says something of the stack
	End      bool // of a note: that the frame before is the last one that is known
	// BuildID is the ID of the module as hexadecimal digits, "" if it is not known. FileOffset is where in its file the code is.
	BuildID    string
	FileOffset uint64
}

// Stack makes a stack in one of the modes bpftrace, perf, raw and build_id.
func Stack(frames []Frame, mode string) Value {
	var list []Value
	for i := range frames {
		if frames[i].Note && (mode == "raw" || mode == buildID) {
			continue
		}
		if mode != buildID || !frames[i].Inlined {
			list = append(list, Text(frames[i].text(mode)))
		}
	}
	v := Value{kind: stackValue, list: list}
	if mode == "raw" || mode == buildID {
		v.num = 1 // without indentation
	}
	return v
}

// buildID is the mode in which frames are the IDs of files and offsets in them, for tools that have the symbols.
const buildID = "build_id"

func (f *Frame) text(mode string) string {
	name := f.Function
	switch {
	case f.Note:
		return "[" + name + "]"
	case mode == buildID && f.BuildID != "":
		return fmt.Sprintf("%s 0x%x", f.BuildID, f.FileOffset)
	case mode == buildID:
		return fmt.Sprintf("0x%x", f.PC)
	case name == "":
		name = fmt.Sprintf("0x%x", f.PC)
	case f.Inlined && mode == "perf":
		return fmt.Sprintf("\t%x %s (inlined)", f.PC, name)
	case f.Inlined:
		name = "[inlined] " + name
	default:
		name = fmt.Sprintf("%s+%d", name, f.Offset)
	}
	switch mode {
	case "raw":
		return fmt.Sprintf("%x", f.PC)
	case "perf":
		module := f.Module
		if module == "" {
			module = "[unknown]"
		}
		return fmt.Sprintf("\t%x %s (%s)", f.PC, name, module)
	}
	if f.File != "" && f.Line > 0 {
		name += fmt.Sprintf("@%s:%d", f.File, f.Line)
	}
	return name
}

// stack writes the frames on lines of their own, indented.
func (v Value) stack(indent int) string {
	var b strings.Builder
	b.WriteByte('\n')
	if v.num == 1 {
		indent = 0
	}
	for _, f := range v.list {
		b.WriteString(strings.Repeat(" ", indent) + f.str + "\n")
	}
	return b.String()
}
