package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/lazyregexp"
)

// Flags of other tools, by what they mean there, and values that a flag does not take.

// meaning is what flags of other tools mean, and what does the same here. In text, $P is the first place and $V the value of
// the flag, as a shell takes them.
type meaning struct {
	flags string
	text  string
}

// otherFlags are such flags of a command; "" is the command line without a command. The first that has a flag counts.
var otherFlags = map[string][]meaning{
	"": {
		{"-e", "a script is executed by jalon run -e 'SCRIPT'; a system call is traced by jalon trace syscall:NAME"},
		{"-l", "jalon list lists functions and places of the kernel"},
		{"-p", "the command comes first: jalon trace PLACE -p PID"},
		{"-f", "the command comes first: jalon trace PLACE -f FORMAT"},
		{"-c", "the command comes first: jalon trace PLACE -c LIST"},
		{"-o", "the command comes first: jalon trace PLACE -o FILE"},
		{"-v", "jalon version prints the version; the command comes first: jalon trace -v PLACE"},
	},
	"trace":  traceMeanings,
	"record": slices.Concat(recordMeanings, traceMeanings),
	"run": {
		{"-l --list", "jalon list lists functions and places of the kernel: jalon list 'tracepoint:sched:*'"},
		{"--script --expr --eval --execute", "a script on the command line is -e $V"},
		{"--timeout --duration --time", "a script ends itself: interval:s:5 { exit(); }"},
		{"--filter --when --where --if", "a condition is the predicate of a probe: PROBE /CONDITION/ { ... }"},
		{"--args --argv", "what the script gets follows its file: jalon run FILE ARGS"},
		{"--cmd --command --exec", "the program is -c 'PROGRAM ARGS'"},
		{"--pid --attach", "the process is -p PID"},
		{"--json", "JSON is -f json"},
	},
	"report": {
		{"--stdio --header --no-children --tui", "jalon report DIR prints the events; jalon report DIR --stat counts them"},
		{"-i --input", "the recording is an argument: jalon report $V"},
		{"-s --sort --by-symbol -k --key", "counts by an expression are --count --by EXPR"},
		{"-F --fields-list --field", "what is printed is --fields LIST"},
		{"--filter --if --when --cond --condition", "a condition is --where $V"},
		{"--summary --count-all -c", "counts are --stat, by an expression --count --by EXPR"},
		{"--json", "JSON is -f json"}, {"--csv", "CSV is -f csv"},
		{"-g --call-graph --flame --flamegraph", "stacks are jalon export DIR --to folded, or html"},
		{"--since --start --begin", "the first time is --from"}, {"--until --end --stop", "the last time is --to"},
	},
	"list": {
		{"-l", "jalon list needs no -l: jalon list 'tracepoint:sched:*'"}, {"-a -f", "all functions are listed without a pattern: jalon list PROGRAM"},
		{"-e", "places of the kernel are arguments: jalon list 'tracepoint:sched:*'"},
		{"--functions -F --funcs --symbols", "functions are listed without a flag: jalon list PROGRAM 'PATTERN'"},
		{"--lines -L --source", "the lines of a source file are jalon list PROGRAM@FILE.c"},
		{"--vars -V --variables --locals", "the variables at the lines of a source file are in jalon list PROGRAM@FILE.c, at one line PROGRAM@FILE.c:LINE"},
		{"--events --tracepoints --kernel", "events of the kernel are jalon list 'tracepoint:*'"},
		{"--filter --pattern --grep", "a pattern is an argument: jalon list PROGRAM $V"},
		{"--exec -x", "the program is an argument: jalon list PROGRAM 'PATTERN'"},
	},
}

const (
	aCondition = "a condition is a part of its place: $P if $V"
	aPlace     = "a place is an argument without a flag: $V"
)

