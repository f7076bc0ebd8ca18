// Package vmtest runs tests of a package under another kernel: it boots a Debian
// kernel in QEMU with the running test binary as its init and brings the results
// back as subtests.
//
//	host                                     guest
//	go test ── Run ── qemu ─────────────────► PID 1 mounts what tests need,
//	  │  initramfs: the test binary,            │  starts the test binary again
//	  │  its arguments, Config.Files            ▼
//	  │                                       the test binary: -test.run=Config.Run
//	  ◄── console: first serial line ─────────  the kernel's messages
//	  ◄── frames: second serial line ─────────  output, signs of life, exit status
//
// Nothing is taken on trust: every frame carries a checksum, the last one says how
// the test binary ended, and the tests that reported are compared with the list of
// those that exist. A panic or an oops, a machine that gives no sign of life and a
// missing last frame are failures that show the end of the console.
//
// The processor is emulated with one thread (accel tcg,thread=single): with several
// threads QEMU 7.2 makes these kernels oops now and then. No disk, no network and no
// port of the host are used.
//
// A package uses it like this:
//
//	func TestMain(m *testing.M) { vmtest.Main(m) }
//
//	func TestGuests(t *testing.T) {
//		for _, kernel := range vmtest.Kernels {
//			t.Run(kernel, func(t *testing.T) {
//				vmtest.Run(t, vmtest.Config{Kernel: kernel, Run: "^TestGuest_"})
//			})
//		}
//	}
//
//	func TestGuest_Kprobe(t *testing.T) { ... } // runs in the guest only
package vmtest
