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
}

// Stack makes a stack in one of the modes bpftrace, perf and raw.
func Stack(frames []Frame, mode string) Value {
	list := make([]Value, len(frames))
	for i := range frames {
		list[i] = Text(frames[i].text(mode))
	}
	return Value{kind: stackValue, list: list}
}

func (f *Frame) text(mode string) string {
	name := f.Function
	if name == "" {
		name = fmt.Sprintf("0x%x", f.PC)
	} else {
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
	return name
}

// stack writes the frames on lines of their own, indented.
func (v Value) stack(indent int) string {
	var b strings.Builder
	b.WriteByte('\n')
	for _, f := range v.list {
		b.WriteString(strings.Repeat(" ", indent) + f.str + "\n")
	}
	return b.String()
}
