package bpf

import (
	"strings"

	"github.com/jalon-trace/jalon/internal/lazyregexp"
)

// The verifier's log is a trace of the instructions that it examined:
//
//	0: R1=ctx() R10=fp0
//	0: (79) r1 = *(u64 *)(r1 +800)
//	invalid bpf_context access off=800 size=8
//	processed 1 insns (limit 1000000) ...
//
// An instruction may be followed by the state after it ("; R1_w=..."). The reason is after the last
// instruction, in one or more lines.
var (
	logInsn    = lazyregexp.New(`^(\d+): \([0-9a-f]{2}\) (.*)$`)
	logState   = lazyregexp.New(`^(\d+: |from \d+ to \d+: )?(frame\d+: )?R\d+(_\w+)?=`)
	logTrailer = lazyregexp.New(`^(processed \d+ insns|verification time|stack depth|max_states|mark_precise|peak_states)`)
)

// refusal returns the verifier's reason in one line: "instruction 5 (r1 = *(u64 *)(r1 +800)): invalid
// bpf_context access off=800 size=8". If there is no text after the last instruction, it uses the last line
// of text.
func refusal(log []string) string {
	last, insn, reason := "", "", ""
	for _, line := range log {
		line = strings.TrimSpace(line)
		if m := logInsn.FindStringSubmatch(line); m != nil {
			code, _, _ := strings.Cut(m[2], " ;")
			code, _, _ = strings.Cut(code, ";")
			insn, reason = "instruction "+m[1]+" ("+strings.TrimSpace(code)+"): ", ""
			continue
		}
		if line == "" || strings.HasPrefix(line, ";") || logState.MatchString(line) || logTrailer.MatchString(line) {
			continue
		}
		last = line
		if reason == "" {
			reason = line
		}
	}
	switch {
	case reason != "":
		return insn + reason
	case last != "":
		return "the program: " + last
	}
	return "the program without a reason"
}
