package inproc

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/process"
)

// CodeState describes the changes to the code of a file that a process has mapped.
type CodeState struct {
	Path        string
	Breakpoints []CodeRange // not in the file: uprobes, or a debugger's
	Changed     []CodeRange // other bytes that differ from the file
	Writable    []CodeRange // pages that accept no uprobes because they are writable: jalon's guard
	Copied      []CodeRange // pages that accept none because a copy covers the file's
}

// CodeRange is a range of addresses with the function at its start, "" if not known.
type CodeRange struct {
	Lo, Hi   uint64
	Function string
}

// InspectCode compares the code of a running process with its files, without stopping the process. Files
// whose code is unchanged are left out.
func InspectCode(pid int, opt dwarf.Options) ([]CodeState, error) {
	list, err := InspectProcess(pid, opt)
	if err != nil {
		return nil, err
	}
	mapped, err := process.Maps(pid)
	if err != nil {
		return nil, err
	}
	mem, err := openMem(pid)
	if err != nil {
		return nil, err
	}
	defer mem.Close()
	var out []CodeState
	for _, in := range list {
		c := CodeState{Path: in.Path}
		for _, seg := range in.Info.Segments() {
			if seg.Exe {
				c.segment(in, span{seg.Vaddr + in.Bias, seg.Vaddr + in.Bias + seg.Filesz}, mapped, mem)
			}
		}
		if len(c.Breakpoints)+len(c.Changed)+len(c.Writable)+len(c.Copied) > 0 {
			out = append(out, c)
		}
	}
	return out, nil
}

// segment compares the pages of one segment of code.
func (c *CodeState) segment(in *Inspected, seg span, mapped []process.Mapping, mem *os.File) {
	calls := uprobeCalls(mapped)
	named := func(lo, hi uint64) CodeRange {
		fn, _, _, _, _ := in.Info.Symbolize(lo - in.Bias)
		return CodeRange{lo, hi, fn}
	}
	for i := range mapped {
		m := &mapped[i]
		lo, hi := max(seg.lo, m.Start), min(seg.hi, m.End)
		if lo >= hi || m.Prot&unix.PROT_EXEC == 0 {
			continue
		}
		switch {
		case m.Inode == 0:
			c.Copied = append(c.Copied, named(lo, hi))
		case m.Prot&unix.PROT_WRITE != 0 && !m.Shared:
			c.Writable = append(c.Writable, named(lo, hi))
		}
		const chunk = 1 << 20
		for at := lo; at < hi; at += chunk {
			c.compare(in, at, int(min(chunk, hi-at)), mem, calls, named)
		}
	}
}

// compare finds bytes that differ from the file.
func (c *CodeState) compare(in *Inspected, addr uint64, n int, mem *os.File, calls []span, named func(lo, hi uint64) CodeRange) {
	b := make([]byte, n)
	if _, err := mem.ReadAt(b, int64(addr)); err != nil {
		return // unmapped meanwhile
	}
	file, err := in.Info.Text(addr-in.Bias, n)
	if err != nil || len(file) != n {
		return
	}
	for i := 0; i < n; i++ {
		if b[i] == file[i] {
			continue
		}
		at := addr + uint64(i)
		if in.Info.Relocated(at - in.Bias) {
			continue
		}
		last := len(c.Changed) - 1
		if k := breakpointAt(file[i:], b[i:], at, calls); k > 0 && (last < 0 || c.Changed[last].Hi != at) {
			c.Breakpoints = append(c.Breakpoints, named(at, at+uint64(k)))
			i += k - 1
			continue
		}
		if last >= 0 && at-c.Changed[last].Hi < 8 { // one patch with unchanged bytes in it
			c.Changed[last].Hi = at + 1
			continue
		}
		c.Changed = append(c.Changed, named(at, at+1))
	}
}

// String formats the range as `jalon check` prints it.
func (r CodeRange) String() string {
	s := fmt.Sprintf("%#x-%#x", r.Lo, r.Hi)
	if r.Function != "" {
		s += " (" + r.Function + ")"
	}
	return s
}
