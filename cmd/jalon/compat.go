package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/lazyregexp"
	"github.com/jalon-trace/jalon/internal/script/interp"
)

// jalon under the name bpftrace (a link to it) is `jalon run`, and writes messages in bpftrace's form, for programs
// that read them. What is written is the same otherwise.

// asBpftrace is whether jalon was called by that name.
var asBpftrace = filepath.Base(os.Args[0]) == "bpftrace"

// bpftraceUsage is what bpftrace's help begins with.
const bpftraceUsage = "USAGE:\n    bpftrace [options] filename\n    bpftrace [options] -e 'program'\n"

// bpftraceName is the name that bpftrace gives the script of -e.
const bpftraceName = "stdin"

// rewording is a message, and bpftrace's words for it.
type rewording struct {
	ours   *lazyregexp.Regexp
	theirs string
}

func reword(ours, theirs string) rewording {
	return rewording{lazyregexp.New(`^(?s:` + ours + `)$`), theirs}
}

// rewordings are the messages that programs may look for.
var rewordings = []rewording{
	reword(`the index (\d+) is not in an array of (\d+) elements`, `the index $1 is out of bounds for array of size $2`),
	reword(`the index is outside of the array; the value is 0`, `Array access out of bounds. This can lead to unexpected results.`),
	reword(`division by 0; the result is 1`, `Divide or modulo by 0 detected. This can lead to unexpected results. 1 is being used as the result.`),
	reword(`the map (\S+) (?:is full, with \d+ elements|has no room: .*); the update is lost`, `Map full; can't update element. Try increasing max_map_keys config or manually setting the max entries in a map declaration e.g. let $1 = hash(5000)`),
	reword(`the map has no such element; the value is 0`, `Can't lookup map element because it does not exist.`),
	reword(`the map has no such element to delete`, `Can't delete map element because it does not exist.`),
	reword(`(\w+)\(\) expects a map with keys; \S+ has none`, `call to $1() expects a map with explicit keys (non-scalar map)`),
	reword(`the keys of (\S+) have the type (\S+), not (\S+)`, `Argument mismatch for $1: trying to access with arguments: '$3' when map expects arguments: '$2'`),
	reword(`(\w+\(\)) needs --unsafe`, `$1 is unsafe. To use you need the --unsafe flag`),
	reword(`there is no setting "(.*)"`, `$1: not a known configuration option`),
	reword(`the map (\S+) is not used`, `Unused map: $1`),
	reword(`the count of unroll must be from 1 to 100, not 0`, `unroll minimum value is 1`),
	reword(`the count of unroll must be from 1 to 100, not \d+`, `unroll maximum value is 100`),
	reword(`license is one of .*, not "(.*)"`, `Invalid value for license. Found: $1. Valid values: Dual MIT/GPL, Dual BSD/GPL, Dual MPL/GPL, GPL and additional rights, GPL v2, GPL`),
	reword(`the kernel has no symbol "(.*)"`, `Failed to resolve kernel symbol: $1`),
	reword(`open (.*): no such file or directory`, `failed to open file '$1': No such file or directory`),
	reword(`(.*) is no file; it is taken as a pattern`, `It appears that '$1' is a filename but the file does not exist. Treating '$1' as a search pattern.`),
	reword(`-p: "(\d+\D.*)" is not the number of a process`, `Failed to parse pid: invalid trailing bytes: $1`),
	reword(`-p: "(.*)" is not the number of a process`, `Failed to parse pid: invalid integer: $1`),
	reword(`-p: (\d+) is not between 1 and \d+`, `Pid out of range: $1`),
	reword(`--format must be one of "text","json" but got "(.*)"`, `Invalid output format "$1"`),
	reword(`(--\S+) is a number, not "(.*)"`, `program command line option $1 invalid integer (value: $2)`),
	reword(`the script has no parameter (--\S+); it has: (.*)`, "unexpected program command line options: $1\nHINT: expected program options: --$2"),
	reword(`--probe-filter: (.*)`, `Invalid --probe-filter regex: $1`),
	reword(`this statement is never reached`, `Unreachable statement`),
	reword(`path\(\) cannot be used at this place yet`, `helper bpf_d_path not allowed in probe`),
	reword(`none of the places of (.*) was found: the probe is left out`, `Probe has no valid attach points. It is being removed which may cause issues with program behavior.`),
	reword(`the script has no probes to attach`, noProbes),
	reword(`no probes to attach: .*`, noProbes),
}

// noProbes is bpftrace's message if there is nothing to do.
const noProbes = "No probes to attach"

// bpftraceWords are bpftrace's words for a message.
func bpftraceWords(msg string) string {
	for _, r := range rewordings {
		if r.ours.MatchString(msg) {
			return r.ours.ReplaceAllString(msg, r.theirs)
		}
	}
	return msg
}

// missing are the messages of places that are not there.
var missing = lazyregexp.New(`^no (function|tracepoint|module|static marker) "`)

// render writes a diagnostic of a script: in jalon's form, or in bpftrace's.
func render(d *lang.Diagnostic, label, note string) string {
	if !asBpftrace {
		return d.Render(label)
	}
	label = strings.ToUpper(label)
	if missing.MatchString(d.Msg) && !strings.Contains(d.Text, "\n") {
		return bpftraceMissing(d, label)
	}
	if text := bpftraceUnattached(d); text != "" {
		return text
	}
	words := bpftraceWords(d.Msg)
	if strings.HasPrefix(words, "program command line option") { // it has no position
		return label + ": " + words
	}
	if note != "" {
		note = "Additional Info - " + note + "\n"
	}
	_, lo, hi, shown := d.Line()
	text := fmt.Sprintf("%s%s\n%s%s\n%s%s", bpftracePosition(d), label+": "+words, note, shown, strings.Repeat(" ", lo-1), strings.Repeat("~", max(hi-lo, 1)))
	if d.Hint != "" {
		text += "\nHINT: " + d.Hint
	}
	return text
}

