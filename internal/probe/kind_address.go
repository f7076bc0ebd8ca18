package probe

// Address is *ADDR: an address at run time, of one process.
var Address = kind(Kind{
	Form: "*ADDRESS", Where: "the instruction at an address of the process", Names: "local variables, globals, registers",
	RunTime: true,
})
