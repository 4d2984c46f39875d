package sandbox

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// families are the kinds of sockets that a network namespace confines. Others reach beyond: AF_VSOCK leads to the
// machine on which this virtual machine runs.
var families = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

// ring is the call that begins io_uring, on each processor.
const ring = 425

// abi is a set of system calls of a kind of processor: those that make a socket of a family, and those that could do
// so with parameters that a filter cannot read (socketcall, io_uring).
type abi struct {
	arch         uint32
	socket, deny []uint32
}

var abis = map[string][]abi{
	"amd64": {{unix.AUDIT_ARCH_X86_64, []uint32{41, 41 | 1<<30, 53, 53 | 1<<30}, []uint32{ring, ring | 1<<30}},
		{unix.AUDIT_ARCH_I386, []uint32{359, 360}, []uint32{102, ring}}},
	"arm64": {{unix.AUDIT_ARCH_AARCH64, []uint32{198, 199}, []uint32{ring}},
		{unix.AUDIT_ARCH_ARM, []uint32{281, 288}, []uint32{102, ring}}},
}

// socketFilter returns a filter of system calls, as bubblewrap reads it, that keeps programs from making sockets of
// other families.
func socketFilter() ([]byte, error) {
	known := abis[runtime.GOARCH]
	if known == nil {
		return nil, fmt.Errorf("the sockets of %s are not known", runtime.GOARCH)
	}
	const number, arch, family = 0, 4, 16 // of seccomp_data
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	jump := func(is uint32, yes, no int) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: is, Jt: uint8(yes), Jf: uint8(no)}
	}
	allow := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
	deny := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}
	program := []unix.SockFilter{load(arch)}
	for _, a := range known {
		var block []unix.SockFilter // from its end: jumps lead forward
		block = append(block, deny, allow)
		for i, f := range slices.Backward(families) {
			block = slices.Insert(block, 0, jump(f, len(families)-i, 0))
		}
		block = slices.Insert(block, 0, allow, load(family))
		end := len(families) + 2 // where deny is, from the instruction after allow
		for _, n := range a.deny {
			block = slices.Insert(block, 0, jump(n, end, 0))
			end++
		}
		for i, n := range a.socket {
			block = slices.Insert(block, 0, jump(n, 1+len(a.deny)+i, 0))
		}
		block = slices.Insert(block, 0, load(number))
		program = append(append(program, jump(a.arch, 0, len(block))), block...)
	}
	program = append(program, deny)
	return binary.Append(nil, binary.NativeEndian, program)
}
