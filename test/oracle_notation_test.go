package test

import (
	"debug/elf"
	"regexp"
	"strconv"
	"strings"
)

// What differs between the tools in how one value is written.

// withoutNames removes the names of symbols behind addresses: GDB adds the parameters to those of functions of C++,
// in its own spelling. A name may have brackets of its own.
func withoutNames(s string) string {
	var out strings.Builder
	for {
		at := addressWithName.FindStringIndex(s)
		if at == nil {
			return out.String() + s
		}
		open := at[1] - 1
		out.WriteString(s[:open-1])
		depth, end := 0, open
		for ; end < len(s); end++ {
			switch {
			case s[end] == '<':
				depth++
			case s[end] == '>' && s[end-1] != '-':
				depth--
			}
			if depth == 0 {
				break
			}
		}
		s = s[min(end+1, len(s)):]
	}
}

var addressWithName = regexp.MustCompile(`0x[0-9a-f]+ <`)

// withoutConst removes const from the names of types: compilers and GDB write it before or behind the type.
func withoutConst(s string) string { return constWord.ReplaceAllString(s, "") }

var constWord = regexp.MustCompile(`\bconst\b ?| const\b`)

// endOfImage is the run-time address behind the program's own data; the heap follows.
func (s *subject) endOfImage() (end uint64) {
	f, err := elf.Open(s.prog)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			end = max(end, p.Vaddr+p.Memsz+s.bias)
		}
	}
	return (end + 4095) &^ 4095
}

// heapRange is where the heap of a program that is not randomised may be.
const heapRange = 1 << 28

var numbers = regexp.MustCompile(`\b(0x[0-9a-f]{6,12}|[0-9]{8,15})\b`)

// withoutHeap replaces addresses of the heap: programs that read /proc/self/maps (Rust's library does) allocate as
// much as they find there, and jalon's memory is found.
func withoutHeap(s string, start uint64) string {
	return numbers.ReplaceAllStringFunc(s, func(n string) string {
		if v, err := strconv.ParseUint(n, 0, 64); err == nil && v >= start && v < start+heapRange {
			return "heap"
		}
		return n
	})
}

// asVariants writes GDB's {DISCRIMINANT, Variant = {members}}, which is what C has for enums of Rust with data, as
// jalon does: Variant {members}.
func asVariants(s string) string {
	for from := 0; ; {
		at := variantStart.FindStringSubmatchIndex(s[from:])
		if at == nil {
			return strings.ReplaceAll(s, " {<No data fields>}", "")
		}
		start, name, inner := from+at[0], s[from+at[2]:from+at[3]], from+at[1]
		depth, end := 1, inner
		for ; end < len(s) && depth > 0; end++ {
			switch s[end] {
			case '{':
				depth++
			case '}':
				depth--
			}
		}
		s = s[:start] + name + " " + strings.TrimSuffix(s[inner:end], "}") + s[end:]
		from = start + len(name)
	}
}

var (
	variantStart = regexp.MustCompile(`\{-?\d+, (\w+) = `)
	pathOfName   = regexp.MustCompile(`\b(?:\w+::)+(\w+)\b`)
	mutable      = regexp.MustCompile(`&\(mut ([^()]*)\)`)
)

// notation returns what makes two values the same although they are written differently, or "".
func (c *comparison) notation(got, want string) string {
	spelled := func(s string) string { return withoutConst(typeWords.Replace(insideStrings.ReplaceAllString(s, "$1"))) }
	if sameValue(spelled(got), spelled(want)) {
		return "same, types spelled differently"
	}
	got, want = withoutNames(spelled(got)), withoutNames(spelled(want))
	if sameValue(got, want) {
		return "same, symbols spelled differently"
	}
	rust := func(s string) string {
		return pathOfName.ReplaceAllString(mutable.ReplaceAllString(asVariants(s), "&mut $1"), "$1")
	}
	got, want = strings.ReplaceAll(rust(got), " {<No data fields>}", ""), rust(want)
	if sameValue(got, want) {
		return "same, variants and enumerators spelled differently"
	}
	if c.imageEnd == 0 {
		c.imageEnd = c.s.endOfImage()
	}
	if sameValue(withoutHeap(got, c.imageEnd), withoutHeap(want, c.imageEnd)) {
		return "same, at other places of the heap"
	}
	return ""
}