// traceMeanings are those of strace, ltrace, uftrace, perf, bpftrace, BCC's tools and GDB.
var traceMeanings = []meaning{
	{"-e", "a system call is traced by jalon trace syscall:$S; a script is executed by jalon run -e 'SCRIPT'"},
	{"-l", "jalon list lists functions and places of the kernel"},
	{"-F --freq --frequency", "samples are the place profile:99 with -c '$bt'; child processes are followed by default"},
	{"-k -g --bt --backtrace --stacktrace --stack-trace --stacks --call-graph --callgraph --callstack --kstack --ustack --user-stack --kernel-stack --callers", "the stack of each hit is -c '$bt'"},
	{"-s --string-limit --strsize --string-size --strlength", "the maximum length of strings is --strlen N"},
	{"-t -tt --timestamp --timestamps --absolute", "times are shown by default; --time chooses which"},
	{"-r --relative --relative-timestamps", "times since the first event are --time start"},
	{"-y -v --columns", "-c chooses what is shown"},
	{"-i --when --where --if --cond --condition --filter --only --predicate --match --trigger", aCondition},
	{"-S --summarize", "sums are jalon trace PLACE --sum VALUE"},
	{"-w --time-spent --lat --latencies --timing --func-time", "the time of calls is --latency: jalon trace FUNCTION --latency"},
	{"-m --mmap-pages --buffer-size --ring-size --ringbuf --bufsize --ring", "the size of the buffers is --buffer SIZE: --buffer 16M"},
	{"-E --env", "environment variables are set by env: -- env NAME=VALUE PROGRAM"},
	{"-u --user --run-as", "the program runs as another user by: -- setpriv --reuid USER PROGRAM"},
	{"-b -B --break --breakpoint --probe --place --at --function --func -L --line --location --event --events --tracepoint --uprobe --kprobe --usdt --syscall --syscalls --add", aPlace},
	{"-X --print --expr --expression --show --eval --display --print-expr --fields --values --variables --vars --var --watch --dump --fetch --capture --format-string --call", "what to show is -c LIST: -c $V"},
	{"--locals", "the local variables are -c '$locals'"}, {"--registers --regs", "the registers are -c '$regs'"},
	{"--args", "the arguments of a function are shown by default, and by -c '$args'; the program and its arguments come last: -- PROGRAM ARGS"},
	{"-N --limit --max --max-events --max-count --events-limit --hits --times --num --number --iterations --head", "the number of events is -n: -n $V"},
	{"--once --first --one --oneshot --one-shot", "the trace ends after one event by -n 1"},
	{"--timeout --time-limit --seconds --secs --sleep --for --wait --run-time --runtime --period", "the trace ends after a time by -d: -d $D"},
	{"--delay -D", "tracing begins when jalon is started: start it later, with -p PID"},
	{"--return --returns --ret --exit --retval -R", "the returns of a function are the place FUNCTION%return"},
	{"--json", "JSON is -f json"}, {"--csv", "CSV is jalon record -o DIR, and jalon report DIR -f csv"},
	{"--follow --follow-forks --follow-fork --fork --forks --children --inherit -ff", "child processes are followed by default; --no-follow does not"},
	{"--kernel", "places of the kernel need no flag: kprobe:FUNCTION, tracepoint:SUBSYSTEM:EVENT"},
	{"-C --stat --stats-only --summary --summary-only --counts", "hits are counted without records by --count; the summary at the end counts those of each place"},
	{"--tid --thread --threads -T", "a thread is a condition: \"$P if $tid == $V\" in the kernel, elsewhere -c '$tid' shows it"},
	{"--comm --name --process-name", "in the kernel the name of a thread is a condition: 'PLACE if comm == \"NAME\"'; a process is -p PID (pidof NAME prints it)"},
	{"--uid", "in the kernel the user is a condition: 'PLACE if uid == $V'"},
	{"--cpu", "the CPU is a condition: '$P if $cpu == $V'"},
	{"--process --attach --pids --attach-pid", "a running process is -p PID"},
	{"--exec --cmd --command --program --prog --run --binary --exe -x --start", "the program and its arguments come last: jalon trace $P -- $V"},
	{"--lib --library --so --dso --module -l", "a function of a library is uprobe:FILE:FUNCTION"},
	{"--out --outfile --out-file --output-file --log --log-file --logfile --file-name --write -O", "the events go to a file by -o FILE"},
	{"--system-wide --all-processes --global --everything", "all processes are --all"},
	{"--histogram --histo --quantize --distribution", "a histogram is --hist VALUE"}, {"--average --mean", "an average is --avg VALUE"},
	{"--count-by --group --group-by --groupby --aggregate --agg", "counts by an expression are --count $V, sums --sum VALUE --by $V"},
	{"--script --source", "a script in bpftrace's language is executed by jalon run FILE"},
	{"--list --funcs --functions", "jalon list PROGRAM lists functions"},
	{"--debug --trace --log-level", "-v reports the steps"}, {"--silent --no-summary", "-q prints no summary and no warnings"},
	{"--color --colors --no-color", "colours are --colour auto, always or never"},
	{"--sample --sampling --every --rate", "samples are the place profile:99 with -c '$bt'"},
	{"--depth --max-depth --max-stack --stack-depth", "the number of frames is --stack walk:N"},
	{"--socket --server --listen --sock", "requests are taken by --control PATH; GDB connects to jalon gdbserver :PORT"},
	{"--help-all --usage -? -help", "jalon trace --help explains all flags"},
	{"--set-var --variable", "a file of GDB's `save tracepoints` may set variables: -x FILE"},
	{"--tbreak --temporary", "the trace ends after one event by -n 1"},
	{"--do-script --exec-script --action --actions --commands", "statements at each hit are --do $V"},
	{"--gdb --commands-file", "a file of GDB's `save tracepoints` is -x FILE"},
	{"--sudo --root", "start jalon by sudo: sudo jalon trace ..."},
	{"--no-inherit --no-children --no-follow-forks", "places of the kernel in the program only are --no-follow"},
	{"--overwrite-old --flight --snapshot", "the newest events are kept by --overwrite, on disk by jalon record --flight SIZE"},
}

