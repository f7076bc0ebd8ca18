package check

import (
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
	"github.com/jalon-trace/jalon/internal/script/words"
)

// settings applies the config block.
func (c *checker) settings(s *script.Script) {
	defer c.environment(s)
	if s.Config == nil {
		return
	}
	for _, set := range s.Config.Settings {
		v := words.Value{Kind: types.String}
		switch x := set.Value.(type) {
		case *script.Int:
			v = words.Value{Kind: types.Int, Text: fmt.Sprint(x.Value)}
		case *script.Bool:
			v = words.Value{Kind: types.Bool, Text: fmt.Sprint(x.Value)}
		case *script.String:
			v.Text = x.Value
		}
		warning, err := c.config.Set(set.Key, v)
		if err != nil {
			c.fail(set, "%s", err)
		} else if warning != "" {
			c.warn(set, "%s", warning)
		}
	}
}

// limit reports a script with more attach points than max_probes allows.
func (c *checker) limit(p *Program) {
	n, most := 0, int(c.config.Int("max_probes"))
	for _, pr := range p.Probes {
		n += len(pr.Places)
		if n > most {
			c.failHint(pr.Points[0], "config = { max_probes = N } allows more", "the script has more than %d attach points", most)
			return
		}
	}
}

// environment applies settings of the environment, which precede those of the script.
func (c *checker) environment(s *script.Script) {
	for _, e := range c.opts.Env {
		name, value, _ := strings.Cut(e, "=")
		if !strings.HasPrefix(name, "BPFTRACE_") || !words.IsSetting(name) {
			continue
		}
		if _, err := c.config.Set(name, words.Value{Kind: types.String, Text: value}); err != nil {
			c.fail(s, "%s in the environment: %s", name, err)
		}
	}
}

// definitions collects macros, functions and declared maps.
func (c *checker) definitions(scripts []*script.Script) {
	for _, s := range scripts {
		for _, it := range s.Items {
			switch it := it.(type) {
			case *script.Macro:
				c.macro(it)
			case *script.Function:
				if c.funcs[it.Name] != nil {
					c.fail(it, "there are two functions %q", it.Name)
				}
				c.funcs[it.Name] = it
			case *script.MapDecl:
				c.mapDecl(it)
			}
		}
	}
}

func (c *checker) mapDecl(d *script.MapDecl) {
	known := false
	for _, k := range words.MapKinds {
		known = known || k.Name == d.Kind
	}
	m := c.mapOf(d.Name, d)
	switch {
	case !known:
		c.failHint(d, "there are hash, lruhash, percpuhash and percpulruhash", "there is no kind %q of maps", d.Kind)
	case d.Max == 0:
		c.fail(d, "the map %s must have room for at least one element", d.Name)
	case m.Decl != nil:
		c.fail(d, "the map %s is declared twice", d.Name)
	}
	m.Decl = d
}

// mapOf returns a map by its name.
func (c *checker) mapOf(name string, at script.Node) *Map {
	m := c.maps[name]
	if m == nil {
		m = &Map{Name: name, Key: types.NoneT, Value: types.NoneT, first: at}
		c.maps[name] = m
		c.order = append(c.order, m)
	}
	return m
}

// prepare expands macros and parses attach points.
func (c *checker) prepare(p *Program, scripts []*script.Script) {
	p.Objects, p.Expanded = c.objects, map[*script.Call]script.Expr{}
	x := &expander{checker: c, expanded: p.Expanded}
	for _, s := range scripts {
		for _, it := range s.Items {
			switch it := it.(type) {
			case *script.Probe:
				pr := &Probe{Probe: it, Places: c.placesOf(it)}
				pr.Pred, pr.Body = x.expr(it.Predicate), x.block(it.Body)
				p.Probes = append(p.Probes, pr)
			case *script.Function:
				f := *it
				f.Body = x.block(it.Body)
				p.Functions = append(p.Functions, &f)
				c.funcs[f.Name] = &f
			}
		}
	}
}
