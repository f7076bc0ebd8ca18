package ir_test

import (
	"math/rand"
	"reflect"
	"testing"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/irgen"
	"github.com/jalon-trace/jalon/test/testkit"
)

// TestKey: a change of any field of a program, or of anything in it, changes its key. The fields are found by
// reflection, so that a new one is not forgotten.
func TestKey(t *testing.T) {
	r := rand.New(rand.NewSource(testkit.Seed(t, 1)))
	n := 0
	for range 20 {
		p := irgen.Random(r, irgen.Options{Floats: true, Maps: true, Blocks: 3, Instrs: 5})
		if len(p.Maps) == 0 {
			p.Maps = []ir.Map{{Name: "m", Words: 1, Slots: 2}}
		}
		key := p.Key()
		var walk func(v reflect.Value, path string)
		check := func(path string) {
			n++
			if p.Key() == key {
				t.Errorf("a change of %s does not change the key\n%s", path, p)
			}
		}
		walk = func(v reflect.Value, path string) {
			switch v.Kind() {
			case reflect.Pointer:
				walk(v.Elem(), path)
			case reflect.Struct:
				for i := range v.NumField() {
					walk(v.Field(i), path+"."+v.Type().Field(i).Name)
				}
			case reflect.Slice:
				for i := range v.Len() {
					walk(v.Index(i), path+"[]")
				}
				if v.Len() > 0 {
					old := reflect.ValueOf(v.Interface())
					v.Set(v.Slice(0, v.Len()-1))
					check("the length of " + path)
					v.Set(old)
				}
			case reflect.String:
				old := v.String()
				v.SetString(old + "x")
				check(path)
				v.SetString(old)
			case reflect.Bool:
				v.SetBool(!v.Bool())
				check(path)
				v.SetBool(!v.Bool())
			case reflect.Int, reflect.Int32, reflect.Int64:
				v.SetInt(v.Int() ^ 1)
				check(path)
				v.SetInt(v.Int() ^ 1)
			case reflect.Uint8:
				v.SetUint(v.Uint() ^ 1)
				check(path)
				v.SetUint(v.Uint() ^ 1)
			default:
				t.Fatalf("%s is a %s, which this test does not know", path, v.Kind())
			}
		}
		walk(reflect.ValueOf(p), "Program")
		if p.Key() != key {
			t.Fatal("the same program has another key")
		}
	}
	t.Logf("%d changes", n)
}
