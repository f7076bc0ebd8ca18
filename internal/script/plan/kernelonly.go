package plan

import (
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/check"
)

// sitesOf plans the probes. What code in the process cannot read (the user, the parent, the task) the kernel can: probes that are refused for it are
// uprobes of the process.
func sitesOf(p *check.Program, opt Options) ([]*Site, []*SiteMap, error) {
	opt.refused = map[*check.Probe]string{}
	sites, list, err := sitesWith(p, opt)
	if err == nil || len(opt.refused) == 0 {
		return sites, list, err
	}
	opt.inKernel = withShared(p, opt.refused)
	return sitesWith(p, opt)
}

// withShared adds to probes those that are at the same functions: code in the process and a uprobe cannot share an instruction.
func withShared(p *check.Program, list map[*check.Probe]string) map[*check.Probe]bool {
	same := func(a, b string) bool { return a == b || strings.Contains(a+b, "*") }
	out := map[*check.Probe]bool{}
	for _, pr := range p.Probes {
		out[pr] = list[pr] != "" || slices.ContainsFunc(pr.Places, func(pl *script.Place) bool {
			for refused := range list {
				if slices.ContainsFunc(refused.Places, func(q *script.Place) bool { return same(pl.Target, q.Target) && same(pl.Name, q.Name) }) {
					return true
				}
			}
			return false
		})
	}
	return out
}
