package vmtest

import (
	"context"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"testing"
	"time"
)

// guestOnly names the tests that Main leaves out on the host.
const guestOnly = "^TestGuest_"

// Names of environment variables. The kernel passes an unknown parameter of its command line to init as an
// environment variable: guestVar marks PID 1 (asInit) and the test binary that it starts (asTest).
const (
	guestVar = "JALON_GUEST"
	asInit   = "init"
	asTest   = "test"
	noVMVar  = "JALON_NO_VM"
)

// Config describes a guest and its program.
type Config struct {
	Kernel  string          // a series ("6.1", "6.12") or the path of a bootable image
	Run     string          // the tests to run, as for -test.run
	Skip    string          // top-level names of skipped tests; a test never runs in a guest that it starts itself
	Files   map[string]File // what else is in the guest, by absolute path there
	Args    []string        // further arguments of the test binary
	Env     []string        // further environment, NAME=value
	Memory  int             // MiB; 0: 512 and what the files need
	Count   bool            // the guest's clock counts instructions, one nanosecond each
	Line    string          // path of a unix socket on the host that is the guest's Serial; "": none
	Timeout time.Duration   // for all tests together (-test.timeout in the guest); 0: 15 minutes
	Silence time.Duration   // how long the booted guest may give no sign of life; 0: 3 minutes
	Started func(pid int)   // if not nil, is given the process of QEMU when it runs

	grace time.Duration // from the end of Timeout until the guest is ended from outside; 0: 30 s
}

// File is a file of the guest: Data, or where Host is set the file or the whole
// directory of that name on the host.
type File struct {
	Host string
	Data []byte
	Mode fs.FileMode // permissions; 0: those of the host's file, 0o644 for Data
}

// PID 1 of a guest is this package's, whatever the TestMain of the tests does: it is
// taken over before main begins.
func init() {
	if os.Getpid() == 1 && os.Getenv(guestVar) == asInit {
		initMain()
	}
}

// Main is the body of a TestMain where some tests make sense in a guest only: those
// whose names begin with TestGuest_. On the host it runs the others; the results of
// those are reported by the test that calls Run. It does not return. m is a
// *testing.M or something around it. A package whose tests run in both places needs
// no Main.
func Main(m interface{ Run() int }) {
	if !Guest() {
		if !flag.Parsed() {
			flag.Parse()
		}
		skip := guestOnly
		if f := flag.Lookup("test.skip"); f.Value.String() != "" {
			skip = f.Value.String() + "|" + skip
		}
		if err := flag.Set("test.skip", skip); err != nil {
			panic("BUG: " + err.Error())
		}
	}
	os.Exit(m.Run())
}

// Guest reports whether this process is a test binary inside a guest.
func Guest() bool { return os.Getenv(guestVar) == asTest }

// Run boots a guest, runs the tests of cfg in it and reports each of them as a
// subtest of t, with its log. It fails t where the guest as a whole went wrong,
// and where there is no kernel to boot. With JALON_NO_VM=1 it skips t instead of
// booting anything. The report is for questions beyond that, such as which tests
// were skipped.
func Run(t *testing.T, cfg Config) *Report {
	t.Helper()
	return Begin(t, cfg)()
}

// Begin is Run in two steps, for tests that do something on the host while the guest runs: wait waits until the guest has ended, and
// reports. Without a call of wait the guest ends with the test.
func Begin(t *testing.T, cfg Config) (wait func() *Report) {
	t.Helper()
	if Guest() {
		t.Fatal("vmtest.Run was called in a guest: Config.Run must not match the test that calls it")
	}
	if os.Getenv(noVMVar) == "1" {
		t.Skip(noVMVar + "=1: no guest is booted")
	}
	own := "^" + rootName(t.Name()) + "$"
	if cfg.Skip != "" {
		own = cfg.Skip + "|" + own
	}
	cfg.Skip = own
	var r *Report
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		r, err = Boot(t.Context(), cfg)
	}()
	t.Cleanup(func() { <-done }) // the context has been cancelled
	return func() *Report {
		t.Helper()
		if <-done; err != nil {
			t.Fatalf("%v\n(%s=1 leaves the tests out that need a guest)", err, noVMVar)
		}
		report(t, r)
		return r
	}
}

// Boot boots a guest and returns what came of it. An error means that no guest
// could be started; whatever happened in one is in the report.
func Boot(ctx context.Context, cfg Config) (*Report, error) {
	kernel, err := findKernel(ctx, cfg.Kernel)
	if err != nil {
		return nil, err
	}
	expected, err := listTests(ctx, cfg)
	if err != nil {
		return nil, err
	}
	image, err := initramfs(cfg)
	if err != nil {
		return nil, err
	}
	m, err := startMachine(cfg, kernel, image)
	if err != nil {
		return nil, err
	}
	if cfg.Started != nil {
		cfg.Started(m.pid)
	}
	r := m.watch(ctx, cfg)
	r.check(expected)
	return r, nil
}

// Output runs a command, in the guest or on the host, and returns its output on both streams. A command
// that fails ends the test.
func Output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}
