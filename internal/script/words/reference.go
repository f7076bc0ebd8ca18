package words

import (
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/lang/script"
)

// Reference is docs/bpftrace-language.md.
func Reference() string {
	var b strings.Builder
	b.WriteString(referenceHead)
	b.WriteString("## Probes\n\nNames may be in upper case, short names may not. Wildcards (`*`) are possible in functions, events and\nfiles; several attach points are separated by commas.\n\n| written | short | what it is | arguments | `retval` |\n|---|---|---|---|---|\n")
	for _, pr := range script.Providers {
		forms := make([]string, 0, len(pr.Forms))
		for _, f := range pr.Forms {
			forms = append(forms, "`"+pr.Name+":"+f+"`")
		}
		if len(forms) == 0 {
			forms = []string{"`" + pr.Name + "`"}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", strings.Join(forms, "<br>"), code(pr.Aliases), pr.Doc, code(strings.Fields(pr.Args)), yes(pr.Retval))
	}
	b.WriteString("\n## Words and functions\n\nA word without arguments can be written with or without parentheses. *Where* names the probes, and whether\n`--unsafe` is needed. *Async* is done by jalon when it reads the event; *const* before the script runs.\n\n")
	table(&b, Words)
	b.WriteString("\n## Functions that update a map\n\nThey are assigned to a map or to an element of one: `@m[comm] = count()`.\n\n")
	table(&b, MapFuncs)
	b.WriteString("\n## Kinds of maps\n\n`let @m = lruhash(100);` outside of probes declares a map for 100 elements.\n\n| kind | when it is full |\n|---|---|\n")
	for _, k := range MapKinds {
		fmt.Fprintf(&b, "| `%s` | %s |\n", k.Name, k.Doc)
	}
	b.WriteString("\n## Settings\n\n`config = { max_map_keys = 100; stack_mode = perf }` before all probes.\n\n| name | value | default | what it is |\n|---|---|---|---|\n")
	for _, k := range Keys {
		if k.Gone {
			continue
		}
		value := k.Kind.String()
		if k.Words != nil {
			value = code(k.Words)
		}
		fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s |\n", k.Name, value, k.Default, k.Doc)
	}
	b.WriteByte('\n')
	suite(&b)
	return b.String()
}

const referenceHead = `# bpftrace's language

Generated from the tables in internal/script/words and internal/lang/script by ` + "`make generate`" + `; a test compares
them. The language is bpftrace's of version 0.27; types of maps and variables are inferred from all uses. In
addition jalon has floating-point literals and values (also in sum(), avg(), hist() and the like), and variables of a program by their names in
` + "`uprobe`" + `.

    jalon run script.bt arg1 -- --name=value       jalon run -e 'begin { printf("%d\n", 42); }'
    jalon run -c 'program args' script.bt          jalon run script.bt arg1 -- program args
    jalon run -p 1234 script.bt                    jalon run -l 'tracepoint:sched:*'    (-lv: with arguments)
    jalon run --dry-run script.bt                  jalon run -d types script.bt    (ast, expanded, types, maps, all)

The flags and exit statuses are bpftrace's (` + "`jalon run --help`" + `): the status of exit(), 1 for any error. What follows
` + "`--`" + ` are named parameters, then a program to start, which runs on when the script ends; a program of -c is ended
with it. Ctrl-C ends a script and prints its maps. A file that begins with ` + "`#!/usr/bin/env -S jalon run`" + ` is a program.
` + "`jalon trace 'main.c:9 if i > 3' --do '@[name] = count();' -- ./prog`" + ` executes statements at a place without a script;
--maps reports where each map is: in the process, in the kernel, in jalon.
A link to jalon with the name bpftrace is ` + "`jalon run`" + ` and writes errors and warnings in bpftrace's form.
Settings can be given in the environment, as BPFTRACE_ and the setting's name in upper case.

` + "`jalon run`" + ` checks whole scripts in this language before anything is attached. What a probe reads is collected at its
site, in the process or in the kernel, with conditions that the site can decide; the rest of the probe is executed by
jalon when it reads the event, in the order of time, so that all probes have the same maps. Places in a program that
jalon starts or attaches to (` + "`-- PROGRAM`, `-p PID`" + `) are code in that process, or uprobes of it if a probe at the function
reads what only the kernel knows (uid, gid, username, ppid, pcomm, cgroup, curtask); otherwise they are uprobes in all
processes. signal() and signal_thread() are sent by the kernel when the site makes the record, so their probes are uprobes too; hits that are lost send none. Places of another program are uprobes that have the hits of the same process behind its exec (` + "`" + `-c 'sh -c "exec ./prog"'` + "`" + `). ` + "`profile`, `software` and `hardware`" + ` have the hits
of that program and of the processes that it starts, other places of the kernel those of all processes. What cannot be read at a site is an error before the script runs: among these so far a pointer that comes
from a map of jalon's (except if the same hit has put it there). Probes that run in jalon itself (begin, end, timers that read
nothing of what they interrupt) read the kernel's memory while they run, by any pointer.

A loop whose passes follow pointers, or end at what they have read, is executed at the site, and by jalon once more with what was
read there: ` + "`while ($p != 0) { print($p->name); $p = $p->next; }`" + `. It has a bound: the limits of a ` + "`for` or `unroll`" + `, up to 64
passes; of a ` + "`while`" + ` 32 passes, in another loop 8. A hit whose ` + "`while`" + ` goes on behind them is executed up to there, with a warning. The
code of a pass is repeated for each pass, and the record has room for what all of them read, at most 64 KiB: ` + "`str(p, n)`" + ` with a small n
makes it smaller. Names of directory entries (` + "`d_name.name`" + `) have room for 255 bytes. Where a loop has more than 8 passes, maps that it
uses are jalon's, except those of pointers.

## Where maps are

Maps are in memory that sites and jalon have in common, where that gives the same values as executing all probes in the order
of time: maps of ` + "`count()`, `sum()`, `avg()`, `min()`, `max()`, `stats()`, `hist()` and `lhist()`" + `, and
maps of integers and pointers (` + "`=`, `++`, `--`, `+=`, `-=`, `delete`, `has_key`, `find`" + `, reads in predicates, keys, values and prints; conditions,
variables, and loops of up to 64 known passes). Statements on them are executed at the site, and the hit leaves a record only for the
other statements, with what these read of the maps. A pointer that comes from such a map is followed at the site.

- Keys have up to 4 parts and 160 bytes: numbers; texts of up to 64 bytes (` + "`str(p, n)`" + ` with a constant n up to 64, arrays of characters,
  literals); ` + "`tid`; `comm`; `cpu`; `probe` and `func`" + `, for which the site is in the key; ` + "`ustack`" + ` of up to 127 frames (see below). In a process the
  thread is in the place of ` + "`comm`" + `: jalon shows the name that its events have.
- Stacks of different processes are different keys. At places of the kernel a stack is followed by the call frame information of its process,
  which jalon has of that of -p from the start, of that of -c or ` + "`" + `--` + "`" + ` from its first own instruction, and of another one some
  milliseconds after its first hit there. Before, frame pointers are followed:
  such a stack ends with ` + "`[by frame pointers: ...]`" + `, and a warning at the end has the number of hits. No hit is missing. Maps of numbers with
  ` + "`ustack`" + ` or ` + "`kstack`" + ` in their keys are at the sites if places only add to them (` + "`++`" + `, ` + "`+=`" + `); otherwise they are jalon's.
- Where a stack cannot be followed further (code without call frame information), it ends with ` + "`[the stack goes on: ...]`" + `. At places of the
  kernel it is followed by frame pointers through code made at run time (JavaScript, Java), of which
  ` + "`[by frame pointers: this code was made at run time]`" + ` says so: callers may be missing or wrong there.
- Values, keys and conditions can have ` + "`/` and `%`" + ` by a constant other than 0. Other divisions are jalon's, which warns of a division by 0.
- ` + "`++` and `+=`" + ` are one indivisible instruction: no thread's addition is lost, other than bpftrace's. What would have to be computed from
  the value before, as in ` + "`if (@max < $x) { @max = $x; }` or `@x = @x + 1`" + `, is executed in jalon, in the order of time, except if
  ` + "`tid`" + ` is a part of the key. ` + "`delete`" + ` of a key that another thread changes at the same moment leaves the one or the other.
- Where memory cannot be read, the statement has no effect, and a warning at the end has the number.
- A map of numbers with places in the process and in the kernel is one table in memory that both have (see below). In the kernel only end probes clear
  the map; otherwise it is in jalon. (Slots of deleted keys are given back by jalon, where the kernel uses the map when all programs have ended that may have found them. That
  needs CAP_SYS_ADMIN; without it a map of which elements are deleted in the kernel is in jalon.)
- ` + "`" + `max_map_keys` + "`" + ` (or what the declaration says) is how many elements the map has, in each engine if it has places in both; updates of further
  keys are lost and counted. Two maps may have more: one from which places delete, whose deleted elements need room for a while, and one of numbers that a
  timer has cleared, whose keys may come back.
- A table in the kernel has at most 64 MB, or 64 MB for each 4,096 elements that ` + "`max_map_keys`" + ` asks for, up to 512 MB; those of a process have 1 GB together.
  In the kernel, CPUs then share the memory in which they count (down to four parts), and only then a map has room for fewer elements than asked for (kernels before 6.10
  have tables of up to 4 MB): where the script says how many, a warning at the start says for how many there is room. ` + "`hist()`" + ` with 4,096 keys has all of them on any number of CPUs, in 9 to 42 MB (bpftrace's ` + "`hist()`" + ` has as many keys and ranges together);
  ` + "`hist(n, 5)`" + ` has 512, on many CPUs 256.
- A map from which places delete has room for 262,144 keys, of which deleted ones keep theirs until all hits have ended that may have found them: 15 to 60 ms in the
  kernel, and in a process until its threads are seen outside of hits, 10 ms. Where new keys come faster, or jalon has no processor for long, updates
  find no room: they are counted, and the warning says that the map was full of deleted elements. ` + "`max_map_keys`" + ` above 65,536 makes more room: a map has four times as much.
  A map in a process with the thread (` + "`tid`" + `, ` + "`comm`" + `) in its keys has room for ` + "`max_map_keys`" + ` keys, deleted ones included, since jalon looks through it whenever a thread ends.
- ` + "`" + `print(@); clear(@)` + "`" + ` in a timer gives the room of counts, sums and histograms back: half full, such a map loses its cleared keys when all hits are over that may
  still count for them, some milliseconds later. Nothing that is counted between the two is lost. In the kernel that needs CAP_SYS_ADMIN; without it, the keys
  stay, and there is room only for those that come again.
- In common memory are the maps of numbers whose keys are numbers, texts and ` + "`tid`" + `, with places of both engines, if elements that are added to
  (` + "`++`" + `, ` + "`+=`" + `) are not deleted, and nothing in the process depends on a value that a place in the kernel changes
  (` + "`uprobe:f { @n[tid] = @n[tid] + 1; } tracepoint:... { @n[tid] = 0; }`" + `). What one engine has written, the other reads at its next hit:
  ` + "`uprobe:./srv:handle { @t[tid] = nsecs; } tracepoint:... /@t[tid]/ { @lat = hist(nsecs - @t[tid]); delete(@t, tid); }`" + `. It needs x86-64. If the
  process cannot get the memory (too few descriptors, a security module), jalon has these maps, with a record of each hit, and says so. ` + "`--maps`" + ` has
  where each map is.
- Maps that are declared (` + "`let @m = lruhash(100)`" + `) are in jalon, except if a site follows a pointer that comes from one. There a full
  ` + "`lruhash`" + ` removes nothing: a new key is refused, counted and reported, as with ` + "`hash`" + `.
- Maps in jalon: those that a begin, timer or self probe changes (but by ` + "`clear`" + ` of all but min() and max()), that a function of the script has,
  that a probe with a label or a usdt probe has, with values that are not integers or pointers (of doubles too: each hit has a record; in the kernel, doubles in memory have values and those in vector registers are an error); maps of numbers of a script that calls exit()
  at a place, because the hits after it do not count, except for those from which sites take addresses (hits between exit() and the
  removal of the probes may change these).
- Texts are compared at sites with literals: ` + "`str(p) == \"text\"`" + `, ` + "`strncmp(str(p), \"text\", 3)`" + `, arrays of characters, ` + "`comm`" + ` at places of the
  kernel. A statement that depends on another condition on text (` + "`strcontains`" + `, two texts of the program) is jalon's, with its map.
  Where the text cannot be read, the condition does not hold, and the warning at the end counts it.

`

func table(b *strings.Builder, rows []*Word) {
	b.WriteString("| written | what it is | where | engine | when |\n|---|---|---|---|---|\n")
	for _, w := range rows {
		if w.Internal {
			continue
		}
		where := strings.Join(w.Providers, ", ")
		if w.Unsafe {
			where = strings.TrimPrefix(where+"; `--unsafe`", "; ")
		}
		when := ""
		switch {
		case w.Constant:
			when = "const"
		case w.Async:
			when = "async"
		}
		forms := make([]string, len(w.Forms))
		for i, f := range w.Forms {
			forms[i] = "`" + strings.ReplaceAll(f, "|", `\|`) + "`"
		}
		engine := [...]string{"", "kernel", "process"}[w.Engines]
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", strings.Join(forms, "<br>"), w.documented(), where, engine, when)
	}
}

func code(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = "`" + w + "`"
	}
	return strings.Join(out, " ")
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}

// documented is what the page says of a word.
func (w *Word) documented() string {
	if w.Missing == "" {
		return w.Doc
	}
	return w.Doc + ". **" + strings.ToUpper(w.Missing[:1]) + w.Missing[1:] + "**"
}
