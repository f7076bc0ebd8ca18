package amd64

import (
	"testing"

	"github.com/jalon-trace/jalon/internal/ir"
)

func TestReload(t *testing.T) {
	const same = "" // as it was
	for name, tt := range map[string]struct{ before, after string }{
		"wanted by the condition and the record": {`
b0:
  v0 = reg rbp
  v1 = load.4s v0-4
  brif v1 -> b1 else b2
b1:
  reserve 32
  put.4 @24, v1
  commit
  exit
b2:
  exit
`, `
b0:
  v0 = reg rbp
  v1 = load.4s v0-4
  brif v1 -> b1 else b2
b1:
  reserve 32
  v2 = reg rbp
  v3 = load.4s v2-4
  put.4 @24, v3
  commit
  exit
b2:
  exit
`},
		"wanted by the record only": {`
b0:
  v0 = reg rbp
  v1 = load.4s v0-4
  reserve 32
  put.4 @24, v1
  commit
  exit
`, same},
		"no stack frame": {`
b0:
  v0 = reg rdi
  v1 = load.4s v0+4
  brif v1 -> b1 else b2
b1:
  reserve 32
  put.4 @24, v1
  commit
  exit
b2:
  exit
`, same},
		"may fault": {`
b0:
  v0 = reg rsp
  v1 = load.4s v0+4 fault b2
  brif v1 -> b1 else b3
b1:
  reserve 32
  put.4 @24, v1
  commit
  exit
b2(v2):
  exit
b3:
  exit
`, same},
		"also without Reserve": {`
b0:
  v0 = reg rsp
  v1 = load.8 v0+8
  brif v1 -> b1 else b2
b1:
  reserve 32
  commit
  jump b3(v1)
b2:
  jump b3(v0)
b3(v2):
  brif v2 -> b4 else b5
b4:
  brif v1 -> b5 else b5
b5:
  exit
`, `
b0:
  v0 = reg rsp
  v1 = load.8 v0+8
  brif v1 -> b1 else b2
b1:
  reserve 32
  v3 = reg rsp
  v4 = load.8 v3+8
  commit
  jump b3(v4)
b2:
  jump b3(v0)
b3(v2):
  brif v2 -> b4 else b5
b4:
  brif v1 -> b5 else b5
b5:
  exit
`},
	} {
		p, err := ir.Parse(tt.before)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		was := p.String()
		got := reloadAfterReserve(p)
		if err := ir.Check(got); err != nil {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
		want := was
		if tt.after != same {
			q, err := ir.Parse(tt.after)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			want = q.String()
		}
		if got.String() != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
		if p.String() != was {
			t.Errorf("%s: the program that was given has changed:\n%s", name, p)
		}
	}
}
