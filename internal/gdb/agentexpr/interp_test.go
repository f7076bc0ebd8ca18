package agentexpr

import (
	"fmt"
	"testing"
)

// TestInterpreter: the operations that GDB's compiler rarely or never makes, by
// what GDB's manual says of them (General Bytecode Design, Bytecode Descriptions).
func TestInterpreter(t *testing.T) {
	for _, c := range []struct{ code, want string }{
		{"const8 1; const8 2; const8 3; rot; end", "[3 1 2]"},
		{"const8 1; const8 2; swap; end", "[2 1]"},
		{"const8 1; const8 2; const8 3; pick 2; end", "[1 2 3 1]"},
		{"const8 1; const8 2; pick 0; end", "[1 2 2]"},
		{"const8 255; ext 8; end", "[18446744073709551615]"},
		{"const8 255; ext 9; end", "[255]"},
		{"const16 65535; zero_ext 3; end", "[7]"},
		{"const8 7; const8 2; sub; end", "[5]"},
		{"const8 1; const8 67; lsh; end", "[8]"},
		{"const8 128; ext 8; const8 1; rsh_signed; end", "[18446744073709551552]"},
		{"const8 128; ext 8; const8 60; rsh_unsigned; end", "[15]"},
		{"const8 200; ext 8; const8 5; less_signed; end", "[1]"},
		{"const8 200; ext 8; const8 5; less_unsigned; end", "[0]"},
		{"const8 249; ext 8; const8 2; div_signed; end", "[18446744073709551613]"},
		{"const8 249; ext 8; const8 2; rem_signed; end", "[18446744073709551615]"},
		{"const8 249; ext 8; const8 2; rem_unsigned; end", "[1]"},
		{"const64 -9223372036854775808; const8 255; ext 8; div_signed; end", "[9223372036854775808]"},
		{"const8 1; const8 0; rem_unsigned; end", "division by zero"},
		{"const8 16; ref64; end", "unreadable address 0x10"},
		{"const16 4096; ref16; end", "[16705]"},
		{"const16 4095; ref16; end", "unreadable address 0xfff"},
		{"getv 3; const8 1; add; setv 3; getv 3; end", "[42 42]"},
	} {
		e, err := Validate(assemble(t, c.code), ForAction)
		if err != nil {
			t.Fatalf("%s: %v", c.code, err)
		}
		r := e.Run(&Machine{Mem: readAll{}, Vars: map[int]uint64{3: 41}})
		got := fmt.Sprint(r.Stack)
		if r.Fail != nil {
			got = r.Fail.String()
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.code, got, c.want)
		}
	}
}

// BenchmarkInterpreter is the cost of the paper's condition by the interpreter.
func BenchmarkInterpreter(b *testing.B) {
	code := []byte{0x22, 2, 0x26, 0, 5, 0x16, 32, 4, 0x16, 32, 0x22, 3, 0x26, 0, 4, 0x16, 32, 4, 0x16, 32, 2, 0x16, 32, 0x22, 0, 0x2b, 0x14, 0x27}
	e, err := Validate(code, ForCondition)
	if err != nil {
		b.Fatal(err)
	}
	m := &Machine{}
	for b.Loop() {
		e.Run(m)
	}
}

// TestNoValue: a predefined variable that cannot be found out is no 0.
func TestNoValue(t *testing.T) {
	m := &Machine{Predefined: func(number int) (uint64, bool) { return 42, number == 1 }}
	for number, want := range map[byte]string{1: "[42]", 2: "a variable has no value here"} {
		for _, code := range [][]byte{{0x2c, 0, number, 0x27}, {0x2e, 0, number, 0x22, 42, 0x27}} { // getv; tracev
			e, err := Validate(code, ForAction)
			if err != nil {
				t.Fatal(err)
			}
			r := e.Run(m)
			got := fmt.Sprint(r.Stack)
			if r.Fail != nil {
				got = r.Fail.String()
			}
			if got != want {
				t.Errorf("variable %d by % x: %s, want %s", number, code, got, want)
			}
		}
	}
}
