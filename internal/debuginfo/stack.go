package debuginfo

// Frame is one function of a stack trace.
type Frame struct {
	PC       uint64
	Function string // "" when unknown
	Offset   uint64 // of PC from the function's start
	File     string // "" when unknown
	Line     int
	Module   string // file of the code, "" when unknown
	Inlined  bool   // the next frame has the same PC
	// BuildID is that of the module, "" if it has none. FileOffset is where in its file the code is; Address is PC in the terms of the
	// file, which are those of its debug file too.
	BuildID    string
	FileOffset uint64
	Address    uint64
	Caller     bool // PC is behind a call, and the names are those of the call
	// Cut, of the last frame, is why its callers are not known; "" if it is the outermost. Of another frame it may be ThroughMade.
	Cut string
}

// ByPointers is the Cut of stacks of which frame pointers were followed: frames may be missing.
const ByPointers = "by frame pointers: there was no call frame information of the process yet"

// ThroughMade is the Cut of a frame in code made at run time, of which frame pointers lead to the callers.
const ThroughMade = "by frame pointers: this code was made at run time"

// SourceLine is a line of a source file; File is "" if it is not known.
type SourceLine struct {
	File string
	Line int
}

// CodeFrames returns f, which has the address and its code, and the functions inlined at it, innermost first, which were
// called at the lines calls.
// The offset of a caller was looked up for the call, one byte before the address; it is converted to that of
// the address.
func CodeFrames(f Frame, caller bool, inlined []string, calls []SourceLine) []Frame {
	if caller && f.Function != "" {
		f.Offset++
	}
	var out []Frame
	for i, name := range inlined {
		out = append(out, Frame{PC: f.PC, Function: name, File: f.File, Line: f.Line, Module: f.Module, Inlined: true})
		f.File, f.Line = "", 0 // the line of the address is that of the innermost
		if i < len(calls) && calls[i].Line > 0 {
			f.File, f.Line = calls[i].File, calls[i].Line
		}
	}
	return append(out, f)
}
