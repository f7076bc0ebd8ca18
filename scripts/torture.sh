#!/usr/bin/env bash
# Long runs that try to harm traced programs, one after the other; a failure does not end the
# others. At the end one table of counts is printed. Each count can be set: JALON_KILLS (5000), JALON_TARGET_KILLS
# (1000), JALON_SHORT_TRACES (2000), JALON_TORTURE_ROUNDS (0: all), JALON_TORTURE_WAY (all). JALON_TORTURE_RUN limits the
# first piece to some tests, as `go test -run` does. A run of some minutes:
#
#	JALON_TORTURE_RUN='(Lives|EveryInstruction)/(signals|lua)$' JALON_TORTURE_ROUNDS=1 \
#	JALON_TORTURE_WAY='launched, false' JALON_KILLS=50 JALON_TARGET_KILLS=20 JALON_SHORT_TRACES=50 make torture
set -uo pipefail
cd "$(dirname "$0")/.."

JALON_COUNTS=$(mktemp)
export JALON_COUNTS
trap 'rm -f "$JALON_COUNTS"' EXIT
failed=()

piece() { # NAME, then the tests' flags
	echo "== $1"
	"${GO:-go}" test -count=1 -v "${@:2}" || failed+=("$1")
}

# Existing programs, and programs that fork, exec, load libraries and end: their output and end
# must be as without jalon.
JALON_TORTURE=1 piece "programs and lives" -timeout 12h ${JALON_TORTURE_RUN:+-run "$JALON_TORTURE_RUN"} ./test/torture
# Other tracers' uprobes before and after, at the same places.
JALON_FULL=1 piece "beside other tracers" -timeout 60m -run 'Foreign|LaterUprobe|UprobeOrders|ForkedGuard|Sealed|WhileGuarded' ./test/kernel
# Threads that start and end.
JALON_FULL=1 piece "attaching" -timeout 60m -run 'TestAttachThreadChurn' ./test
# One process is traced again and again, for a moment each time.
JALON_SHORT_TRACES=${JALON_SHORT_TRACES:-2000} piece "short traces" -timeout 4h -run 'TestShortTraces' ./test
# jalon or the traced program is killed at random times.
JALON_KILLS=${JALON_KILLS:-5000} piece "kills of jalon" -timeout 4h -run 'TestKillsOfJalon' ./test
JALON_KILLS=${JALON_TARGET_KILLS:-1000} piece "kills of programs" -timeout 2h -run 'TestKillsInARow|TestKillsOfTargets' ./test

"${GO:-go}" run ./test/torture/table "$JALON_COUNTS" || failed+=("see the table")
if [ ${#failed[@]} -gt 0 ]; then
	printf 'failed: %s\n' "${failed[@]}" >&2
	exit 1
fi
