package lang

import "testing"

func TestTranslatedSpans(t *testing.T) {
	from := Text{Source: "f.bt", Whole: `BEGIN { print(kaddr("none")); }`, Span: Span{Lo: 14, Hi: 27}}
	for _, c := range []string{`"none"`, `"no" "ne"`, "12", "1.5", "'c'", "name"} {
		x, err := Translated("f("+c+")", from)
		if err != nil {
			t.Fatal(err)
		}
		if got := x.(*Call).Args[0].Span(); got != from.Span {
			t.Errorf("%s has the span %v, not the script's %v", c, got, from.Span)
		}
	}
}
