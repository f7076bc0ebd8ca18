package probe

// Fexit is fexit:[MODULE:]FUNC.
var Fexit = kind(Kind{
	Words: []string{"fexit", "kretfunc", "fr"}, Form: "fexit:[MODULE:]FUNC",
	Where: "the return of a kernel function that BTF describes; cheaper than kretprobe:", Names: "the parameters, `retval`",
	Kernel: true, Attach: "fexit", parse: (*parser).kernelFunction, Find: Finder.TypedFunctions, Own: "$retval",
})
