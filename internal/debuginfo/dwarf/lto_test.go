package dwarf

import "testing"

// TestInlinedTwice: with link-time optimisation an inlined copy and its variables may refer to entries of
// different units for one function in a header. Each parameter and variable exists once, with its place.
func TestInlinedTwice(t *testing.T) {
	for _, v := range []variant{{"g++", "-O2 -gdwarf-5 -flto"}, {"g++", "-O3 -gdwarf-4 -flto"}, {"g++", "-O2 -gdwarf-5"}} {
		t.Run(v.String(), func(t *testing.T) {
			m := open(t, build(t, v, "lto1.cc", "lto2.cc"))
			weights, located := 0, 0
			for _, f := range m.Functions("*") {
				for _, r := range f.Ranges {
					for a := r.Lo; a < r.Hi; a++ {
						sc, err := m.ScopeAt(a)
						if err != nil {
							t.Fatal(err)
						}
						names := map[string]bool{}
						for _, v := range append(sc.Args(), sc.Locals()...) {
							if names[v.Name] {
								t.Fatalf("%#x, %s: %s is there twice", a, sc.FuncName(), v.Name)
							}
							names[v.Name] = true
							if v.Loc.Unavailable == "" && v.Name == "this" && sc.FuncName() == "node::weight" {
								located++
							}
						}
						if names["by"] && names["sum"] {
							weights++
						}
					}
				}
			}
			if weights == 0 || located == 0 {
				t.Errorf("%d addresses with the parameters of node::weight, %d with a place of this", weights, located)
			}
		})
	}
}
