package image

import (
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/procdir"
	"github.com/jalon-trace/jalon/internal/unwind"
)

// Code that is made at run time (by V8, the Java virtual machine, ...) has no call frame information that could be read. Most compilers of
// such code keep frame pointers in it, so through it, and only through it, stacks are followed by these; the frame says so (Cut).
//
// The code that the in-process engine has in a process is made at run time too, and keeps none: of processes that this one traces by
// ptrace nothing counts as made.

// madeRule is the rule of code with frame pointers.
var madeRule = unwind.NewRule(unwind.ByFP, 16, 16)

// madeSpan is how much code a table has; larger mappings have several modules.
const madeSpan = 4 << 20

// madeTable is one for all made code.
var madeTable = sync.OnceValue(func() *unwind.Table {
	return unwind.New([]unwind.Row{{PC: 0, Rule: madeRule}, {PC: madeSpan}})
})

// isMade reports whether a mapping has code made at run time.
func isMade(x *procdir.Mapping) bool {
	return x.Prot&unix.PROT_EXEC != 0 && x.Inode == 0 && (x.Path == "" || strings.HasPrefix(x.Path, "[anon"))
}

// made reports whether an address is in code made at run time.
func (im *Image) made(addr uint64) bool {
	for i := range im.code {
		if x := &im.code[i]; im.makes && x.Contains(addr) {
			return isMade(x)
		}
	}
	return false
}

// madeModules are at most so many modules for made code.
func (im *Image) madeModules(most int) (list []unwind.Module) {
	for i := range im.code {
		x := &im.code[i]
		if !im.makes || !isMade(x) {
			continue
		}
		for at := x.Start; at < x.End && len(list) < most; at += madeSpan {
			list = append(list, unwind.Module{Lo: at, Hi: min(at+madeSpan, x.End), Bias: at, Table: madeTable()})
		}
	}
	return list
}

// tracedHere reports whether this process traces a process.
func tracedHere(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	return err != nil || strings.Contains(string(b), "\nTracerPid:\t"+strconv.Itoa(os.Getpid())+"\n")
}

// throughMade ends a stack at a caller that frame pointers led to and that is not in code, and marks the frames whose callers are known
// by frame pointers only.
func throughMade(pcs []uint64, end unwind.End, n namer) ([]uint64, unwind.End, []bool) {
	var marks []bool
	for i, pc := range pcs {
		at := pc
		if i > 0 {
			at--
		}
		switch {
		case n.made(at):
			if marks == nil {
				marks = make([]bool, len(pcs))
			}
			marks[i] = true
		case i > 0 && marks != nil && marks[i-1] && !n.IsCode(at):
			return pcs[:i], unwind.Damaged, marks
		}
	}
	return pcs, end, marks
}

// cut is the Cut of a frame that is the last one of a stack, or not. marked: its code was made at run time.
func cut(last, marked, next bool, end unwind.End) string {
	switch {
	case last && end != unwind.Whole:
		return end.String()
	case marked && (last || !next):
		return debuginfo.ThroughMade
	}
	return ""
}
