package runner

import (
	"debug/elf"
	"os/exec"
	"strings"

	"github.com/jalon-trace/jalon/internal/openfile"
)

// foreign returns the function that reports whether a file is another program than the one of the process, which the process can have
// only behind an exec. Libraries are not: the process may have them.
func foreign(program string) func(file string) bool {
	known := map[string]bool{}
	return func(file string) bool {
		is, found := known[file]
		if !found {
			is = program != "" && otherProgram(file, program)
			known[file] = is
		}
		return is
	}
}

func otherProgram(file, program string) bool {
	if !strings.Contains(file, "/") {
		path, err := exec.LookPath(file)
		if err != nil {
			return false
		}
		file = path
	}
	return !openfile.Same(file, program) && isExecutable(file)
}

// isExecutable reports whether a file is a program: libraries have a name for those that are linked with them, some of them an interpreter too.
func isExecutable(name string) bool {
	f, err := openfile.Regular(name)
	if err != nil {
		return false
	}
	defer f.Close()
	e, err := elf.NewFile(f)
	if err != nil {
		return false
	}
	if e.Type != elf.ET_DYN {
		return e.Type == elf.ET_EXEC
	}
	if flags, err := e.DynValue(elf.DT_FLAGS_1); err == nil && len(flags) > 0 && elf.DynFlag1(flags[0])&elf.DF_1_PIE != 0 {
		return true
	}
	for _, p := range e.Progs {
		if p.Type == elf.PT_INTERP {
			so, err := e.DynString(elf.DT_SONAME)
			return err == nil && len(so) == 0
		}
	}
	return false
}
