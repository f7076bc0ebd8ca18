package probe

// Fentry is fentry:[MODULE:]FUNC.
var Fentry = kind(Kind{
	Words: []string{"fentry", "kfunc", "f"}, Form: "fentry:[MODULE:]FUNC",
	Where: "the entry of a kernel function that BTF describes; cheaper than kprobe:", Names: "the parameters and what they point to",
	Kernel: true, Attach: "fentry", parse: (*parser).kernelFunction, Find: Finder.TypedFunctions, Own: "$args",
})
