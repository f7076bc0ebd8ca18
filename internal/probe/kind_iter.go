package probe

// Iter is iter:NAME, by the kernel's names of its BPF iterators.
var Iter = kind(Kind{
	Words: []string{"iter", "it"}, Form: "iter:NAME",
	Where: "once for each object of the kernel of a kind (`task`, `task_file`, `task_vma`, `bpf_map`, ...), when all places are attached", Names: "the members of `struct bpf_iter__NAME`: the object, `meta`",
	Kernel: true, Attach: "iter", parse: (*parser).iter, Find: Finder.Iterators, Own: "$args",
})

func (p *parser) iter(pl *Place, rest part) error {
	list, err := p.parts(rest, 1, 1)
	if err != nil {
		return err
	}
	pl.Event, err = p.plain(list[0], "the iterator")
	return err
}
