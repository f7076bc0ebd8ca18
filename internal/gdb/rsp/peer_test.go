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
			for _, from := range sources(t, addr) {
				cmd := exec.Command("/proc/self/exe", "-test.run", "^TestConnects$")
				cmd.Env = append(os.Environ(), "RSP_TEST_CONNECT="+addr, "RSP_TEST_FROM="+from)
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%s from %q: %v\n%s", addr, from, err, out)
				}
				select {
				case err := <-refused:
					if !strings.Contains(err.Error(), "nobody") && !strings.Contains(err.Error(), "no such connection") {
						t.Error(err)
					}
				case <-accepted:
					t.Errorf("%s: another user was let in from %q", place, from)
				case <-time.After(5 * time.Minute):
					t.Error("the connection was not seen")
				}
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
		case <-time.After(5 * time.Minute):
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
	var d net.Dialer
	if from := os.Getenv("RSP_TEST_FROM"); from != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(from)}
	}
	c, err := d.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Minute))
	if _, err := c.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Fatalf("not refused: %v", err)
	}
}

// sources are the addresses of this machine from which a program can connect to addr,
// "": the one that the system chooses.
func sources(t *testing.T, addr string) []string {
	t.Helper()
	list := []string{""}
	to, err := netip.ParseAddrPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		n, ok := a.(*net.IPNet)
		if ok && (n.IP.To4() != nil) == to.Addr().Is4() && !n.IP.IsLinkLocalUnicast() {
			list = append(list, n.IP.String())
		}
	}
	return list
}

// TestOwner: the kernel's description of a socket and its tables name the same user, and
// neither finds a connection that is closed or was never made.
func TestOwner(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "[::1]:0", ":0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Logf("%s: %v", at, err)
			continue
		}
		defer l.Close()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		host := "127.0.0.1"
		if strings.HasPrefix(at, "[") {
			host = "::1"
		}
		c, err := net.Dial("tcp", net.JoinHostPort(host, port))
		if err != nil {
			t.Fatal(err)
		}
		own, _ := loopback(c.LocalAddr())
		to, _ := loopback(c.RemoteAddr())
		if uid, err := ownerInTables(own, to); err != nil || uid != uint32(os.Geteuid()) {
			t.Errorf("%s: tables: user %d, %v", at, uid, err)
		}
		switch uid, ok, err := searchKernel(own, to); {
		case err == errNoDiag:
			t.Log(err)
			continue
		case err != nil || !ok || uid != uint32(os.Geteuid()):
			t.Errorf("%s: kernel: user %d, %v, %v", at, uid, ok, err)
		}
		other := netip.AddrPortFrom(own.Addr(), own.Port()^1)
		if uid, ok, err := searchKernel(other, to); ok {
			t.Errorf("%s: a connection that was never made: user %d, %v", at, uid, err)
		}
		_ = c.Close()
		if uid, err := ownerOf(own, to); err == nil {
			t.Errorf("%s: a closed connection: user %d", at, uid)
		}
	}
}

func FuzzParseDiag(f *testing.F) {
	f.Add(make([]byte, 16+72))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _, _ = parseDiag(b, netip.MustParseAddrPort("127.0.0.1:1"), netip.MustParseAddrPort("127.0.0.1:2"))
	})
}
