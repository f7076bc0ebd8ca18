#!/usr/bin/env bash
# Runs `go test` with the arguments. If something fails, its name and messages are printed once more as the last
# lines, each behind a bar, because the beginning of a long log may be lost.
set -uo pipefail
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT

printf '%s test %s\n' "${GO:-go}" "$*"
"${GO:-go}" test "$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
[ "$status" -eq 0 ] && exit 0

# The output of a package ends with a line "FAIL <tab> PACKAGE" or "ok ...". Of it are kept: errors of the compiler,
# panics (a test that is out of time too), and what belongs to failed tests; the first lines of each.
awk -v most=25 -v all=150 '
	function keep(line) { if (++lines <= most) held = held "| " substr(line, 1, 400) "\n"; else if (lines == most + 1) held = held "| ...\n" }
	function show(name, i) {
		if (held == "") for (i = NR - 8; i < NR; i++) if (i > began) keep(line[i])
		if (shown < all) { printf "| failed: %s\n%s", name, held; shown += split(held, unused, "\n") }
		else printf "| failed: %s\n", name
		held = ""; lines = 0; inside = 0; began = NR
	}
	{ line[NR] = $0; delete line[NR - 9] }
	/^FAIL[ \t]+[^ \t]/ { show($2 " " $3 " " $4); next }
	/^ok[ \t]/ || /^\?[ \t]/ { held = ""; lines = 0; inside = 0; began = NR; next }
	/^--- FAIL: / || /^# / || /^panic: / || /^fatal error: / || /^SIG[A-Z]+: / || /^WARNING: DATA RACE/ { inside = 1; lines = 0; keep($0); next }
	/^(---|===|PASS$|FAIL$|exit status)/ { inside = 0; next }
	inside { keep($0) }
' "$log"
exit "$status"
