package test

import (
	"path/filepath"
	"strings"
	"testing"
)

// What is read of the languages' own containers without a call of the program's functions.

// compareInOne collects all expressions in one run; a value is written for each hit, separated by semicolons.
func compareInOne(t *testing.T, prog, place string, list []valueOf) {
	t.Helper()
	var items []string
	for _, v := range list {
		items = append(items, v.x)
	}
	lines := inOther(t, prog, place, strings.Join(items, ", "))
	for k, line := range lines {
		want := ""
		for _, v := range list {
			each := strings.Split(v.want, "; ")
			name, _, _ := strings.Cut(v.x, "/")
			want += " " + name + "=" + each[min(k, len(each)-1)]
		}
		equal(t, place+": hit", line, want[1:])
	}
	if len(lines) == 0 {
		t.Errorf("%s: no hits", place)
	}
}

const outside = "<the index is not below the number of elements>"

// TestContainers: elements, sizes and text of libstdc++'s containers, as gcc and clang describe them.
func TestContainers(t *testing.T) {
	need(t, "g++", "clang++")
	line := lineWith(t, "programs/containers.cc", "// look here")
	builds := [][]string{{"g++", "-O0"}, {"clang++", "-O0"}}
	if full {
		builds = append(builds, []string{"g++", "-O2"}, []string{"clang++", "-O0", "-fstandalone-debug", "-std=c++20"})
	}
	for _, cc := range builds {
		prog := compile(t, cc[0], "containers.cc", append([]string{"-g", "-std=c++17"}, cc[1:]...)...)
		at := line
		if cc[1] != "-O0" {
			at = "work"
		}
		compareInOne(t, prog, at, []valueOf{
			{"v.size()", "3; 0"},
			{"v.empty()", "false; true"},
			{"v", "{10, 20, 30}; {}"},
			{"deep[1]/x", "{0x2, 0x3}; " + outside},
			{"v.capacity()", "3; 0"},
			{"deep", "{{1}, {2, 3}}; {}"},
			{"*items", `{{x = 1, name = "a"}, {x = 2, name = "b"}}; {}`},
			{"many", "{" + strings.Repeat(`"many", `, 15) + `"many"...}`},
			{"holder", `{words = {"one", "two words of a length that needs memory"}, wide = L"hé"}`},
			{"v[0]", "10; " + outside},
			{"v[2]", "30; " + outside},
			{"v[3]", outside},
			{"v[-1]", outside},
			{"v.at(1)", "20; " + outside},
			{"v.front()", "10; " + outside},
			{"v.back()", "30; " + outside},
			{"v[v.size() - 1]", "30; " + outside},
			{"deep[1][0]", "2; " + outside},
			{"deep[1][2]", outside},
			{"deep[1].size()", "2; " + outside},
			{"s.size()", "5; 0"},
			{"s.length()", "5; 0"},
			{"s[1]", "101 'e'; " + outside},
			{"s[5]", outside},
			{"s/s", `"hello"; ""`},
			{"s", `"hello"; ""`},
			{"str(s)", `"hello"; ""`},
			{"str(s, 2)", `"he"; ""`},
			{`str(s) == "hello"`, "1; 0"},
			{"str(u->name)", `"three"`},
			{`s == "hello"`, "1; 0"},
			{`s != "hell"`, "1"},
			{`s == ""`, "0; 1"},
			{`"hello" == s`, "1; 0"},
			{"m.size()", "1; 0"},
			{"um.size()", "2; 0"},
			{"l.size()", "2; 0"},
			{"a.size()", "4"},
			{"a[1]", "5; 0"},
			{"a[v.size()]", "7; 0"},
			{"a[v.size() + 4]", outside},
			{"u->x", "3"},
			{"(*u).x", "3"},
			{"u->name.size()", "5"},
			{"u.get()->x", "3"},
			{"u->name/s", `"three"`},
			{"items->size()", "2; 0"},
			{"(*items)[1].name/s", `"b"; ` + outside},
			{"items->at(1).x", "2; " + outside},
		})
		if cc[0] == "g++" { // clang 14 omits some parameters
			compareInOne(t, prog, at, []valueOf{{"sv.size()", "4; 0"}, {"sv/s", `"view"; ""`}, {`sv == "view"`, "1; 0"}, {"sp->x", "4"}, {"sp->name[0]", "102 'f'"}})
		}
		if got := inOther(t, prog, at, "*(std::vector<int> *)unmade"); len(got) != 2 || !strings.Contains(got[0], "_M_finish = 0x2, ") {
			t.Errorf("a vector that ends behind its memory: %q", got)
		}
		if got := inOther(t, prog, at, "s.c_str()"); len(got) != 2 || !strings.HasSuffix(got[0], ` "hello"`) {
			t.Errorf("s.c_str(): %q", got)
		}
		if got := inOther(t, prog, at+" if v[2] == 30 && s.size() == 5", "v[0]"); len(got) != 1 {
			t.Errorf("a condition with containers: %q", got)
		}
	}
	prog := compile(t, "g++", "containers.cc", "-g", "-std=c++17", "-O0")
	refusedOther(t, prog, line, []valueOf{
		{"m[1]", "the elements of std::map do not lie one behind the other"},
		{"um[1]", "the elements of std::unordered_map do not lie"},
		{"d[0]", "operators of the program cannot be called at a site"},
		{"bits[0]", "operators of the program cannot be called at a site"},
		{"shape", "it may mean ::shape or another instance of the template of variables"},
		{"a[4]", "index 4 is outside the std::array, which has 4 elements"},
		{"v[1.5]", "the index must be an integer, this is double"},
		{"v.push_back(1)", "of std::vector jalon reads size(), empty()"},
		{"sp->size()", "size() is a function of struct Item"},
		{"sp->size()", "its data members are x, name"},
	})
}