// recordMeanings are those of perf record and uftrace record.
var recordMeanings = []meaning{
	{"-F --freq --frequency -c --call-graph -g --sample", "samples of stacks are recorded by jalon record profile:99 -c '$bt' -p PID, or -- PROGRAM"},
	{"-e --event --events", "events are arguments: jalon record tracepoint:SUBSYSTEM:EVENT ..."},
	{"--out --output-dir --dir --directory", "the directory is -o DIR"},
}

var (
	unknownFlag = lazyregexp.New(`unknown flag (-[\w?-]+)`)
	noUnit      = lazyregexp.New(`--?([\w-]+): expected duration but got "(-?[\d.]+)`)
	noValue     = lazyregexp.New(`--([\w-]+): (?:missing value|expected \w+ value but got "(?:EOL"|.*flag\)))`)
	noNumber    = lazyregexp.New(`--([\w-]+): expected a valid \d+ bit u?int but got "(.*)"`)
	oneOf       = lazyregexp.New(`--([\w-]+) must be one of (\S+) but got "(.*)"`)
)

// otherFlag explains a flag that kong does not know, or a value that it does not take, or returns "".
func otherFlag(args []string, err error) string {
	text := err.Error()
	if m := noUnit.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("--%s %s: a time has a unit: %[2]ss, %[2]sms, %[2]sm", m[1], m[2])
	}
	if m := noValue.FindStringSubmatch(text); m != nil {
		return missingValue(m[1])
	}
	if m := noNumber.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("--%s %s: it takes a number", m[1], m[2])
	}
	if m := oneOf.FindStringSubmatch(text); m != nil {
		also := ""
		if m[1] == "time" && timeLike.MatchString(m[3]) {
			also = "; the trace ends after a time by -d " + withUnit(m[3])
		}
		return fmt.Sprintf("--%s %s: it is %s%s", m[1], m[3], strings.ReplaceAll(strings.ReplaceAll(m[2], `"`, ""), ",", ", "), also)
	}
	m := unknownFlag.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	command := args[0]
	if strings.HasPrefix(command, "-") {
		command = ""
	}
	for _, of := range otherFlags[command] {
		if slices.Contains(strings.Fields(of.flags), m[1]) {
			return fmt.Sprintf("there is no flag %s: %s", m[1], filled(of.text, args, m[1]))
		}
	}
	return ""
}

var timeLike = lazyregexp.New(`^\d+(\.\d+)?(ms|us|s|m|h)?$`)

// withUnit is a time as -d takes it.
func withUnit(text string) string {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return text + "s"
	}
	return text
}

// missingValues say what a flag without its value needs.
var missingValues = map[string]string{
	"collect": "what to show: -c 'n, p->name'; -c '$args', -c '$locals', -c '$bt'",
	"stack":   "a form: walk, copy or fp; the stack of each hit is -c '$bt'",
	"pid":     "the id of a process: -p PID (pidof NAME prints it)",
	"output":  "a file", "duration": "a time: -d 5s", "max": "a number: -n 10", "format": "a form: -f json; child processes are followed by default",
}

func missingValue(flag string) string {
	if of, ok := missingValues[flag]; ok {
		return fmt.Sprintf("--%s needs %s", flag, of)
	}
	return fmt.Sprintf("--%s needs a value: --%[1]s VALUE", flag)
}

// filled puts what the user wrote into a text: $P his first place, $V the value of a flag, $D that as a time.
func filled(text string, args []string, flag string) string {
	place, value := "PLACE", "VALUE"
	if strings.Contains(text, " if ") {
		value = "CONDITION"
	}
	for i, a := range args {
		v, attached := strings.CutPrefix(a, flag+"=")
		switch {
		case attached:
			value = v
		case a == flag && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-"):
			value = args[i+1]
		}
	}
	for i, a := range args[1:] {
		if !strings.HasPrefix(a, "-") && (i == 0 || !strings.HasPrefix(args[i], "-")) {
			place = a
			break
		}
	}
	if text == aCondition {
		return strings.NewReplacer("$P if $V", quoted(place+" if "+value)).Replace(text)
	}
	duration := "5s"
	if timeLike.MatchString(value) {
		duration = withUnit(value)
	}
	plain := func(s string) string {
		if s == "VALUE" || s == "CONDITION" || strings.Contains(text, "'$P") || strings.Contains(text, "\"$P") || strings.Contains(text, "== $V") {
			return s
		}
		return quoted(s)
	}
	call := "NAME"
	if name := strings.TrimPrefix(value, "trace="); eventName.MatchString(name) && len(events("syscalls", "sys_enter_"+name)) > 0 {
		call = name
	}
	return strings.NewReplacer("$S", call, "$P", plain(place), "$V", plain(value), "$D", duration).Replace(text)
}
