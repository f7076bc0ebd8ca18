package main

import (
	"debug/elf"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon"
	"github.com/jalon-trace/jalon/internal/lazyregexp"
	"github.com/jalon-trace/jalon/internal/openfile"
	"github.com/jalon-trace/jalon/internal/procdir"
)

// Hints on standard error: the trace is possible, but may not show what the user expects.

// hintsBefore are for the command line.
func (c *traceCmd) hintsBefore(tps []jalon.Tracepoint) {
	if text := c.hintScript(tps); text != "" {
		c.warn(text)
	}
	if text := hintReturnAddress(tps); text != "" {
		c.warn(text)
	}
}

// hintScript explains that the program of a script is its interpreter. Places of the kernel are traced also in the
// programs that it starts.
func (c *traceCmd) hintScript(tps []jalon.Tracepoint) string {
	if len(c.program) == 0 || !slices.ContainsFunc(tps, c.inProgram) {
		return ""
	}
	path, err := exec.LookPath(c.program[0])
	if err != nil {
		return ""
	}
	f, err := openfile.Regular(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 128)
	n, _ := io.ReadFull(f, head)
	rest, ok := strings.CutPrefix(string(head[:n]), "#!")
	if words := strings.Fields(rest); ok && len(words) > 0 {
		return fmt.Sprintf("%s is a script: the program that is traced is %s, which executes it; programs that it starts are not traced", c.program[0], words[0])
	}
	return ""
}

// inProgram reports whether the place of a tracepoint is in a program.
func (c *traceCmd) inProgram(tp jalon.Tracepoint) bool {
	where, err := tp.Where()
	return err == nil && where != jalon.InKernel && (c.Vmlinux == "" || where != jalon.InSource)
}

// hintReturnAddress explains $ret where no place is a return.
func hintReturnAddress(tps []jalon.Tracepoint) string {
	for i := range tps {
		tp := &tps[i]
		if returnPlace.MatchString(tp.Place) || !functionName.MatchString(tp.Place) {
			continue
		}
		for _, list := range tp.Collect {
			if returnWord.MatchString(list) {
				return fmt.Sprintf("$ret is the address to which %s returns; its result is $ret at the place '%s%%return'", tp.Place, tp.Place)
			}
		}
	}
	return ""
}

var (
	returnPlace  = lazyregexp.New(`%return|retprobe:|fexit:`)
	returnWord   = lazyregexp.New(`\$ret\b`)
	functionName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// hintsAfter are for functions that were never reached.
func (c *traceCmd) hintsAfter(res *jalon.Result) {
	hits := map[string]uint64{}
	for i := range res.Sites {
		hits[res.Sites[i].Site.Place] += res.Sites[i].Hits()
	}
	var names []string
	var all uint64
	for place, n := range hits {
		all += n
		if n == 0 && functionName.MatchString(place) {
			names = append(names, place)
		}
	}
	if all == 0 && !c.All {
		if text := hintChildren(c.Pid); text != "" {
			c.warn(text)
			return
		}
	}
	if len(names) == 0 {
		return
	}
	imports := importsOf(c.executable())
	for _, name := range names {
		if checked := "__" + name + "_chk"; imports[checked] {
			c.warn(fmt.Sprintf("the program calls %s in place of %s (it was compiled with _FORTIFY_SOURCE): trace %s", checked, name, checked))
		} else if text := meaningOf(name); text != "" {
			c.warn(fmt.Sprintf("%s was not called in the program; %s", name, text))
		}
	}
}

// hintChildren names processes that a traced process had started before, and that execute the same program.
func hintChildren(pid int) string {
	const most = 8
	if pid == 0 {
		return ""
	}
	exe, err := procdir.Exe(pid)
	if err != nil {
		return ""
	}
	var ids []string
	for _, child := range procdir.Children(pid) {
		if path, err := procdir.Exe(child); err == nil && path == exe {
			ids = append(ids, strconv.Itoa(child))
		}
	}
	if len(ids) == 0 {
		return ""
	}
	list := strings.Join(ids[:min(len(ids), most)], ", ")
	if len(ids) > most {
		list += ", ..."
	}
	return fmt.Sprintf("process %d has no hits; what it started before is not traced: -p PID, of %s", pid, list)
}

// executable returns the path of the traced program, "" if there is none.
func (c *traceCmd) executable() string {
	if c.Pid != 0 {
		return fmt.Sprintf("/proc/%d/exe", c.Pid)
	}
	if len(c.program) > 0 {
		if path, err := exec.LookPath(c.program[0]); err == nil {
			return path
		}
	}
	return ""
}

// importsOf returns the names of functions that a program takes from libraries.
func importsOf(path string) map[string]bool {
	names := map[string]bool{}
	f, err := openfile.Regular(path)
	if path == "" || err != nil {
		return names
	}
	defer f.Close()
	e, err := elf.NewFile(f)
	if err != nil {
		return names
	}
	list, _ := e.ImportedSymbols() // none if it is static
	for i := range list {
		names[list[i].Name] = true
	}
	return names
}
