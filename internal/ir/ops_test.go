package ir

import "testing"

// TestTableComplete: every operation has an entry, and the entry agrees with itself.
func TestTableComplete(t *testing.T) {
	names := map[string]Op{}
	for op := Invalid + 1; op < NumOps; op++ {
		info := op.Info()
		if info.Name == "" {
			t.Errorf("operation %d has no entry", op)
			continue
		}
		if other, taken := names[info.Name]; taken {
			t.Errorf("%d and %d are both called %s", op, other, info.Name)
		}
		names[info.Name] = op
		if info.Widths == 0 {
			t.Errorf("%v allows no width", op)
		}
		if info.MayFault && !info.Reads {
			t.Errorf("%v may fault but reads nothing", op)
		}
		if info.Pure && (info.Reads || info.Record || info.Result == NoResult) {
			t.Errorf("%v cannot be pure", op)
		}
		if wants := info.Result != NoResult && !info.Pure && (!info.Reads || op == Intern) && !info.Volatile; wants != info.Effect {
			t.Errorf("%v has an effect: %v, want %v", op, info.Effect, wants)
		}
		if info.B != NoOperand && info.A == NoOperand {
			t.Errorf("%v has B without A", op)
		}
		if n := info.Negated; n != Invalid && (n.Info().Negated != op || n.Info().Swapped != info.Swapped) {
			t.Errorf("%v is the negation of %v, but not the reverse", n, op)
		}
		computes := pures[op][I64] != nil || pures[op][F64] != nil
		if want := info.Pure && info.A != NoOperand; computes != want {
			t.Errorf("%v: Compute knows it: %v, want %v", op, computes, want)
		}
	}
	if Ops[Invalid].Name != "" || Op(250).Info().Name != "" {
		t.Error("unknown operations have a name")
	}
}

// TestTableFields: the text form of an operation shows exactly the fields that the operation has.
func TestTableFields(t *testing.T) {
	for op := Invalid + 1; op < NumOps; op++ {
		info := op.Info()
		has := map[rune]bool{}
		for _, f := range info.form {
			has[f] = true
		}
		if (has['a'] || has['p']) != (info.A != NoOperand) || has['b'] != (info.B != NoOperand) {
			t.Errorf("%v: form %q does not show the operands", op, info.form)
		}
		if has['@'] != (info.Record && op != Commit) {
			t.Errorf("%v: form %q and the record offset", op, info.form)
		}
	}
}

func TestFacts(t *testing.T) {
	for _, c := range []struct {
		v    int64
		want fact
	}{
		{0, fact{0, 1}},
		{1, fact{1, 2}},
		{-1, fact{64, 1}},
		{127, fact{7, 8}},
		{-128, fact{64, 8}},
		{128, fact{8, 9}},
		{1 << 62, fact{63, 64}},
		{-1 << 63, fact{64, 64}},
	} {
		if got := constFact(c.v); got != c.want {
			t.Errorf("%d: %v, want %v", c.v, got, c.want)
		}
	}
}
