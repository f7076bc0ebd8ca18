package probe

// Hardware is hardware:EVENT[:COUNT], by perf's names (PERF_COUNT_HW_*) and aliases.
var Hardware = kind(Kind{
	Words: []string{"hardware", "h"}, Form: "hardware:EVENT[:COUNT]",
	Where: "each COUNT-th event that the CPU counts: cpu-cycles, cache-misses, ...", Names: "the interrupted code's registers",
	Kernel: true, Attach: "hardware", parse: (*parser).counter,
	events: aliases("cpu-cycles cycles", "instructions", "cache-references", "cache-misses",
		"branch-instructions branches", "branch-misses", "bus-cycles",
		"stalled-cycles-frontend frontend-stalls", "stalled-cycles-backend backend-stalls", "ref-cycles"),
	Find: func(f Finder, p *Place) error { return f.Counter(p, 1_000_000) },
})
