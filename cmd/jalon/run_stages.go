package main

import (
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/check"
	"github.com/jalon-trace/jalon/internal/script/types"
)

// stages prints what -d asks for.
func (c *runCmd) stages(s *script.Script, p *check.Program) error {
	typed := func(n script.Node) string {
		if x, ok := n.(script.Expr); ok && p.Types[x] != nil && p.Types[x].Kind != types.None {
			return p.Types[x].String()
		}
		return ""
	}
	stages := c.Debug
	if slices.Contains(stages, "all") {
		stages = []string{"ast", "expanded", "types", "maps"}
	}
	for _, stage := range stages {
		switch stage {
		case "ast":
			fmt.Fprint(stdout, script.Dump(s, nil))
		case "expanded", "types":
			note := typed
			if stage == "expanded" {
				note = nil
			}
			for _, pr := range p.Probes {
				fmt.Fprint(stdout, script.Dump(pr.Probe.Expanded(pr.Pred, pr.Body), note))
			}
		case "maps":
			for _, m := range p.Maps {
				if m.Scalar {
					fmt.Fprintf(stdout, "%s %s\n", m.Name, m.Value)
				} else {
					fmt.Fprintf(stdout, "%s[%s] %s\n", m.Name, m.Key, m.Value)
				}
			}
		default:
			return usageError(fmt.Sprintf("there is no stage %q; there are ast, expanded, types, maps and all", stage))
		}
	}
	return nil
}
