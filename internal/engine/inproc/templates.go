package inproc

import (
	"github.com/jalon-trace/jalon/internal/backend/amd64"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/patch"
)

// templates are made of the code of hit programs that many sites have. One goroutine uses them, while it generates code.
type templates map[templateKey]*amd64.Template

// templateKey is what sites must have in common.
type templateKey struct {
	ir     *ir.Program
	dead   patch.RegSet
	flags  bool
	region *region
}

// maxTemplates bounds their memory where all sites differ.
const maxTemplates = 256

// compile is amd64.Compile. The second site of a kind makes a template for those that follow.
func (t templates) compile(key templateKey, cfg amd64.Config) (*amd64.Code, error) {
	made, known := t[key]
	if made != nil {
		if c := made.At(cfg); c != nil {
			return c, nil
		}
	}
	c, err := amd64.Compile(key.ir, cfg)
	if err != nil {
		return nil, err
	}
	if len(t) >= maxTemplates && !known {
		clear(t)
	}
	t[key] = nil
	if known {
		t[key] = c.Template()
	}
	return c, nil
}
