package eval

import (
	"fmt"
	"strings"
	"testing"
)

// TestMaps gives the operations on maps their meaning.
func TestMaps(t *testing.T) {
	const head = "map 0 words 2 slots 8 \"m\"\nb0:\nv0 = const 7\nv1 = const 0\nreserve 56\n"
	const tail = "\nput.8 @24, v10\nput.8 @32, v11\nput.8 @40, v12\nput.8 @48, v13\ncommit\nexit"
	for _, c := range []struct{ name, text, want string }{
		{"a new slot is not shown and has zeros", "v2 = mapslot 0, v0, v1\nv3 = mapfind 0, v0, v1\nv10 = maphas 0, v2\nv11 = maphas 0, v3\nv12 = mapseen 0, v2\nv13 = mapget 0, v2, 1", "1 0 0 0"},
		{"a shown key is found", "v2 = mapslot 0, v0, v1\nmapset 0, v2, 1, v0\nmapshow 0, v2\nv3 = mapfind 0, v0, v1\nv10 = maphas 0, v3\nv11 = mapget 0, v3, 1\nv12 = mapget 0, v3, 0\nv13 = mapseen 0, v3", "1 7 0 1"},
		{"both words are the key", "v2 = mapslot 0, v0, v1\nmapshow 0, v2\nv3 = mapfind 0, v1, v0\nv10 = maphas 0, v3\nv4 = mapfind 0, v0, v0\nv11 = maphas 0, v4\nv12 = const 0\nv13 = const 0", "0 0 0 0"},
		{"a hidden key keeps its slot", "v2 = mapslot 0, v0, v1\nmapset 0, v2, 0, v0\nmapshow 0, v2\nmaphide 0, v2\nv3 = mapfind 0, v0, v1\nv10 = maphas 0, v3\nv4 = mapslot 0, v0, v1\nv11 = mapget 0, v4, 0\nv12 = mapseen 0, v4\nmapadd 0, v4, 0, v0\nv13 = mapget 0, v4, 0", "0 7 0 14"},
		{"of no slot all is zero and nothing changes", "v3 = mapfind 0, v0, v1\nmapset 0, v3, 0, v0\nmapadd 0, v3, 1, v0\nmapshow 0, v3\nmaphide 0, v3\nv10 = maphas 0, v3\nv11 = mapseen 0, v3\nv12 = mapget 0, v3, 0\nv13 = mapget 0, v3, 1", "0 0 0 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := execute(t, head+c.text+tail, machine())
			got := make([]string, 4)
			for n := range got {
				got[n] = fmt.Sprint(little(o.Record[24+8*n:][:8]))
			}
			if got := strings.Join(got, " "); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// TestMapsOutlive: what a run leaves is there in the next; a map without room gives no slot for a new key.
func TestMapsOutlive(t *testing.T) {
	const text = "map 0 words 1 slots 8 \"m\"\nb0:\nv0 = reg rdx\nv1 = const 1\nv2 = mapslot 0, v0, v1\nmapadd 0, v2, 0, v1\nmapshow 0, v2\nexit"
	m := machine()
	for n := range uint64(3) {
		o := execute(t, text, m)
		if s := o.Maps[0][Key{^uint64(1), 1}]; !s.Shown || s.Words[0] != n+1 {
			t.Fatalf("run %d: %+v", n, s)
		}
		if n > 0 && m.Maps[0][Key{^uint64(1), 1}].Words[0] != n {
			t.Fatal("the run has changed the machine")
		}
		m.Maps = o.Maps
		m.MapsFull = true
	}
	m.Regs[1] = 5
	if o := execute(t, text, m); len(o.Maps[0]) != 1 || o.NoRoom != 1 {
		t.Errorf("a full map has %d keys; %d without room", len(o.Maps[0]), o.NoRoom)
	}
}
