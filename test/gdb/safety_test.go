package gdb

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/test/testkit"
)

// The server is killed while it traces an attached process: the process continues correctly. (GDB removes its
// own breakpoints at every reported stop.)
func TestServerKilled(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		t.Run(fmt.Sprintf("stopped %v", stopped), func(t *testing.T) {
			t.Parallel()
			prog := compile(t, "gcc", "steady.c", "-g", "-O1")
			p := start(t, prog)
			p.Says("50\n")
			server, place := serve(t, "--attach", strconv.Itoa(p.Pid()))
			script := `trace tick
actions
collect n, sum
end
ftrace *tick if n % 3 == 1
tstart
`
			if stopped {
				script += "tbreak tick if n % 40 == 0\n"
			}
			script += "continue\necho the program is stopped\\n\nshell cat " + newPipe(t) + "\n"
			talk(t, conversation{server: server, place: place, file: prog, killed: true, script: script, while: func(gdb, _ *running) {
				was := len(p.Out.String())
				if stopped {
					eventually(t, "GDB stops the program", func() bool { return strings.Contains(fmt.Sprint(gdb.Cmd.Stdout), "the program is stopped\n") })
				} else {
					eventually(t, "the program runs", func() bool { return len(p.Out.String()) > was+8 })
				}
				server.Signal(syscall.SIGKILL)
				<-server.Ended
				_ = exec.Command("kill", "-9", strconv.Itoa(gdb.Pid())).Run()
			}})
			was := len(p.Out.String())
			eventually(t, "the program runs on", func() bool { return len(p.Out.String()) > was+30 })
			p.Signal(syscall.SIGTERM)
			p.Wait()
			steady(t, p.Out.String())
		})
	}
}

