package patch

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/jalon-trace/jalon/internal/arch/amd64"
)

// opSpace is one table of 256 opcodes.
type opSpace uint8

const (
	spaceOne opSpace = iota
	space0F
	space0F38
	space0F3A
	space3DNow
	spaceVex1
	spaceVex2
	spaceVex3
	spaceEvex1
	spaceEvex2
	spaceEvex3
	spaceEvex5
	spaceEvex6
	spaceXop8
	spaceXop9
	spaceXop10
	numSpaces
)

var spaceText = [numSpaces]string{
	spaceOne: oneByteOps, space0F: twoByteOps, space0F38: ops0F38, space0F3A: ops0F3A,
	spaceVex1: vexMap1, spaceVex2: vexMap2, spaceVex3: vexMap3,
	spaceEvex1: evexMap1, spaceEvex2: evexMap2, spaceEvex3: evexMap3, spaceEvex5: evexMap5, spaceEvex6: evexMap6,
	spaceXop8: xopMap8, spaceXop9: xopMap9, spaceXop10: xopMap10,
}

// access is what an operand does with its register.
type access uint8

const (
	accRead access = 1 << iota
	accWrite
)

// operand is one operand of a table line: a kind and a size letter, or the
// implicit register set regs.
type operand struct {
	kind, size byte
	acc        access
}

// flagUse is what an instruction does with the arithmetic flags.
type flagUse uint8

const (
	flagsNone     flagUse = iota
	flagsRead             // f
	flagsWrite            // f=
	flagsReadOver         // f+
	flagsShiftImm         // fi
)

// form is one line of a table for one opcode.
type form struct {
	pp      uint8 // set of mandatory prefixes, bit ppNone... ; 0 = any
	digits  uint8 // set of reg fields of ModRM; 0 = any
	mod     byte  // 'm', 'r' or 0
	modrm   bool
	exact   []byte // ModRM bytes; nil = any
	ops     []operand
	reads   RegSet // implicit
	writes  RegSet
	flags   flagUse
	class   Class
	unknown bool
	rep     bool
	mem     bool // accesses memory beyond ModRM
}

// Bits of form.pp, by the value of VEX.pp.
const (
	ppNone = 1 << iota
	pp66
	ppF3
	ppF2
)

type opTable [numSpaces][256][]form

// table returns the opcode tables. They are built at first use, in well under a
// millisecond.
var table = sync.OnceValue(func() *opTable {
	t := new(opTable)
	for s, text := range spaceText {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" {
				t.add(opSpace(s), line)
			}
		}
	}
	return t
})

func (t *opTable) add(s opSpace, line string) {
	left, right, ok := strings.Cut(line, ":")
	codes, cond, _ := strings.Cut(strings.TrimSpace(left), " ")
	if !ok {
		panic("BUG: opcode line without a colon: " + line)
	}
	f := parseCondition(strings.TrimSpace(cond))
	for _, tok := range strings.Fields(right) {
		f.effect(tok)
	}
	for _, c := range strings.Split(codes, ",") {
		lo, hi, isRange := strings.Cut(c, "-")
		if !isRange {
			hi = lo
		}
		for op := hexByte(lo); ; op++ {
			t[s][op] = append(t[s][op], f)
			if op == hexByte(hi) {
				break
			}
		}
	}
}

func hexByte(s string) byte {
	n, err := strconv.ParseUint(s, 16, 8)
	if err != nil {
		panic("BUG: opcode table: " + err.Error())
	}
	return byte(n)
}

func parseCondition(c string) form {
	var f form
	if exact, ok := cutAfter(&c, '='); ok {
		f.modrm = true
		for _, x := range strings.Split(exact, ",") {
			f.exact = append(f.exact, hexByte(x))
		}
	}
	if digits, ok := cutAfter(&c, '/'); ok {
		f.modrm = true
		for _, d := range digits {
			f.digits |= 1 << (d - '0')
		}
	}
	for _, x := range c {
		switch x {
		case 'n', 'o', 's', 'd':
			f.pp |= 1 << strings.IndexRune("nosd", x)
		case 'm', 'r':
			f.mod, f.modrm = byte(x), true
		default:
			panic("BUG: opcode table: condition " + c)
		}
	}
	return f
}

func cutAfter(s *string, sep byte) (string, bool) {
	before, after, ok := strings.Cut(*s, string(sep))
	*s = before
	return after, ok
}

// implicitRegs are the registers that instructions name implicitly.
var implicitRegs = func() map[string]RegSet {
	m := map[string]RegSet{}
	for r := amd64.RAX; r <= amd64.RDI; r++ {
		m[r.Name(8)] = amd64.Set(r)
	}
	return m
}()

var classTokens = map[string]Class{
	"@nop": Nop, "@jmp": Jmp, "@jcc": Jcc, "@loop": Loop, "@call": Call, "@jmpind": JmpInd, "@callind": CallInd,
	"@ret": Ret, "@syscall": Syscall, "@int3": Int3, "@trap": Trap, "@xbegin": XBegin, "@far": Far,
}

var flagTokens = map[string]flagUse{"f": flagsRead, "f=": flagsWrite, "f+": flagsReadOver, "f~": flagsNone, "fi": flagsShiftImm}

// effect applies one word of the right side of a line.
func (f *form) effect(tok string) {
	if c, ok := classTokens[tok]; ok {
		f.class = c
		return
	}
	if u, ok := flagTokens[tok]; ok {
		f.flags = u
		return
	}
	switch tok {
	case "?":
		f.unknown = true
		return
	case "rep":
		f.rep = true
		return
	case "mem":
		f.mem = true
		return
	case "stack":
		f.reads, f.writes, f.mem = f.reads|RSP, f.writes|RSP, true
		return
	}
	acc := accRead
	name := strings.TrimRight(tok, "=+")
	switch tok[len(name):] {
	case "=":
		acc = accWrite
	case "+":
		acc = accRead | accWrite
	}
	if r, ok := implicitRegs[name]; ok {
		if acc&accRead != 0 {
			f.reads |= r
		}
		if acc&accWrite != 0 {
			f.writes |= r
		}
		return
	}
	o := operand{kind: name[0], acc: acc}
	if len(name) > 1 {
		o.size = name[1]
	}
	if !strings.ContainsRune("EGBZADWLYOIJ", rune(o.kind)) {
		panic(fmt.Sprintf("BUG: opcode table: operand %q", tok))
	}
	f.modrm = f.modrm || strings.ContainsRune("EGWLY", rune(o.kind))
	f.ops = append(f.ops, o)
}

// matches reports whether the form is meant by these prefixes and this ModRM byte.
func (f *form) matches(pp uint8, modrm byte) bool {
	if f.pp != 0 && f.pp&pp == 0 {
		return false
	}
	if f.digits != 0 && f.digits&(1<<(modrm>>3&7)) == 0 {
		return false
	}
	if f.mod != 0 && (f.mod == 'r') != (modrm >= 0xc0) {
		return false
	}
	if f.exact == nil {
		return true
	}
	for _, x := range f.exact {
		if x == modrm {
			return true
		}
	}
	return false
}
