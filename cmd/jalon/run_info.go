package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/engine/kernel"
)

// scriptInfo prints what scripts can use on this machine.
func scriptInfo(w io.Writer) error {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return fmt.Errorf("the kernel's version: %w", err)
	}
	text := func(b []byte) string { s, _, _ := strings.Cut(string(b), "\x00"); return s }
	fmt.Fprintf(w, "System\n  OS: %s %s %s\n  Arch: %s\n\n", text(u.Sysname[:]), text(u.Release[:]), text(u.Version[:]), text(u.Machine[:]))
	fmt.Fprintf(w, "Build\n  version: jalon %s, the language of bpftrace v%s\n  go: %s\n  DWARF support: yes\n  stack unwinding without frame pointers: yes\n\n", version, languageVersion, runtime.Version())
	facts, err := kernel.Facts()
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "Kernel")
	_, noTypes := kernelTypes()
	fmt.Fprintf(w, "  btf: %s\n", yes(noTypes))
	_, noEvents := kernelEvents()
	fmt.Fprintf(w, "  tracefs: %s\n", yes(noEvents))
	for _, f := range facts {
		word := "yes"
		if !f.OK {
			word = "no (" + f.Text + ")"
		}
		fmt.Fprintf(w, "  %s: %s\n", f.Name, word)
	}
	return nil
}

func yes(err error) string {
	if err != nil {
		return "no (" + err.Error() + ")"
	}
	return "yes"
}