// TestGoWords: nil, len, cap and elements in Go.
func TestGoWords(t *testing.T) {
	dir, err := filepath.Abs("programs/slices")
	if err != nil {
		t.Fatal(err)
	}
	prog := filepath.Join(t.TempDir(), "slices")
	buildOther(t, dir, "go", "build", "-gcflags=all=-N -l", "-o", prog, ".")
	at := lineWith(t, "programs/slices/main.go", "// look here")
	compareInOne(t, prog, at, []valueOf{
		{"len(s)", "3; 0"},
		{"cap(s)", "5; 0"},
		{"s", "{1, 2, 3}; {}"},
		{"s[2]", "3; " + outside},
		{"s[3]", outside},
		{"s == nil", "0; 1"},
		{"s != nil", "1; 0"},
		{"len(str)", "5; 0"},
		{"str[1]", "101 'e'; " + outside},
		{"str/s", `"hello"; ""`},
		{"str", `"hello"; ""`},
		{`str == "hello"`, "1; 0"},
		{"len(m)", "1; 0"},
		{"m == nil", "0; 1"},
		{"p == nil", "0; 1"},
		{"nil != p", "1; 0"},
		{"err != nil", "1; 0"},
		{"e == nil", "0; 1"},
		{"f == nil", "0; 1"},
		{"len(arr)", "3"},
		{"arr[1]", "5; 8"},
		{"len(ch)", "1; 0"},
		{"cap(ch)", "4; 0"},
	})
	if got := inOther(t, prog, at+" if err != nil && len(s) > 2", "n"); len(got) != 1 {
		t.Errorf("a condition with nil and len: %q", got)
	}
	refusedOther(t, prog, at, []valueOf{{"len(p)", "has no len"}, {"cap(str)", "has no cap"}, {`m["a"]`, "a map is not searched"}, {"s.nothing", "no member"}})
	// The words are Go's.
	c := compile(t, "gcc", "many.c", "-g")
	refusedOther(t, c, "main", []valueOf{{"nil", "no variable \"nil\""}, {"len(1)", "cannot be called"}})
}

// TestRustWords: members of tuples, len(), comparison with a variant.
func TestRustWords(t *testing.T) {
	source, err := filepath.Abs("programs/tuples.rs")
	if err != nil {
		t.Fatal(err)
	}
	prog := filepath.Join(t.TempDir(), "tuples")
	buildOther(t, t.TempDir(), "rustc", "-g", "-o", prog, source)
	at := lineWith(t, source, "// look here")
	compareInOne(t, prog, at, []valueOf{
		{"p.t.0", "1"},
		{"p.t.1.0/d", "2"},
		{"p->t.1.1", "3.5"},
		{"p.v.len()", "2"},
		{"st.len()", "5; 0; 0"},
		{"st.is_empty()", "false; true; true"},
		{"s.len()", "3; 0; 2"},
		{`s == "abc"`, "1; 0; 0"},
		{"s/s", `"abc"; ""; "é"`},
		{"s", `"abc"; ""; "é"`},
		{`st == "hello"`, "1; 0; 0"},
		{"str(st, 4)", `"hell"; ""; ""`},
		{"st", `"hello"; ""; ""`},
		{"*st", `"hello"; ""; ""`},
		{"sl.len()", "2; 0; 1"},
		{"sl", "{7, 8}; {}; {9}"},
		{"*p", "{t = {__0 = 1, __1 = {__0 = 2 '\\002', __1 = 3.5}}, v = {5, 6}}"},
		{"sl[1]", "8; " + outside + "; " + outside},
		{"o == None", "0; 1; 1"},
		{"o == Some", "1; 0; 0"},
		{"q != None", "1; 0; 0"},
		{"None == q", "0; 1; 1"},
		{"*sh == Rect", "1; 0; 0"},
		{"*sh == Shape::Unit", "0; 1; 0"},
		{"*sh != Circle", "1; 1; 0"},
	})
	if got := inOther(t, prog, at+" if *sh == Circle", "n"); len(got) != 1 {
		t.Errorf("a condition with a variant: %q", got)
	}
	refusedOther(t, prog, at, []valueOf{
		{"o == Nothing", "its variants are None, Some"}, {"p.t.7", "has no member"}, {"p.t.1x", "is not the name of a member"},
	})
}

// TestRustElements: an index names an element of what a reference or a Box leads to, as in Rust, and of a raw pointer what
// it names in C.
func TestRustElements(t *testing.T) {
	source, err := filepath.Abs("programs/elements.rs")
	if err != nil {
		t.Fatal(err)
	}
	prog := filepath.Join(t.TempDir(), "elements")
	buildOther(t, t.TempDir(), "rustc", "-g", "-o", prog, source)
	compareInOne(t, prog, lineWith(t, source, "// look here"), []valueOf{
		{"v[1]", "2"}, {"v[2]", "3"}, {"v[3]", outside}, {"v[v.len() - 1]", "3"}, {"v.len()", "3"},
		{"names[1]", `"two"`}, {"names[0].len()", "3"}, {`names[1] == "two"`, "1"},
		{"points[1].y", "2.5"}, {"points[0].x + 1", "2"}, {"points[2].x", outside},
		{"four[2]/d", "9"}, {"boxed[1]", "12"}, {"rows[1][1]/d", "-3"}, {"rows[1][2]", outside}, {"rows[1].len()", "2"},
		{"twice[2]", "3"}, {"raw[1]", "2"},
	})
}
