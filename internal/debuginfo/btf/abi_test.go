package btf

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/arch/arm64"
	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/test/testkit"
)

// abiTypes are the types of parameters in the test of the ABI.
const abiTypes = `
typedef struct { char a[1]; } s1;
typedef struct { char a[3]; } s3;
typedef struct { int a; char b; } s8;
typedef struct { long a; int b; } s16;
typedef struct { char a[12]; } s12;
typedef struct { int a, b, c; } s12i;
typedef struct { long a, b, c; } s24;
typedef struct { char a; long b; } __attribute__((packed)) s9p;
typedef struct { int *p; union { long l; char c[4]; } u; } su;
typedef struct { __int128 x; } s128;
typedef struct { long a[3]; __int128 x; } s48;
typedef struct { unsigned a : 3, b : 30; long c : 40; } sbits;
typedef char c; typedef short h; typedef int i; typedef long l; typedef _Bool b;
typedef void *p; typedef __int128 q; typedef enum { E } e;
`

var abiNames = strings.Fields("s1 s3 s8 s16 s12 s12i s24 s9p su s128 s48 sbits c h i l p q e l i p l p")

// abiResults are results in memory, whose address is passed first, and others.
var abiResults = []string{"s24", "s9p", "s48", "s16", "s3", "l"}

// TestABI calls a function with random prototypes whose arguments are known
// bytes, and looks for them where entryPlaces says. The called function stores
// the registers and the stack as they are at its first instruction.
func TestABI(t *testing.T) {
	t.Run("gcc", func(t *testing.T) { testABI(t, "gcc", abiNames) })
	t.Run("clang", func(t *testing.T) {
		// clang before 18 does not align __int128 on the stack.
		testABI(t, "clang", slices.DeleteFunc(slices.Clone(abiNames), func(s string) bool { return s == "q" }))
	})
}

