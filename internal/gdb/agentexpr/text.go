package agentexpr

import (
	"fmt"
	"strconv"
	"strings"
)

// String is the instruction as GDB's "maint agent" prints it, without offset.
func (in *Insn) String() string {
	switch {
	case in.Op == OpPrintf:
		return fmt.Sprintf("printf \"%s\", %d args", in.Format, in.Args)
	case ops[in.Op].size > 0:
		return fmt.Sprintf("%v %d", in.Op, int64(in.Arg))
	}
	return in.Op.String()
}

// Text is a list of instructions as "maint agent" prints it: the offset in three
// columns, two blanks, the instruction.
func Text(list []Insn) string {
	var b strings.Builder
	for i := range list {
		fmt.Fprintf(&b, "%3d  %s\n", list[i].PC, &list[i])
	}
	return b.String()
}

var opByName = func() map[string]Op {
	m := map[string]Op{}
	for o, i := range ops {
		if i.name != "" {
			m[i.name] = Op(o)
		}
	}
	return m
}()

// ParseText reads what Text and "maint agent" print; lines that do not begin with
// an offset ("Scope:", "Reg mask:") are left out.
func ParseText(text string) ([]Insn, error) {
	var list []Insn
	for _, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		pc, err := strconv.Atoi(f[0])
		if err != nil {
			continue
		}
		in := Insn{PC: pc}
		var ok bool
		if in.Op, ok = opByName[f[1]]; !ok {
			return nil, errorAt(pc, "there is no operation %q", f[1])
		}
		if err := in.parseOperand(strings.TrimSpace(line), f[2:]); err != nil {
			return nil, err
		}
		list = append(list, in)
	}
	return list, nil
}

func (in *Insn) parseOperand(line string, operand []string) error {
	if in.Op == OpPrintf {
		first, last := strings.IndexByte(line, '"'), strings.LastIndexByte(line, '"')
		if first < 0 || last <= first {
			return errorAt(in.PC, "printf has no text")
		}
		in.Format = line[first+1 : last]
		n, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(line[last+1:], ", "), " args"), 10, 8)
		in.Args = int(n)
		if err != nil {
			return errorAt(in.PC, "printf has no number of arguments")
		}
		return nil
	}
	want := min(ops[in.Op].size, 1)
	if len(operand) != want {
		return errorAt(in.PC, "%v has %d operands, not %d", in.Op, want, len(operand))
	}
	if want == 0 {
		return nil
	}
	bits := 8 * ops[in.Op].size
	n, err := strconv.ParseInt(operand[0], 10, 64)
	if u, uerr := strconv.ParseUint(operand[0], 10, bits); uerr == nil {
		n, err = int64(u), nil
	} else if bits < 64 {
		err = uerr
	}
	if err != nil {
		return errorAt(in.PC, "operand %q of %v", operand[0], in.Op)
	}
	in.Arg = uint64(n)
	return nil
}
