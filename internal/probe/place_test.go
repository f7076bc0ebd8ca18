package probe

import "testing"

func TestParse(t *testing.T) {
	tests := []struct {
		in   string
		want Place
	}{
		{"main.c:9", Place{Kind: Line, File: "main.c", Line: 9}},
		{"src/deep/main.c:120", Place{Kind: Line, File: "src/deep/main.c", Line: 120}},
		{"'main.c':9", Place{Kind: Line, File: "main.c", Line: 9}},
		{"handle", Place{Kind: Function, Func: "handle"}},
		{"handle_*", Place{Kind: Function, Func: "handle_*"}},
		{"ns::f", Place{Kind: Function, Func: "ns::f"}},
		{"operator+", Place{Kind: Function, Func: "operator+"}},
		{"main.c:handle", Place{Kind: Function, File: "main.c", Func: "handle"}},
		{"handle+12", Place{Kind: Offset, Func: "handle", Off: 12}},
		{"handle+0x1c", Place{Kind: Offset, Func: "handle", Off: 0x1c}},
		{"handle+0", Place{Kind: Offset, Func: "handle"}},
		{"*0x401136", Place{Kind: Address, Off: 0x401136}},
		{"uprobe:/usr/bin/bash:readline", Place{Kind: Entry, Path: "/usr/bin/bash", Func: "readline"}},
		{"u:./a.out:f+4", Place{Kind: Entry, Path: "./a.out", Func: "f", Off: 4}},
		{"uprobe:./a.out:ns::f", Place{Kind: Entry, Path: "./a.out", Func: "ns::f"}},
		{"uprobe:./a.out@x.c:3", Place{Kind: Line, Path: "./a.out", File: "x.c", Line: 3}},
		{"uprobe:/lib/libc.so.6:memcpy@GLIBC_2.2.5", Place{Kind: Entry, Path: "/lib/libc.so.6", Func: "memcpy@GLIBC_2.2.5"}},
		{"uprobe:/lib/libc.so.6:memcpy@@GLIBC_2.14", Place{Kind: Entry, Path: "/lib/libc.so.6", Func: "memcpy@@GLIBC_2.14"}},
		{"memcpy@GLIBC_2.2.5", Place{Kind: Function, Func: "memcpy@GLIBC_2.2.5"}},
		{"handle%return", Place{Kind: Return, Func: "handle"}},
		{"src/a.c:ns::*%return", Place{Kind: Return, File: "src/a.c", Func: "ns::*"}},
		{"operator%%return", Place{Kind: Return, Func: "operator%"}},
		{"uprobe:/bin/true:0x1234", Place{Kind: FileOff, Path: "/bin/true", Off: 0x1234}},
	}
	for _, tt := range tests {
		got, err := Parse(tt.in)
		if err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		tt.want.Text = tt.in
		if *got != tt.want {
			t.Errorf("%s:\n got %+v\nwant %+v", tt.in, *got, tt.want)
		}
	}
	for _, bad := range []string{"", "  ", "f+", "f+x", "uprobe:", "uprobe:/bin/true", "uprobe:/bin/true@x", "main.c:0", "*0x", "*12zz", "a b c", "%return", "f+4%return", "f%return+4"} {
		if p, err := Parse(bad); err == nil {
			t.Errorf("%q: accepted as %+v", bad, p)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"main.c:9", "uprobe:a:b+1", "*0x1", "::", ":1", "a::b:+",
		"t:a:b", "rt:a:b", "k:a:b+1", "k:0x1", "k:a.c:1", "kr:a", "f:a:b", "fr:a", "ur:a:b", "U:a:b:c", "U:a::c", "syscall:a:exit",
		"p:99", "i:ms:5", "p:5us", "s:cs:1", "h:cycles", "process:exec", "tracpoint:",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := Parse(s)
		if (p == nil) == (err == nil) {
			t.Fatalf("%q: place %v, error %v", s, p, err)
		}
	})
}

// TestGoArguments: brackets behind a name of Go are type arguments, others belong to a pattern.
func TestGoArguments(t *testing.T) {
	for name, want := range map[string]bool{
		"main.F[int]": true, "main.F[int,string]": true, "main.(*T[int]).f": true, "main.F[*main.S]": true,
		"example.com/a-b/sub.F[int]": true, "main.F[[]int,map[string]a/b.T]": true, "a/b.F[a-z]": false, "main.F[!a]": false,
		"main.F": false, "handle[12]": false, "main.F[]": false, "ns::f[ab]": false, "main.F[int]x": false, "main.F[a-z]": false, "main.F[int]*": false,
	} {
		if got := hasGoArguments(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
