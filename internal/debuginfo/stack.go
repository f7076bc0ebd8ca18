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
	// Cut, of the last frame, is why its callers are not known; "" if it is the outermost.
	Cut string
}

// CodeFrames returns f, which has the address and its code, and the functions inlined at it, innermost first.
// The offset of a caller was looked up for the call, one byte before the address; it is converted to that of
// the address.
func CodeFrames(f Frame, caller bool, inlined []string) []Frame {
	if caller && f.Function != "" {
		f.Offset++
	}
	var out []Frame
	for _, name := range inlined {
		out = append(out, Frame{PC: f.PC, Function: name, File: f.File, Line: f.Line, Module: f.Module, Inlined: true})
	}
	if len(inlined) > 0 { // the line is that of the innermost
		f.File, f.Line = "", 0
	}
	return append(out, f)
}
