package process

import (
	"testing"

	"golang.org/x/sys/unix"
)

func held(b *testing.B) *Process {
	b.Helper()
	p, err := Start([]string{"/bin/true"}, StartOptions{}, Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = p.Kill() })
	return p
}

// BenchmarkSyscall is one injected system call.
func BenchmarkSyscall(b *testing.B) {
	p := held(b)
	_, err := p.Stopped(func(s *Stopped) error {
		for b.Loop() {
			if _, err := s.Syscall(unix.SYS_GETPID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkStop is one stop of the world without work; sleeping program.
func BenchmarkStop(b *testing.B) {
	p, err := Start([]string{"/bin/sleep", "1000"}, StartOptions{}, Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Kill()
	_ = p.Resume(p.Pid())
	for b.Loop() {
		if _, err := p.Stopped(func(*Stopped) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
