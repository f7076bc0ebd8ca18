package probe

// Software is software:EVENT[:COUNT], by perf's names (perf_event_open(2),
// PERF_COUNT_SW_*) and aliases.
var Software = kind(Kind{
	Words: []string{"software", "s"}, Form: "software:EVENT[:COUNT]",
	Where: "each COUNT-th event that the kernel counts: page-faults, context-switches, ...", Names: "the interrupted code's registers",
	Kernel: true, Attach: "software", parse: (*parser).counter,
	events: aliases("cpu-clock cpu", "task-clock", "page-faults faults", "context-switches cs",
		"cpu-migrations migrations", "minor-faults", "major-faults", "alignment-faults", "emulation-faults",
		"dummy", "bpf-output", "cgroup-switches"),
	Find: func(f Finder, p *Place) error {
		if p.Event == "cpu-clock" || p.Event == "task-clock" { // nanoseconds
			return f.Counter(p, 1_000_000)
		}
		return f.Counter(p, 1)
	},
})
