#!/usr/bin/env bash
# Installs the Debian packages that a make target needs: deps.sh demo|test|test-arm64|torture|bench|bench-gdb|bench-kernel|bench-papers|bench-record.
# Installs only what is missing.
set -euo pipefail

declare -A need=(
	[demo]="gcc:gcc libc6-dev:/usr/include/stdio.h"
	[test]="gcc:gcc libc6-dev:/usr/include/stdio.h g++:g++ clang:clang gdb:gdb gdbserver:gdbserver binutils:objdump dwz:dwz musl-tools:musl-gcc make:make sqlite3:sqlite3 lua5.4:lua5.4 redis-server:redis-server redis-tools:redis-benchmark python3:python3 qemu-system-x86:qemu-system-x86_64 bpftool:/usr/sbin/bpftool pahole:pahole gfortran:gfortran rustc:/usr/bin/rustc linux-perf:perf babeltrace2:babeltrace2 systemtap-sdt-dev:/usr/include/x86_64-linux-gnu/sys/sdt.h zsh:zsh fish:fish chromium:chromium debuginfod:debuginfod-find"
	[test-arm64]="qemu-system-arm:qemu-system-aarch64 gcc-aarch64-linux-gnu:aarch64-linux-gnu-gcc libc6-dev-arm64-cross:/usr/aarch64-linux-gnu/include/stdio.h gdb-multiarch:gdb-multiarch"
	[torture]="openssl:openssl git:git python3:/usr/bin/python3 libpython3.11-testsuite:/usr/lib/python3.11/test/test_json default-jdk-headless:javac nodejs:node rustc:rustc"
	[bench]="gcc:gcc libc6-dev:/usr/include/stdio.h"
	[bench-gdb]="gcc:gcc libc6-dev:/usr/include/stdio.h gdb:gdb gdbserver:gdbserver"
	[bench-papers]="strace:strace ltrace:ltrace lttng-tools:lttng liblttng-ust-dev:/usr/include/lttng/tracepoint.h"
	[bench-record]="gcc:gcc libc6-dev:/usr/include/stdio.h babeltrace2:babeltrace2 linux-perf:perf procps:pgrep lttng-tools:lttng liblttng-ust-dev:/usr/include/lttng/tracepoint.h"
	[bench-kernel]="gcc:gcc libc6-dev:/usr/include/stdio.h bpftrace:bpftrace linux-perf:perf"
)

missing=()
for pair in ${need[$1]}; do
	pkg=${pair%%:*} cmd=${pair#*:}
	case $cmd in
	/*) [ -e "$cmd" ] || missing+=("$pkg") ;;
	*) command -v "$cmd" >/dev/null || missing+=("$pkg") ;;
	esac
done
if [ ${#missing[@]} -gt 0 ]; then
	echo "installing ${missing[*]}"
	sudo=
	if [ "$(id -u)" -ne 0 ]; then
		command -v sudo >/dev/null || { echo "deps.sh: not root and no sudo: install by hand: apt-get install ${missing[*]}" >&2; exit 1; }
		sudo=sudo
	fi
	# A package's service must not be started: tests need only its program.
	export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
	$sudo apt-get update -qq
	$sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

# The kernel describes its tracepoints in a file system that is not always mounted.
if [ "$1" = test ] || [ "$1" = bench-kernel ]; then
	if [ "$(id -u)" -eq 0 ] && [ ! -d /sys/kernel/tracing/events ]; then
		mount -t tracefs tracefs /sys/kernel/tracing || echo "deps.sh: tracefs cannot be mounted, so tests of the kernel's tracepoints will fail" >&2
	fi
fi

# The kernels that guest tests boot. Without them those tests fail, each with this
# message; the others can still run.
if [ "$1" = test ] && [ "${JALON_NO_VM:-}" != 1 ]; then
	for series in 6.1 6.12; do
		"$(dirname "$0")/kernel.sh" image $series >/dev/null || true
	done
fi