func testABI(t *testing.T, compiler string, names []string) {
	const functions = 300
	seed := testkit.Seed(t, 7)
	r := rand.New(rand.NewSource(seed))
	var types, calls strings.Builder
	for n := range functions {
		var params, fill, args []string
		for j := range r.Intn(10) {
			name := names[r.Intn(len(names))]
			params = append(params, fmt.Sprintf("%s p%d", name, j))
			fill = append(fill, fmt.Sprintf("%s v%d; fill(&v%d, sizeof v%d);", name, j, j, j))
			args = append(args, fmt.Sprintf("v%d", j))
		}
		if params == nil {
			params = []string{"void"}
		}
		result := "void"
		if r.Intn(3) == 0 {
			result = abiResults[r.Intn(len(abiResults))]
		}
		fmt.Fprintf(&types, "typedef %s t%d(%s); t%d *x%d;\n", result, n, strings.Join(params, ", "), n, n)
		fmt.Fprintf(&calls, "{ next = 0; %s ((t%d *)capture)(%s); show(%d); }\n", strings.Join(fill, " "), n, strings.Join(args, ", "), n)
	}
	source := filepath.Join(t.TempDir(), "abi.c")
	if err := os.WriteFile(source, []byte(abiTypes+types.String()+abiMain+calls.String()+"}\n#endif\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	k := clangBTF(t, source)
	prog := filepath.Join(t.TempDir(), "abi")
	run(t, compiler, "-w", "-O0", "-no-pie", "-o", prog, source)
	lines := strings.Split(strings.TrimSpace(string(run(t, prog))), "\n")
	if len(lines) != functions {
		t.Fatalf("%d lines", len(lines))
	}
	for n, line := range lines {
		state, err := hex.DecodeString(line)
		if err != nil {
			t.Fatal(err)
		}
		checkABI(t, k, fmt.Sprintf("t%d", n), state)
		if t.Failed() {
			t.Fatalf("seed %d, prototype %d", seed, n)
		}
	}
}

// TestReturnABI calls functions that return known bytes, and looks for them where
// returnPlace says.
func TestReturnABI(t *testing.T) {
	types := slices.Clone(abiNames)
	slices.Sort(types)
	types = slices.Compact(types)
	var defs, calls strings.Builder
	for _, n := range types {
		fmt.Fprintf(&defs, "typedef %s r_%s(void); r_%s *y_%s;\n#ifndef __bpf__\n%s f_%s(void) { %s v; fill(&v, sizeof v); return v; }\n#endif\n", n, n, n, n, n, n, n)
		fmt.Fprintf(&calls, "next = 0; returned(f_%s, state + 48); show(0);\n", n)
	}
	main := strings.Replace(abiMain, "int main(void) {", "#endif\n"+defs.String()+abiReturned+"int main(void) {", 1)
	source := filepath.Join(t.TempDir(), "abi.c")
	if err := os.WriteFile(source, []byte(abiTypes+main+calls.String()+"}\n#endif\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	k := clangBTF(t, source)
	for _, compiler := range []string{"gcc", "clang"} {
		prog := filepath.Join(t.TempDir(), compiler)
		run(t, compiler, "-w", "-O0", "-no-pie", "-o", prog, source)
		lines := strings.Fields(string(run(t, prog)))
		if len(lines) != len(types) {
			t.Fatalf("%d lines for %d types", len(lines), len(types))
		}
		for i, line := range lines {
			state, err := hex.DecodeString(line)
			if err != nil {
				t.Fatal(err)
			}
			typ := mustType(t, k, ctype.Typedef, types[i])
			want := make([]byte, typ.Size)
			for j := range want {
				want[j] = byte(j + 1)
			}
			loc, got := returnPlace(typ), []byte(nil)
			for _, p := range loc.Pieces {
				off := map[int]int64{int(host.Processor.Results[0]): 0, int(host.Processor.Results[1]): 8}[p.Reg]
				if p.Kind == debuginfo.InMemory {
					off = 48 // capture's caller passed this address, and rax must be it
					if !bytes.Equal(state[:8], state[16:24]) {
						t.Errorf("%s: rax is not the address of the result", types[i])
					}
				}
				n := p.BitSize / 8
				if n == 0 {
					n = typ.Size
				}
				got = append(got, state[off:off+n]...)
			}
			if !sameValue(typ, got, want) {
				t.Errorf("%s, %s: %x at %s, want %x", compiler, types[i], got, where(loc), want)
			}
		}
	}
}

// abiReturned: returned calls a function with the address of a result and stores
// rax, rdx and that address.
const abiReturned = `
#ifndef __bpf__
void returned(void *, void *);
__asm__(".text\nreturned:\n"
	"push %rbx\nmov %rsi, %rbx\nmov %rdi, %rax\nmov %rsi, %rdi\ncall *%rax\n"
	"mov %rax, state(%rip)\nmov %rdx, state+8(%rip)\nmov %rbx, state+16(%rip)\npop %rbx\nret\n");
`

// abiMain: capture stores rdi rsi rdx rcx r8 r9, then the stack from rsp on.
const abiMain = `
#ifndef __bpf__
#include <stdio.h>
unsigned char state[48 + 1024];
static int next;
static void fill(unsigned char *p, int n) { while (n--) *p++ = 1 + next++ % 255; }
void capture(void);
__asm__(".text\n.globl capture\ncapture:\n"
	"mov %rdi, state(%rip)\nmov %rsi, state+8(%rip)\nmov %rdx, state+16(%rip)\n"
	"mov %rcx, state+24(%rip)\nmov %r8, state+32(%rip)\nmov %r9, state+40(%rip)\n"
	"mov %rsp, %rsi\nlea state+48(%rip), %rdi\nmov $128, %ecx\nrep movsq\nret\n");
static void show(int n) { (void)n; for (int j = 0; j < sizeof state; j++) printf("%02x", state[j]); puts(""); }
int main(void) {
	char room[2048]; __asm__ volatile("" : : "r"(room) : "memory");
`

func checkABI(t *testing.T, k *Kernel, name string, state []byte) {
	t.Helper()
	td, err := k.Type(ctype.Typedef, name)
	if err != nil {
		t.Fatal(err)
	}
	var params []Param
	for i, p := range td.Elem.Params {
		params = append(params, Param{fmt.Sprintf("p%d", i), p})
	}
	at := entryPlaces(params, td.Elem.Elem)
	next := 0
	whole, haveArgs := together(params, at)
	if len(params) > 0 && !haveArgs {
		t.Errorf("%s: no struct of the arguments", name)
	}
	args := argsType(params)
	all := locate(t, state, whole, args.Size)
	for i, p := range params {
		want := make([]byte, p.Type.Size)
		for j := range want {
			want[j] = byte(1 + next%255)
			next++
		}
		for what, got := range map[string][]byte{
			"bare":    locate(t, state, at[i], p.Type.Size),
			"in args": all[args.Fields()[i].BitOffset/8:][:p.Type.Size],
		} {
			if !sameValue(p.Type, got, want) {
				t.Errorf("%s: parameter %d (%s, %s) is %x at %+v, want %x", name, i, p.Type.Name, what, got, at[i], want)
			}
		}
	}
}

// sameValue compares the bytes of a value without its padding.
func sameValue(t *ctype.Type, got, want []byte) bool {
	s := t.Strip()
	if s.Kind != ctype.Struct && s.Kind != ctype.Union {
		return bytes.Equal(got, want)
	}
	for _, f := range s.Fields() {
		if f.BitSize > 0 {
			for n := f.BitOffset; n < f.BitOffset+f.BitSize; n++ {
				if got[n/8]>>(n%8)&1 != want[n/8]>>(n%8)&1 {
					return false
				}
			}
		} else if off := f.BitOffset / 8; !sameValue(f.Type, got[off:off+f.Type.Size], want[off:off+f.Type.Size]) {
			return false
		}
	}
	return true
}

// locate reads a value of size bytes out of a captured state.
func locate(t *testing.T, state []byte, loc debuginfo.Location, size int64) []byte {
	t.Helper()
	var out []byte
	for _, p := range loc.Pieces {
		n := p.BitSize / 8
		if n == 0 {
			n = size
		}
		off := int64(-1)
		switch {
		case p.Kind == debuginfo.InRegister:
			for i, r := range host.Processor.Args {
				if int(r) == p.Reg {
					off = int64(i) * 8
				}
			}
			if n > 8 {
				t.Fatalf("%d bytes of a register", n)
			}
		case p.Kind == debuginfo.InMemory && len(p.Expr) == 2 && p.Expr[0] == (debuginfo.Op{Code: debuginfo.OpReg, Arg: int64(host.Processor.SP)}) && p.Expr[1].Code == debuginfo.OpAddConst:
			off = 48 + p.Expr[1].Arg
		}
		if off < 0 {
			t.Fatalf("piece %+v", p)
		}
		out = append(out, state[off:off+n]...)
	}
	return out
}

// TestArm64Places: AAPCS64 6.8.2 by hand: the registers x0 to x7, pairs, 128-bit integers
// in even pairs, larger structs by pointer to a copy, and no register after the first
// argument that was not given room in them.
func TestArm64Places(t *testing.T) {
	word := &ctype.Type{Kind: ctype.Int, Name: "long", Size: 8, Signed: true}
	wide := &ctype.Type{Kind: ctype.Int, Name: "__int128", Size: 16, Signed: true}
	aggregate := func(words int64) *ctype.Type {
		s := &ctype.Type{Kind: ctype.Struct, Size: 8 * words}
		var fields []ctype.Field
		for i := range words {
			fields = append(fields, ctype.Field{Name: "f", Type: word, BitOffset: 64 * i})
		}
		s.SetFields(fields)
		return s
	}
	var params []Param
	for _, typ := range []*ctype.Type{word, wide, aggregate(3), aggregate(2), word, aggregate(2), word, wide} {
		params = append(params, Param{Name: "p", Type: typ})
	}
	want := []string{"r0", "r2 r3", "*r4", "r5 r6", "r7", "sp+0", "sp+16", "sp+32"}
	for i, l := range entryPlacesOf(&arm64.Processor, params, aggregate(3)) {
		got := ""
		for _, p := range l.Pieces {
			switch {
			case p.Kind == debuginfo.InRegister:
				got += fmt.Sprintf(" r%d", p.Reg)
			case len(p.Expr) == 1:
				got += fmt.Sprintf(" *r%d", p.Expr[0].Arg)
			case p.Expr[0].Arg == int64(arm64.SP):
				got += fmt.Sprintf(" sp+%d", p.Expr[1].Arg)
			}
		}
		if got != " "+want[i] {
			t.Errorf("parameter %d:%s, want %s", i, got, want[i])
		}
	}
	if l := entryPlacesOf(&amd64.Processor, params[:1], aggregate(3))[0]; l.Pieces[0].Reg != int(amd64.RSI.DWARF()) {
		t.Errorf("x86-64, behind the address of the result: %+v", l)
	}
	if l := returnPlaceOf(&arm64.Processor, aggregate(2)); len(l.Pieces) != 2 || l.Pieces[1].Reg != 1 {
		t.Errorf("two words are returned in %v", l)
	}
	if l := returnPlaceOf(&arm64.Processor, aggregate(3)); l.Unavailable == "" {
		t.Errorf("three words are returned in %v", l)
	}
}
