package rsp

import (
	"encoding/binary"
	"errors"
	"net/netip"

	"golang.org/x/sys/unix"
)

// What sock_diag(7) defines, and x/sys/unix does not.
const (
	sockDiagByFamily = 20
	diagRequestSize  = 56 // struct inet_diag_req_v2
	diagMessageSize  = 72 // struct inet_diag_msg
	tcpEstablished   = 1
)

// errNoDiag: this kernel does not answer (no tcp_diag module). The tables of /proc do.
var errNoDiag = errors.New("the kernel does not describe single sockets")

// diagnosed is what the kernel says of a socket.
type diagnosed struct {
	state      uint8
	uid, inode uint32
}

// searchKernel queries the kernel for the user of one established TCP socket. Its time does not depend on the
// number of sockets. A search of /proc/net/tcp takes longer with each connection that another user opens, and a
// flood of them would make GDB wait. The connection's other end is jalon's. If the kernel does not find even
// that one, it describes no sockets at all (errNoDiag).
func searchKernel(local, remote netip.AddrPort) (uid uint32, ok bool, err error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return 0, false, errNoDiag
	}
	defer unix.Close(fd)
	d, found, err := diagnose(fd, local, remote)
	if err != nil {
		return 0, false, err
	}
	if !found {
		if _, found, err = diagnose(fd, remote, local); err == nil && !found {
			err = errNoDiag
		}
		return 0, false, err
	}
	// A socket without an inode has been closed by its program, and has no user.
	return d.uid, d.state == tcpEstablished && d.inode != 0, nil
}

// diagnose queries the socket between these two ends. The kernel replies within the call that sends the
// request.
func diagnose(fd int, local, remote netip.AddrPort) (d diagnosed, found bool, err error) {
	if unix.Sendto(fd, diagRequest(local, remote), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}) != nil {
		return d, false, errNoDiag
	}
	b := make([]byte, 4096)
	n, from, err := unix.Recvfrom(fd, b, unix.MSG_DONTWAIT)
	if nl, ok := from.(*unix.SockaddrNetlink); err != nil || !ok || nl.Pid != 0 {
		return d, false, errNoDiag
	}
	return parseDiag(b[:n], local, remote)
}

// diagRequest is a netlink message with a struct inet_diag_req_v2.
func diagRequest(local, remote netip.AddrPort) []byte {
	b := make([]byte, unix.SizeofNlMsghdr+diagRequestSize)
	le := binary.LittleEndian
	le.PutUint32(b, uint32(len(b)))
	le.PutUint16(b[4:], sockDiagByFamily)
	le.PutUint16(b[6:], unix.NLM_F_REQUEST)
	r := b[unix.SizeofNlMsghdr:]
	r[0], r[1] = unix.AF_INET6, unix.IPPROTO_TCP
	if local.Addr().Is4() {
		r[0] = unix.AF_INET
	}
	le.PutUint32(r[4:], ^uint32(0)) // in any state
	putSocketID(r[8:], local, remote)
	le.PutUint64(r[48:], ^uint64(0)) // INET_DIAG_NOCOOKIE
	return b
}

// putSocketID writes the ports and addresses of a struct inet_diag_sockid.
func putSocketID(b []byte, local, remote netip.AddrPort) {
	binary.BigEndian.PutUint16(b, local.Port())
	binary.BigEndian.PutUint16(b[2:], remote.Port())
	copy(b[4:20], local.Addr().AsSlice())
	copy(b[20:36], remote.Addr().AsSlice())
}

// parseDiag reads the kernel's answer: a struct inet_diag_msg, or an error. A kernel
// that finds no connection describes a socket that listens at the address.
func parseDiag(b []byte, local, remote netip.AddrPort) (d diagnosed, found bool, err error) {
	le := binary.LittleEndian
	if len(b) < unix.SizeofNlMsghdr+4 {
		return d, false, errNoDiag
	}
	kind, m := le.Uint16(b[4:]), b[unix.SizeofNlMsghdr:]
	if kind == unix.NLMSG_ERROR && unix.Errno(-int32(le.Uint32(m))) == unix.ENOENT {
		return d, false, nil
	}
	if kind != sockDiagByFamily || len(m) < diagMessageSize {
		return d, false, errNoDiag
	}
	from, to := diagEnd(m[4:], m[8:24], m[0]), diagEnd(m[6:], m[24:40], m[0])
	if from != local || to != remote {
		return d, false, nil
	}
	return diagnosed{state: m[1], uid: le.Uint32(m[64:]), inode: le.Uint32(m[68:])}, true, nil
}

// diagEnd reads one end of a struct inet_diag_sockid of an address family.
func diagEnd(port, addr []byte, family uint8) netip.AddrPort {
	if family == unix.AF_INET {
		addr = addr[:4]
	}
	a, _ := netip.AddrFromSlice(addr)
	return netip.AddrPortFrom(a.Unmap(), binary.BigEndian.Uint16(port))
}
