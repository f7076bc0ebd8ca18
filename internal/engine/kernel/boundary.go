package kernel

import (
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/probe"
)

// The kernel writes the breakpoint of a uprobe at any given address, in every process that maps the file.
// Inside an instruction this creates another instruction; in data it changes the data. So each address, however
// it was found (by the user, a line table, a symbol, a note), must be proved to be the first byte of an
// instruction before a uprobe is attached.

// maxCode bounds the function that is analysed as a whole.
const maxCode = 4 << 20

// codeAt is the code around an address of a file; several sites share it.
type codeAt struct {
	*patch.Code
	flow *patch.Flow
	rseq []debuginfo.Range
	// abort is the abort handler of a restartable sequence that is described at run time; 0: there is none.
	abort uint64
}

const byForce = "--force arms it all the same, at your risk: a wrong place changes or kills every program that runs it"

// placeable is nil where a uprobe may be put at the address vaddr of a file. The error
// is a diagnostic.
func (e *programs) placeable(p *probe.Place, m *dwarf.Module, vaddr uint64) error {
	if _, err := fileOffset(m, vaddr); err != nil {
		return probe.Diagnose(p, err.Error(), "")
	}
	if !m.IsCode(vaddr) {
		return probe.Diagnose(p, fmt.Sprintf("%#x is in no section with code (it is in %s): a breakpoint there would change data", vaddr, sectionOf(m, vaddr)), "")
	}
	if name, at := m.DataInCode(vaddr); name != "" {
		return probe.Diagnose(p, fmt.Sprintf("%#x is data: byte %d of the object %s", vaddr, vaddr-at, name), "")
	}
	x := m.Extent(vaddr)
	agreed := 0
	for _, lo := range x.Starts {
		if lo == vaddr {
			agreed++
		}
	}
	if agreed > 1 && agreed == len(x.Starts) {
		return nil // all sources agree that a function begins there
	}
	if x.Hi == 0 {
		return e.unproven(p, fmt.Sprintf("%#x belongs to no function that symbols, debug information or call frame information know: where its instructions begin cannot be shown", vaddr))
	}
	c, err := e.files.codeOf(m, x, vaddr)
	if err != nil {
		return e.unproven(p, err.Error())
	}
	for _, r := range c.rseq {
		if vaddr > r.Lo && vaddr < r.Hi {
			return probe.Diagnose(p, fmt.Sprintf("%#x lies in a restartable sequence (rseq): the kernel would send the thread back at every hit", vaddr), "")
		}
	}
	if c.abort != 0 {
		return e.unproven(p, fmt.Sprintf("%s is in a function with a restartable sequence (rseq) that is described at run time, with its abort handler at %#x: its start is not known", named(m, vaddr), c.abort))
	}
	if n := host.Processor.InstructionBytes; n != 0 { // the alignment is the proof
		if vaddr%uint64(n) != 0 {
			return probe.Diagnose(p, fmt.Sprintf("no instruction begins at %s: they begin at multiples of %d", named(m, vaddr), n), "")
		}
		return nil
	}
	b := c.flow.Boundary(vaddr)
	switch b.Verdict {
	case patch.Begins:
		if e.overwrites(c, x, &b.Inst) {
			return e.unproven(p, fmt.Sprintf("at the 5-byte nop at %s this kernel (since Linux 6.18) puts a call, which overwrites 8 bytes below the stack pointer; this function may keep variables there", named(m, vaddr)))
		}
		return nil
	case patch.Inside:
		return probe.Diagnose(p, fmt.Sprintf("no instruction begins at %s: it is inside that of %d bytes at %s (% x); a breakpoint there would change the instruction",
			named(m, vaddr), b.Inst.Len, named(m, b.Inst.Addr), b.Inst.Bytes()),
			fmt.Sprintf("the nearest instructions begin at %s and %s", named(m, b.Inst.Addr), named(m, b.Inst.Next())))
	}
	return e.unproven(p, fmt.Sprintf("it is not certain that an instruction begins at %s: %s", named(m, vaddr), b.Why))
}

// overwrites reports whether the kernel would make a call of a nop where the function
// may have data in the 128 bytes below its stack pointer (the red zone). Kernels from
// 6.18 (ba2bfc97b462) up to the fix (eccf368562bb) do; which stable kernels have the fix
// cannot be seen from outside. At the start of a function the red zone is still unused.
func (e *programs) overwrites(c *codeAt, x dwarf.Extent, in *patch.Inst) bool {
	const nop5, endbr64 = "\x0f\x1f\x44\x00\x00", "\xf3\x0f\x1e\xfa"
	if string(in.Bytes()) != nop5 || e.k == nil || !e.k.Features().AtLeast(6, 18) || slices.Contains(x.Starts, in.Addr) {
		return false
	}
	if off := in.Addr - c.Lo; off >= 4 && string(c.Bytes[off-4:off]) == endbr64 && slices.Contains(x.Starts, in.Addr-4) {
		return false
	}
	return c.RedZone()
}

// unproven refuses a site that is not proved to be right, unless the user has given --force.
func (e *programs) unproven(p *probe.Place, msg string) error {
	if e.opt.Force {
		e.warn(p.Text + ": " + msg + "; armed because of --force")
		return nil
	}
	return probe.Diagnose(p, msg, byForce)
}

// named is an address with the function that it is in.
func named(m *dwarf.Module, vaddr uint64) string {
	name, off, _, _, _ := m.Symbolize(vaddr)
	switch {
	case name == "":
		return fmt.Sprintf("%#x", vaddr)
	case off == 0:
		return fmt.Sprintf("%s (%#x)", name, vaddr)
	}
	return fmt.Sprintf("%s+%d (%#x)", name, off, vaddr)
}

func sectionOf(m *dwarf.Module, vaddr uint64) string {
	if s := m.SectionAt(vaddr); s != "" {
		return s
	}
	return "none"
}
