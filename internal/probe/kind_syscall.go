package probe

import "fmt"

// Syscall is syscall:NAME[:exit]: the events of system calls, which have no raw arguments.
var Syscall = kind(Kind{
	Words: []string{"syscall"}, Form: "syscall:NAME or syscall:NAME:exit",
	Where: "the start or the end of a system call", Names: "the fields of its events (`args->x`)",
	Kernel: true, Attach: "tracepoint", parse: (*parser).syscall,
	Find: func(f Finder, p *Place) error {
		side := "sys_enter_"
		if p.Exit {
			side = "sys_exit_"
		}
		if err := f.Events(p, "syscalls", side+p.Event); err != nil {
			return fmt.Errorf("%w (system calls are events of tracefs: CONFIG_FTRACE_SYSCALLS)", err)
		}
		return nil
	},
})

func (p *parser) syscall(pl *Place, rest part) error {
	list, err := p.parts(rest, 1, 2)
	if err != nil {
		return err
	}
	if pl.Event, err = p.name(list[0], "the name of a system call"); err != nil || len(list) == 1 {
		return err
	}
	when, err := p.oneOf(list[1], "side of a system call", map[string]string{"entry": "entry", "exit": "exit"})
	pl.Exit = when == "exit"
	return err
}
