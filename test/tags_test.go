package test

import (
	"path/filepath"
	"testing"
)

// TestTags: in C a tag, a typedef name or an enumerator has the meaning of the unit. If the unit does not
// declare it, it has the meaning in the other units if they agree, and is ambiguous otherwise.
func TestTags(t *testing.T) {
	for _, build := range [][]string{
		{"gcc", "-O0", "-gdwarf-5"}, {"clang", "-O1", "-gdwarf-4"}, {"gcc", "-O1", "-gdwarf-4", "-fdebug-types-section"}, {"gcc", "-O1", "-gdwarf-5", "-flto"},
	} {
		own := []valueOf{{"MODE + 0", "1"}, {"MODE + 0", "2"}}
		if build[len(build)-1] == "-fdebug-types-section" { // no unit can be preferred for an unnamed enumeration
			own = []valueOf{{"AGREED + 0", "5"}, {"AGREED + 0", "5"}}
		}
		prog := filepath.Join(t.TempDir(), "tags")
		args := append(build[1:], "-w", "-fno-eliminate-unused-debug-types", "-o", prog)
		for _, f := range []string{"a.c", "b.c", "c.c"} {
			abs, err := filepath.Abs("programs/tags/" + f)
			if err != nil {
				t.Fatal(err)
			}
			args = append(args, abs)
		}
		buildOther(t, t.TempDir(), append([]string{build[0]}, args...)...)
		if build[len(build)-1] == "-flto" {
			compareOther(t, prog, "fa", []valueOf{{"sizeof(struct node)", "16"}, {"sizeof(word)", "2"}})
			compareOther(t, prog, "fb", []valueOf{{"sizeof(struct node)", "24"}, {"sizeof(word)", "8"}})
			continue
		}
		compareOther(t, prog, "fa", []valueOf{{"((struct node *)p)->value", "7"}, {"sizeof(word)", "2"}, own[0], {"sizeof(union cell)", "4"}})
		compareOther(t, prog, "fb", []valueOf{{"((struct node *)p)->value", "9"}, {"sizeof(word)", "8"}, own[1], {"sizeof(union cell)", "12"}})
		compareOther(t, prog, "fc", []valueOf{{"((struct same *)p)->x", "7"}, {"sizeof(same_t)", "16"}, {"AGREED + 0", "5"}})
		refusedOther(t, prog, "fc", []valueOf{
			{"((struct node *)p)->value", "struct node of a.c or struct node of b.c"},
			{"sizeof(word)", "word of a.c or word of b.c"},
			{"sizeof(union cell)", "union cell of a.c or union cell of b.c"},
			{"MODE + 0", "MODE of a.c or MODE of b.c"},
			{"*opaque", "incomplete"},
		})
	}
}
