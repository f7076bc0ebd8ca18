package probe

// Kretprobe is kretprobe:[MODULE:]FUNC.
var Kretprobe = kind(Kind{
	Words: []string{"kretprobe", "kr"}, Form: "kretprobe:[MODULE:]FUNC",
	Where: "the return of a kernel function", Names: "`retval`, registers",
	Kernel: true, Attach: "kretprobe", parse: (*parser).kernelFunction, Find: Finder.ReturnProbes, Own: "$retval",
})