// newPipe makes a named pipe without a writer, so reading it blocks.
func newPipe(t testing.TB) string {
	t.Helper()
	name := t.TempDir() + "/pipe"
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// rawClient is a raw connection without GDB.
type rawClient struct {
	net.Conn
	t testing.TB
}

func dial(t testing.TB, place string) *rawClient {
	t.Helper()
	c, err := net.Dial("unix", place)
	if err != nil {
		t.Fatal(err)
	}
	return &rawClient{c, t}
}

// frame is a packet with its checksum.
func frame(payload string) string {
	sum := byte(0)
	for i := range len(payload) {
		sum += payload[i]
	}
	return fmt.Sprintf("$%s#%02x", payload, sum)
}

// ask sends a packet and waits for a reply that contains want.
func (c *rawClient) ask(payload, want string) string {
	c.t.Helper()
	if _, err := io.WriteString(c, frame(payload)); err != nil {
		c.t.Fatalf("%s: %v", payload, err)
	}
	var got bytes.Buffer
	b := make([]byte, 4096)
	deadline := time.Now().Add(patience)
	for !strings.Contains(got.String(), want) || !strings.Contains(got.String(), "#") {
		if err := c.SetReadDeadline(deadline); err != nil {
			c.t.Fatal(err)
		}
		n, err := c.Read(b)
		got.Write(b[:n])
		if err != nil {
			c.t.Fatalf("%s: %v; received %q", payload, err, tail(got.String()))
		}
	}
	_, _ = io.WriteString(c, "+")
	return got.String()
}

// Invalid data, packets in any order, and packets that are far too large harm neither the server nor the
// program.
func TestGarbage(t *testing.T) {
	t.Parallel()
	prog := compile(t, "gcc", "steady.c", "-g", "-O1")
	p := start(t, prog)
	p.Says("50\n")
	server, place := serve(t, "--multi")
	attach := fmt.Sprintf("vAttach;%x", p.Pid())
	packets := []string{
		"?", "g", "p10", "m0,10", "m" + strings.Repeat("f", 40) + ",1", "M0,4:00000000", "X0,0:", "X1000,ffffffff:", "c", "s",
		"vCont?", "vCont;c", "vCont;s:p-1.-1", "vCont;r1,2:1", "vCont;t", "vStopped", "vCtrlC", "Z0,0,1", "Z0,400000,1;X3,2227;cmds:0,X1,27", "z0,0,1", "Z2,0,8", "Z9,0,0",
		"H", "Hg0", "Hc-1", "Hgp1.1", "T1", "Tp9999.9999", "D;9999", "vKill;9999", "qSupported:", "qSupported:multiprocess+;swbreak+;xmlRegisters=" + strings.Repeat("i386,", 5000),
		"QTinit", "QTDP:1:0:E:0:0", "QTDP:1:1000:E:0:0:F5:X3,222227-", "QTDP:-1:1000:R", "QTDP:-1:1000:X2,2727", "QTDP:-1:1000:M-1,0,ffffffffffff", "QTDP:", "QTDPsrc:1:0:cond:0:ff:00", "QTDV:1:0:0:41", "QTStart", "QTStop",
		"QTFrame:0", "QTFrame:ffffffff", "QTFrame:pc:0", "QTFrame:range:0:ffffffffffffffff", "qTStatus", "qTP:1:0", "qTV:1", "qTfP", "qTsP", "qTfV", "qTsV", "qTBuffer:0,ffffffff", "qTBuffer:ffffffffffffffff,1", "QTSave:/nonexistent/x",
		"QTBuffer:size:ffffffffffffffff", "QTBuffer:size:0", "QTBuffer:size:-1", "QTBuffer:circular:2", "QTDisconnected:1", "QTDisconnected:0", "QTEnable:9:9", "QTNotes:user:zz", "qTMinFTPILen", "qTfSTM", "qTsSTM", "qTSTMat:0",
		"qXfer:features:read:target.xml:0,ffffffff", "qXfer:features:read:../../etc/passwd:0,100", "qXfer:auxv:read::ffffffff,10", "qXfer:osdata:read:processes:0,1000", "qXfer:threads:read::0,0",
		"qXfer:libraries-svr4:read:start=0;prev=0:0,1000", "qXfer:exec-file:read:1:0,100", "qRcmd,", "qRcmd,7a", "qCRC:0,ffffffff", "qSearch:memory:0;ffffffffffffffff;41", "qGetTLSAddr:0,0,0", "qSymbol::", "qSymbol:0:6d",
		"vFile:open:2f6574632f706173737764,0,0", "vFile:pread:0,ffffffff,0", "vFile:close:99", "vFile:readlink:2f", "vRun;", "vRun;2f6e6f", "vAttach;ffffffff", "vAttach;0", "QNonStop:1", "QNonStop:0", "QPassSignals:ff;0;-1", "QThreadEvents:1", "QCatchSyscalls:1;ffff",
		"QSetWorkingDir:2f", "QEnvironmentHexEncoded:zz", "QStartNoAckMode", "!", "t", "\x03", "", "\x00\x00\x00", "}", "*", "vMustReplyEmpty",
	}
	rng := rand.New(rand.NewPCG(uint64(testkit.Seed(t, 1)), 4))
	rounds := 12
	if full {
		rounds = 200
	}
	for round := range rounds {
		c := dial(t, place)
		go func() { _, _ = io.Copy(io.Discard, c.Conn) }()
		attached := round >= rounds/2 // random changes may harm the program
		if attached {
			_, _ = io.WriteString(c, frame(attach))
		}
		for range 60 {
			_ = c.SetWriteDeadline(time.Now().Add(patience))
			var text string
			switch rng.IntN(12) {
			case 0: // no packet
				b := make([]byte, rng.IntN(300))
				for i := range b {
					b[i] = byte(rng.Uint32())
				}
				text = string(b)
			case 1: // a wrong checksum
				text = "$" + packets[rng.IntN(len(packets))] + "#zz"
			case 2: // cut short
				text = frame(packets[rng.IntN(len(packets))])
				text = text[:rng.IntN(len(text)-1)]
			case 3: // changed
				if attached {
					continue
				}
				b := []byte(packets[rng.IntN(len(packets))])
				if len(b) > 0 {
					b[rng.IntN(len(b))] = byte(rng.Uint32())
				}
				text = frame(string(b))
			case 4:
				text = []string{"+", "-", "\x03", "--", "%Stop:T05#00"}[rng.IntN(5)]
			default:
				text = frame(packets[rng.IntN(len(packets))])
			}
			if strings.Contains(text, "exit") {
				continue
			}
			if _, err := io.WriteString(c, text); err != nil {
				break // the server may drop a client that sends invalid data
			}
		}
		if round%4 == 0 { // one that never ends
			_, _ = io.Copy(c.Conn, io.LimitReader(endless('a'), 3<<20))
			_, _ = io.WriteString(c, "$")
			_, _ = io.Copy(c.Conn, io.LimitReader(endless('b'), 3<<20))
		}
		_ = c.Close()
		if !alive(server.Pid()) {
			t.Fatalf("round %d: the server has ended: %s", round, tail(server.Errs.String()))
		}
	}
	if !alive(p.Pid()) {
		t.Fatalf("the program has ended")
	}
	c := dial(t, place)
	c.ask("QTinit", "OK")
	_ = c.Close()
	// A real GDB finds all in order, and the program comes free.
	s := talk(t, conversation{server: server, place: place, extended: true, script: fmt.Sprintf(`file %s
python
if gdb.selected_inferior().pid == 0: gdb.execute("attach %d")
end
break tick
continue
print n > 0
delete
detach
monitor exit
`, prog, p.Pid())})
	s.inOrder(`Breakpoint 1, .*tick`, `\$1 = 1`)
	server.Wait()
	was := len(p.Out.String())
	eventually(t, "the program runs on", func() bool { return len(p.Out.String()) > was+8 })
	p.Signal(syscall.SIGTERM)
	p.Wait()
}

// endless is a reader of one byte over and over.
type endless byte

func (e endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(e)
	}
	return len(b), nil
}

// A connection drops during a trace: the server accepts the next one, and the trace has ended as announced to
// GDB.
func TestDropped(t *testing.T) {
	t.Parallel()
	prog := compile(t, "gcc", "steady.c", "-g", "-O1")
	p := start(t, prog)
	p.Says("50\n")
	server, place := serve(t, "--attach", strconv.Itoa(p.Pid()))
	for range 3 {
		// The second stop at the function is after the first hit of it.
		script := "trace tick\nbreak tick\ntstart\ncontinue\ncontinue\ndelete $bpnum\necho is traced\\n\ncontinue\n"
		talk(t, conversation{server: server, place: place, file: prog, killed: true, script: script, while: func(gdb, _ *running) {
			eventually(t, "the program is traced", func() bool { return strings.Contains(fmt.Sprint(gdb.Cmd.Stdout), "is traced\n") })
			was := len(p.Out.String())
			eventually(t, "the program runs", func() bool { return len(p.Out.String()) > was+8 })
			_ = exec.Command("kill", "-9", strconv.Itoa(gdb.Pid())).Run()
		}})
	}
	s := talk(t, conversation{server: server, place: place, file: prog, script: `tstatus
tfind
tfind none
print ticks > 100
detach
`})
	s.inOrder(`Trace stopped because of GDB disconnecting|Trace stopped because of disconnection|Trace stopped`, `Collected [1-9]\d* trace frames`, `Found trace frame 0`, `\$1 = 1`)
	server.Wait()
	was := len(p.Out.String())
	eventually(t, "the program runs on", func() bool { return len(p.Out.String()) > was+8 })
	p.Signal(syscall.SIGTERM)
	p.Wait()
	steady(t, p.Out.String())
}
