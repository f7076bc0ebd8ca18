package ir_test

import (
	"math/rand"
	"reflect"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/irgen"
	"github.com/jalon-trace/jalon/test/testkit"
)

// TestTextRoundTrip: Parse reads what String writes, every field of it.
func TestTextRoundTrip(t *testing.T) {
	r := rand.New(rand.NewSource(testkit.Seed(t, 1)))
	for range 500 {
		p := irgen.Random(r, irgen.Options{Floats: true, SegBase: true, Maps: true})
		for id, b := range p.Blocks {
			b.Note = []string{"", "condition", `field: p->x["\"]`, ` "quoted" and spaced `, "two\nlines", "\xff; b1:"}[(id+r.Intn(3))%6]
		}
		q, err := ir.Parse(p.String())
		if err != nil {
			t.Fatalf("%v\n%s", err, p)
		}
		// Unused edges are not written.
		for _, b := range p.Blocks {
			if b.Term.Kind != ir.Branch {
				b.Term.Else = ir.Edge{To: ir.NoBlock}
			}
			if b.Term.Kind == ir.Exit {
				b.Term.Then = ir.Edge{To: ir.NoBlock}
			}
		}
		if p.String() != q.String() || !reflect.DeepEqual(p.Blocks, q.Blocks) || !reflect.DeepEqual(p.Classes, q.Classes) || !reflect.DeepEqual(p.Maps, q.Maps) {
			t.Fatalf("wrote\n%s\nread\n%s", p, q)
		}
	}
}

// TestTextForm shows the form of every operation. It is what String writes.
func TestTextForm(t *testing.T) {
	const text = `program "all"
map 0 words 2 slots 1024 "one"
map 1 words 0 slots 1 "two \"x\""
b0: ; entry
  v0 = const -5
  v1:f64 = fconst 0x3ff8000000000000 ; 1.5
  v2:f32 = fconst 0x40200000 ; 2.5
  v3 = reg fs_base
  v4:f64 = freg xmm15
  v5 = add.8 v0, v3
  v6 = neg.4 v5
  v7 = sext.1 v6
  v8 = ule.4 v7, v0
  v9:f64 = fadd v1, v4
  v10:f64 = ftof v2
  v11 = fle v9, v10
  v12 = load.4s v3-16
  v13 = load.8 v3 fault b3
  v14:f32 = fload v3+2147483648 fault b3
  v15 = streq v3+8, "a\"\xff;b" fault b3
  v20 = mapslot 0, v0, v3
  v21 = mapfind 1, v0, v3
  v22 = maphas 1, v21
  v23 = mapseen 0, v20
  v24 = mapget 0, v20, 1
  mapset 0, v20, 1, v0
  mapadd 0, v20, 0, v0
  mapshow 0, v20
  maphide 1, v21
  v25 = ticks
  count 3
  brif unlikely v15 -> b1(v13, v1) else b2
b1(v16, v17:f64): ; fields
  reserve 200
  v26 = ticks
  put.2 @24, v16
  fput @32, v17
  putreg.16 @40, xmm3
  putreg.16 @40, ymm15h
  putreg.4 @40, mxcsr
  putreg @40, x87
  copy @56, v3, 16 fault b4
  copyn @72, v3, v0, 16 fault b4
  copystr.1 @96, v3, 32 fault b4
  copymax @136, v3, 56
  jump b5
b2:
  exit
b3(v18):
  jump b2
b4(v19):
  put.8 @56, v19
  jump b5
b5:
  commit
  exit
`
	// b3 leads back to b2: fine for the text, not for Check.
	p, err := ir.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.String(); got != text {
		t.Errorf("got\n%s\nwant\n%s", got, text)
	}
	if err := ir.Check(p); err == nil || !strings.Contains(err.Error(), "does not lead forward") {
		t.Errorf("Check: %v", err)
	}
}

// TestParseFreely: what String does not write but Parse reads.
func TestParseFreely(t *testing.T) {
	p, err := ir.Parse("; a comment\n\n  b0:;note\n v7:i64=const 0x10;c\r\n\tbrif v7->b1 else b1 ; c\nb1( ) :\nexit")
	if err != nil {
		t.Fatal(err)
	}
	want := "b0: ; note\n  v7 = const 16\n  brif v7 -> b1 else b1\nb1:\n  exit\n"
	if p.String() != want {
		t.Errorf("got\n%s\nwant\n%s", p, want)
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"exit", "line 1: an instruction outside of a block"},
		{"b0:\n", "block b0 has no end"},
		{"b0:\nb1:\nexit", "line 2: block b1 begins before the one above has ended"},
		{"b1:\nexit", "line 1: found block b1, expected b0"},
		{"b0\nexit", "line 1: expected ':'"},
		{"b0(v1 v2):", `line 1: expected ',' or ')' before "v2):"`},
		{"b0(:", `line 1: expected a value before ":"`},
		{"b0: ; \"x", `line 1: the note "x is not quoted well`},
		{"b0:\nfoo v1", `line 2: unknown operation "foo"`},
		{"b0:\nv1 const 1", `line 2: expected '=' before "const 1"`},
		{"b0:\nv1 = const x", `line 2: expected a number before "x"`},
		{"b0:\nv1 = const 1 2", `line 2: unexpected "2"`},
		{"b0:\nv1 = add.4 v1 v2", `line 2: expected ',' before "v2"`},
		{"b0:\nv1 = add.x v1, v2", `line 2: bad width in "add.x"`},
		{"b0:\nv1 = add.0 v1, v2", `line 2: bad width in "add.0"`},
		{"b0:\nv1 = reg eax", `line 2: unknown register "eax"`},
		{"b0:\nv1:f16 = reg rax", `line 2: unknown class "f16"`},
		{"b0:\nv1 = freg xmm16", `line 2: unknown register "xmm16"`},
		{"b0:\nputreg.16 @24, ymm1", `line 2: unknown register "ymm1"`},
		{"b0:\nv1:f64 = fconst 1.5", `line 2: bad bits "1.5"`},
		{"b0:\nput.4 24, v1", `line 2: expected '@' before "24, v1"`},
		{"b0:\nv1 = streq v1, abc", `line 2: expected a text in double quotes before "abc"`},
		{"b0:\nv1 = load.4 v1 fault", "line 2: expected a block"},
		{"b0:\nbrif v1 b1 else b2", `line 2: expected '->' before "b1 else b2"`},
		{"b0:\nbrif v1 -> b1 b2", `line 2: expected 'else'`},
		{"b0:\njump x", `line 2: expected a block before "x"`},
		{"b0:\nv9999999999 = const 1", `line 2: expected a value before "v9999999999 = const 1"`},
		{"program x", `line 1: expected a text in double quotes before "x"`},
		{"program \"a\"\nprogram \"b\"", "line 2: a second name"},
	} {
		_, err := ir.Parse(c.text)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}