// bpftracePosition is where a diagnostic is, as bpftrace writes it.
func bpftracePosition(d *lang.Diagnostic) string {
	line, lo, hi, _ := d.Line()
	source := d.Source
	if source == interp.CommandLine {
		source = bpftraceName
	}
	return fmt.Sprintf("%s:%d:%d-%d: ", source, line, lo, hi)
}

// messageLine is the message of errorf and the like.
func messageLine(d *lang.Diagnostic, label string) string {
	if name, ok := strings.CutPrefix(d.Msg, "open "); ok && asBpftrace && strings.HasSuffix(name, ": no such file or directory") {
		return strings.ToUpper(label) + ": failed to open file '" + strings.TrimSuffix(name, ": no such file or directory") + "' (No such file or directory)"
	}
	if asBpftrace {
		return bpftracePosition(d) + strings.ToUpper(label) + ": " + d.Msg
	}
	line, lo, _, _ := d.Line()
	return fmt.Sprintf("%s:%d:%d: %s: %s", d.Source, line, lo, label, d.Msg)
}

// bpftraceMissing is the message for a place that matches nothing.
func bpftraceMissing(d *lang.Diagnostic, label string) string {
	kind, name, _ := strings.Cut(d.Text, ":")
	text, symbol := "", name
	if slices.Contains([]string{"kprobe", "kretprobe"}, kind) {
		if module, fn, ok := strings.Cut(name, ":"); ok {
			if _, err := os.Stat("/sys/module/" + module); err != nil && module != "vmlinux" {
				return fmt.Sprintf("%s: %s: specified module %s in probe %s is not loaded.", bpftraceName, label, module, d.Text)
			}
			symbol = fn
		}
		text = fmt.Sprintf("%s: WARNING: %s is not traceable (either non-existing, inlined, or marked as \"notrace\"); attaching to it will likely fail\n", bpftraceName, symbol)
		if bpftraceUnsafe && label == "ERROR" {
			return text + "ERROR: Unable to attach probe: " + d.Text
		}
	}
	text += fmt.Sprintf("%s: %s: No matches for %s %s.", bpftraceName, label, kind, name)
	if label == "WARNING" {
		return text + " Skipping."
	}
	return text + "\nERROR: Probe has no valid attach points."
}

// bpftraceUnsafe is whether --unsafe was given.
var bpftraceUnsafe bool

// notAttached are messages of places that are there and cannot be probed; notCode, of instructions that are none.
var (
	notAttached = lazyregexp.New(`: not installed: attach to \S+: (.*)$`)
	notCode     = lazyregexp.New(`^address (0x[0-9a-f]+) is not code(?:; (\S+) has (\d+) bytes)?$`)
)

// bpftraceUnattached is the message for a place that is not where a probe can be; "" for other diagnostics.
func bpftraceUnattached(d *lang.Diagnostic) string {
	if d.Source != "place" {
		return ""
	}
	if m := notAttached.FindStringSubmatch(d.Msg); m != nil {
		place := d.Text
		kind, addr, _ := strings.Cut(place, ":")
		if n, err := strconv.ParseUint(addr, 0, 64); err == nil {
			place = fmt.Sprintf("%s:%d", kind, n)
		}
		return "ERROR: Unable to attach probe: " + place + ". " + m[1]
	}
	m := notCode.FindStringSubmatch(d.Msg)
	switch {
	case m == nil:
		return ""
	case m[2] != "":
		return fmt.Sprintf("ERROR: Offset outside the function bounds ('%s' size is %s)", m[2], m[3])
	}
	path := strings.Split(d.Text, ":")
	return "ERROR: Could not resolve address: " + path[min(1, len(path)-1)] + ":" + m[1]
}

// reportBpftrace prints an error in bpftrace's form, and returns the exit status.
func reportBpftrace(err error) int {
	var list lang.Diagnostics
	var one *lang.Diagnostic
	switch {
	case errors.As(err, &list):
		for _, d := range list {
			fmt.Fprintln(stderr, render(d, "error", ""))
		}
	case errors.As(err, &one):
		fmt.Fprintln(stderr, render(one, "error", ""))
	case bpftraceWords(err.Error()) == noProbes:
		fmt.Fprintln(stderr, noProbes)
	default:
		fmt.Fprintln(stderr, "ERROR: "+bpftraceWords(err.Error()))
	}
	return 1
}

// warning is a warning of what was found when the probes were attached.
func warning(text string) string {
	if !asBpftrace {
		return "jalon: warning: " + strings.TrimPrefix(text, "warning: ")
	}
	if m := placeWarning.FindStringSubmatch(text); m != nil && missing.MatchString(m[1]) {
		return bpftraceMissing(&lang.Diagnostic{Text: m[2], Msg: m[1]}, "WARNING")
	}
	if text = strings.TrimPrefix(text, "warning: "); strings.HasPrefix(text, "none of the places") {
		return bpftraceName + ": WARNING: " + bpftraceWords(text)
	}
	return "WARNING: " + bpftraceWords(strings.TrimPrefix(text, "warning: "))
}

// placeWarning is a warning that was a diagnostic of a place.
var placeWarning = lazyregexp.New(`^(?:warning: )?error: (.*)\n *--> place:1:1\n *\|\n *1 \| (.*)\n`)
