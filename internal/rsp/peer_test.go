package rsp

import (
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestParseEnd(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"0100007F:04D2", "127.0.0.1:1234"},
		{"00000000000000000000000001000000:0016", "[::1]:22"},
		{"0000000000000000FFFF00000100007F:0050", "127.0.0.1:80"},
	} {
		if got, ok := parseEnd(c.text); !ok || got != netip.MustParseAddrPort(c.want) {
			t.Errorf("%s: %v %v", c.text, got, ok)
		}
	}
	for _, bad := range []string{"", "0100007F", "0100007F:", "0100007:04D2", "xx00007F:04D2", "0100007F:104D2"} {
		if got, ok := parseEnd(bad); ok {
			t.Errorf("%q gives %v", bad, got)
		}
	}
}

// TestPeers: root and this user may connect over loopback, another user may not, on
// each kind of listener.
func TestPeers(t *testing.T) {
	for _, place := range []string{":0", "tcp6::0", "*:0"} {
		l, err := Listen(place)
		if err != nil {
			if strings.HasPrefix(place, "tcp6") {
				t.Logf("no IPv6 here: %v", err)
				continue
			}
			t.Fatal(err)
		}
		refused := make(chan error, 1)
		l.Refused = func(err error) { refused <- err }
		accepted := make(chan io.ReadWriteCloser, 4)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					close(accepted)
					return
				}
				accepted <- c
			}
		}()
		addr := l.Addr()
		if strings.HasPrefix(place, "*") {
			_, port, _ := net.SplitHostPort(addr)
			addr = net.JoinHostPort("127.0.0.1", port)
		}
		if os.Getuid() == 0 {
			cmd := exec.Command("/proc/self/exe", "-test.run", "^TestConnects$")
			cmd.Env = append(os.Environ(), "RSP_TEST_CONNECT="+addr)
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			select {
			case err := <-refused:
				if !strings.Contains(err.Error(), "nobody") && !strings.Contains(err.Error(), "tables have no such") {
					t.Error(err)
				}
			case <-accepted:
				t.Errorf("%s: another user was let in", place)
			case <-time.After(time.Minute):
				t.Error("the connection was not seen")
			}
		}
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-accepted:
			_ = got.Close()
		case err := <-refused:
			t.Error(err)
		case <-time.After(time.Minute):
			t.Error("the connection was not seen")
		}
		_ = c.Close()
		_ = l.Close()
	}
}

// TestConnects is the other user's program of TestPeers: it waits for its connection to be closed.
func TestConnects(t *testing.T) {
	addr := os.Getenv("RSP_TEST_CONNECT")
	if addr == "" {
		return // only a part of TestPeers
	}
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := c.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Fatalf("not refused: %v", err)
	}
}
