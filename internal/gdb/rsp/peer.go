package rsp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/user"
	"strconv"
	"strings"
)

// checkPeer refuses a connection over the loopback interface from another user's program, because the protocol
// gives access to memory and files with jalon's rights. Root may connect. One loopback end is sufficient: a
// program can bind its socket to another address of this machine before it connects to 127.0.0.1. Connections
// from other machines cannot be checked; they are accepted if the user chose to listen for them.
func checkPeer(c net.Conn) error {
	peer, ok1 := loopback(c.RemoteAddr())
	own, ok2 := loopback(c.LocalAddr())
	if !ok1 && !ok2 {
		return nil
	}
	uid, err := ownerOf(peer, own)
	if err != nil {
		return fmt.Errorf("a connection from %s was refused: %w", peer, err)
	}
	if us := uint32(os.Geteuid()); uid != 0 && uid != us {
		return fmt.Errorf("a connection from %s was refused: it is from user %s, and only user %s and root may connect; a unix socket (unix:PATH) keeps others away at once", peer, userName(uid), userName(us))
	}
	return nil
}

// loopback is the address of a TCP end; ok is false for one that is not on the loopback
// interface, or is no TCP address.
func loopback(a net.Addr) (netip.AddrPort, bool) {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}, false
	}
	ap := t.AddrPort()
	ap = netip.AddrPortFrom(ap.Addr().Unmap().WithZone(""), ap.Port())
	return ap, ap.Addr().IsLoopback()
}

// ownerOf finds the user of the end at local of an established TCP connection to remote,
// by the kernel's description of that socket, or in its tables of sockets.
func ownerOf(local, remote netip.AddrPort) (uid uint32, err error) {
	uid, ok, err := searchKernel(local, remote)
	if ok && err == nil {
		return uid, nil
	}
	if err == nil {
		return 0, errNoOwner
	}
	return ownerInTables(local, remote)
}

var errNoOwner = errors.New("its user is not known: the kernel has no such connection any more")

func ownerInTables(local, remote netip.AddrPort) (uid uint32, err error) {
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		f, e := os.Open(table)
		if e != nil {
			err = e // no IPv6: the other table decides
			continue
		}
		uid, ok := searchTable(f, local, remote)
		_ = f.Close()
		if ok {
			return uid, nil
		}
	}
	if err != nil {
		return 0, fmt.Errorf("its user is not known: %w", err)
	}
	return 0, errNoOwner
}

// established is TCP_ESTABLISHED of the kernel. A socket that its program has closed
// has another state, and no user.
const established = "01"

// searchTable reads lines "sl local remote state tx:rx tr:when retransmits uid timeout
// inode ..." of
// /proc/net/tcp (proc(5)).
func searchTable(r io.Reader, local, remote netip.AddrPort) (uid uint32, ok bool) {
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		f := strings.Fields(sc.Text())
		if len(f) < 10 || f[3] != established || f[9] == "0" {
			continue
		}
		l, ok1 := parseEnd(f[1])
		m, ok2 := parseEnd(f[2])
		if !ok1 || !ok2 || l != local || m != remote {
			continue
		}
		n, err := strconv.ParseUint(f[7], 10, 32)
		return uint32(n), err == nil
	}
	return 0, false
}

// parseEnd reads "0100007F:04D2": an address as 32-bit words in the machine's order, and
// a port. IPv4 addresses in IPv6 form become IPv4.
func parseEnd(s string) (netip.AddrPort, bool) {
	addr, port, ok := strings.Cut(s, ":")
	p, err := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil || len(addr) != 8 && len(addr) != 32 {
		return netip.AddrPort{}, false
	}
	b := make([]byte, 0, 16)
	for ; addr != ""; addr = addr[8:] {
		w, err := strconv.ParseUint(addr[:8], 16, 32)
		if err != nil {
			return netip.AddrPort{}, false
		}
		b = append(b, byte(w), byte(w>>8), byte(w>>16), byte(w>>24)) // little-endian machines
	}
	a, ok := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(a.Unmap(), uint16(p)), ok
}

// userName is a user's name, or number where there is none.
func userName(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}
