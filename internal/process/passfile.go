package process

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// MapFile maps size bytes of one of jalon's files into the process, for reading and writing, and returns their address. The process need not
// be able to open the file. The kernel copies no descriptor into another process, so it goes through a socket:
//
//  1. The process makes a pair of sockets. jalon copies the descriptor of the first (pidfd_getfd), and checks that it is a socket whose other
//     end is the process's: a process that shares its descriptors can put another file there.
//  2. jalon sends the file's descriptor by it (SCM_RIGHTS). A security module may drop it.
//  3. The process receives it from the second, maps the file, and closes all three.
//
// What the process has mapped in the end is for the caller to check, by the contents.
func (s *Stopped) MapFile(fd int, size uint64) (addr uint64, err error) {
	const op = "map memory of the kernel into the process"
	scratch, err := s.scratch()
	if err != nil {
		return 0, s.wrap(op, err)
	}
	pair, err := socketPair(s, scratch)
	if err != nil {
		return 0, s.wrap(op, err)
	}
	calls := []Call{SystemCall(unix.SYS_CLOSE, uint64(pair[0])), SystemCall(unix.SYS_CLOSE, uint64(pair[1]))}
	there, err := passFile(s, scratch, pair, fd)
	if err == nil {
		calls = append(calls, SystemCall(unix.SYS_MMAP, s.sp.Place(size), size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED, uint64(there), 0),
			SystemCall(unix.SYS_CLOSE, uint64(there)))
	}
	results, cerr := s.Syscalls(calls)
	if err == nil {
		err = cerr
	}
	if err == nil {
		mapped := results[2]
		addr, err = mapped.Value, mapped.Err
	}
	return addr, s.wrap(op, err)
}

// socketPair makes a pair of sockets in the process.
func socketPair(s *Stopped, scratch uint64) (pair [2]int32, err error) {
	if _, err := s.Syscall(unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0, scratch); err != nil {
		return pair, fmt.Errorf("socketpair: %w", err)
	}
	var b [8]byte
	if err := s.sp.Read(scratch, b[:]); err != nil {
		return pair, err
	}
	return [2]int32{int32(binary.LittleEndian.Uint32(b[:])), int32(binary.LittleEndian.Uint32(b[4:]))}, nil
}

// passFile sends a descriptor of jalon's to the process, and returns its number there.
func passFile(s *Stopped, scratch uint64, pair [2]int32, fd int) (there int32, err error) {
	sock, err := copyDescriptor(s.Pid(), s.p.injector.Borrowed(), int(pair[0]))
	if err != nil {
		return 0, err
	}
	defer unix.Close(sock)
	if err := ownSocket(s, sock); err != nil {
		return 0, fmt.Errorf("descriptor %d of the process is not the socket that jalon created there: %w", pair[0], err)
	}
	if err := unix.Sendmsg(sock, []byte{0}, unix.UnixRights(fd), nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL); err != nil {
		return 0, fmt.Errorf("sendmsg: %w", err)
	}
	m := messageAt(scratch)
	if err := s.sp.Write(scratch, m); err != nil {
		return 0, err
	}
	if _, err := s.Syscall(unix.SYS_RECVMSG, uint64(pair[1]), scratch, unix.MSG_CMSG_CLOEXEC|unix.MSG_DONTWAIT); err != nil {
		return 0, fmt.Errorf("recvmsg: %w", err)
	}
	if err := s.sp.Read(scratch, m); err != nil {
		return 0, err
	}
	list, err := unix.ParseSocketControlMessage(m[messageControl:])
	if err != nil || len(list) != 1 {
		return 0, errors.New("the process was not given the descriptor: a security module refuses it, or the process has too many files open")
	}
	fds, err := unix.ParseUnixRights(&list[0])
	if err != nil || len(fds) != 1 {
		return 0, errors.New("the process was not given the descriptor")
	}
	return int32(fds[0]), nil
}

// Where the parts of a message are, from its struct msghdr on.
const (
	messageVector  = 64 // struct iovec
	messageData    = messageVector + 16
	messageControl = messageData + 16
	controlSize    = 24 // of a descriptor
)

// messageAt is an empty message at an address, with room for a descriptor.
func messageAt(addr uint64) []byte {
	b := make([]byte, messageControl+controlSize)
	put := func(off int, v uint64) { binary.LittleEndian.PutUint64(b[off:], v) }
	put(16, addr+messageVector) // msg_iov
	put(24, 1)
	put(32, addr+messageControl) // msg_control
	put(40, controlSize)
	put(messageVector, addr+messageData)
	put(messageVector+8, 1)
	return b
}

// ownSocket reports why a descriptor is not one of a pair of sockets that the process has made.
func ownSocket(s *Stopped, fd int) error {
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return err
	}
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return err
	}
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return err
	}
	if domain != unix.AF_UNIX || kind != unix.SOCK_SEQPACKET || int(peer.Pid) != s.Pid() {
		return errors.New("another process that shares its descriptors changed it")
	}
	return nil
}
