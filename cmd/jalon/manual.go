package main

import (
	"github.com/alecthomas/kong"

	"github.com/jalon-trace/jalon/internal/manual"
)

type manualCmd struct{}

// Run prints the manual page, which make install and make dist put beside the program.
func (manualCmd) Run(app *kong.Kong) error {
	return manual.Write(stdout, app.Model, manual.Page{Version: version, Statuses: statuses, Files: configFiles, Examples: examples})
}

// statuses are the exit statuses: docs/interface.md has the same table, which a test compares.
var statuses = []manual.Status{
	{Name: "0", Meaning: "The command did what it was asked to do; jalon trace and record: the traced program ended with status 0, or runs on"},
	{Name: "1", Meaning: "The system refused or lacks something: no permission, no such process, a full disk; jalon check: programs of this user cannot be traced"},
	{Name: "2", Meaning: "An error in what was typed: the command line, a place, a condition, a list"},
	{Name: "70", Meaning: "An error in jalon; the traced program runs on"},
	{Name: "N, 128+N", Meaning: "jalon trace and record with a program after --: the status that the program ended with, 128 and the number of the signal that killed it"},
}

var examples = []manual.Example{
	{Purpose: "A line of a program, with a condition", Command: "jalon trace 'main.c:9 if (i + j >= 0)' -c '2*i+9*j' -- ./prog"},
	{Purpose: "A function of a running program", Command: "jalon trace 'handle if (req->len > 4096)' -c 'req->len, req->path/s, $bt' -p 4242"},
	{Purpose: "Slow calls", Command: "jalon trace 'handle%return if ($elapsed > 1000000)' -c '$elapsed, @entry(req->len)' -p 4242"},
	{Purpose: "A histogram, computed at the hits", Command: "jalon trace handle --hist req->len --by req->type -- ./srv"},
	{Purpose: "A static tracepoint of the kernel", Command: "jalon trace 'tracepoint:sched:sched_switch if (next->prio < 100)' -c 'prev->comm, next->comm'"},
	{Purpose: "A script in bpftrace's language", Command: "jalon run -e 'tracepoint:syscalls:sys_enter_openat { @[comm] = count(); }'"},
	{Purpose: "The newest events of a running program, when they are wanted", Command: "jalon record -o run2 --flight 16M handle -p 4242 & jalon snapshot run2"},
	{Purpose: "What all threads of the system do, for Trace Compass", Command: "jalon record -o run3 --set core,syscalls -d 10s"},
	{Purpose: "A trace on disk, and what is in it", Command: "jalon record -o run1 handle -c req->len -- ./srv; jalon report run1 --where 'req->len > 100'"},
}
