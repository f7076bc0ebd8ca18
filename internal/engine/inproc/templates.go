package inproc

import (
	"sync"

	"github.com/jalon-trace/jalon/internal/backend/amd64"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/patch"
)

// templates are made of the code of hit programs that many sites have.
type templates struct {
	mu    sync.Mutex
	known map[templateKey]*amd64.Template
	sites map[*ir.Program]int // of the plans for which code is generated
}

func newTemplates(plans []*placed) *templates {
	t := &templates{known: map[templateKey]*amd64.Template{}, sites: map[*ir.Program]int{}}
	for _, p := range plans {
		for _, x := range p.sites {
			t.sites[x.IR]++
		}
	}
	return t
}

// templateKey is what sites must have in common.
type templateKey struct {
	ir     *ir.Program
	dead   patch.RegSet
	flags  bool
	region *region
}

// maxTemplates bounds their memory, some kilobytes each: registers that are dead at a site have many combinations.
// fewSites is the number of sites of a program for which none is made.
const (
	maxTemplates = 2048
	fewSites     = 4
)

// compile is amd64.Compile, which makes a template for other sites of the program.
func (t *templates) compile(key templateKey, cfg amd64.Config) (*amd64.Code, error) {
	if t.sites[key.ir] < fewSites {
		return amd64.Compile(key.ir, cfg)
	}
	t.mu.Lock()
	made := t.known[key]
	t.mu.Unlock()
	if made != nil {
		if c := made.At(cfg); c != nil {
			return c, nil
		}
	}
	c, err := amd64.Compile(key.ir, cfg)
	if err != nil {
		return nil, err
	}
	if made = c.Template(); made != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		if len(t.known) >= maxTemplates {
			clear(t.known)
		}
		t.known[key] = made
	}
	return c, nil
}
