package sandbox

import (
	"crypto/rand"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
)

// probePlan is the setup of a probe: decoys and sockets in hidden directories, and the files that it must,
// may or must not write.
type probePlan struct {
	task         probeTask
	mustWrite    []string
	mustNotWrite []string
	mayWrite     []string // in private directories
	decoys       []string
	sockets      []net.Listener
}

// maxSocketName is how long the name of a unix socket may be.
const maxSocketName = len(syscall.RawSockaddrUnix{}.Path) - 1

// newProbePlan lays out a probe's task for the plan m of cmd.
func newProbePlan(m mounts, cmd *exec.Cmd, cfg bridge.SandboxConfig) *probePlan {
	b := &probePlan{task: probeTask{Nonce: rand.Text()}}
	name := ".arbiter-canary-" + b.task.Nonce[:8]
	file := func(dir string) string { return filepath.Join(dir, name) }
	for _, path := range m.paths(writable) {
		// The files are named by the paths under which the mounts are made. None is written inside of another writable
		// mount (a repository or the configuration), since files there have a meaning.
		if m[path].dir && m.above(path) != writable {
			b.mustWrite = append(b.mustWrite, file(path))
		}
	}
	for _, path := range m.paths(private) {
		b.mayWrite = append(b.mayWrite, file(path))
	}
	closed := []string{"/", "/etc", "/usr", "/var", "/proc/sys/kernel"}
	if home := proctree.EnvLookup(cmd.Env, "HOME"); home != "" {
		closed = append(closed, home)
	}
	for _, path := range m.paths(readOnly, guarded, hidden, secret) {
		if m[path].dir {
			closed = append(closed, path)
		}
	}
	for _, dir := range closed {
		if real, err := filepath.EvalSymlinks(dir); err == nil && m[real].view != writable &&
			m.above(filepath.Join(real, name)) != writable && m.above(filepath.Join(real, name)) != private {
			b.mustNotWrite = append(b.mustNotWrite, file(real))
		}
	}
	for _, path := range m.paths(hidden, secret) {
		if !b.shows(m, path) {
			b.task.Read = append(b.task.Read, path)
		}
	}
	if cfg.Isolated() {
		b.services()
	}
	for _, dir := range cfg.Hide {
		b.decoy(m, dir, file)
	}
	b.task.Write = slices.Concat(b.mustWrite, b.mustNotWrite, b.mayWrite)
	return b
}

// shows reports whether something is shown inside of an empty directory.
func (b *probePlan) shows(m mounts, dir string) bool {
	for path := range m {
		if path != dir && under(path, dir) {
			return true
		}
	}
	return false
}

// decoy puts a file and a socket into a directory that we can write and that is hidden inside.
func (b *probePlan) decoy(m mounts, dir string, file func(string) string) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || !m[real].dir {
		return
	}
	path := file(real) + ".decoy"
	if writeNew(path, b.task.Nonce) != nil {
		return // if we cannot write there, there is nothing to protect
	}
	b.decoys = append(b.decoys, path)
	b.task.Read = append(b.task.Read, path)
	if socket := file(real) + ".s"; len(socket) <= maxSocketName {
		if l, err := net.Listen("unix", socket); err == nil {
			b.sockets = append(b.sockets, l)
			b.task.Connect = append(b.task.Connect, socket)
		}
	}
}

// services opens an abstract socket and one of loopback, which must not be reachable from another network.
func (b *probePlan) services() {
	b.task.Proxy = proxyAddress
	for network, address := range map[string]string{"unix": "@arbiter-" + b.task.Nonce, "tcp": "127.0.0.1:0"} {
		if l, err := net.Listen(network, address); err == nil {
			b.sockets = append(b.sockets, l)
			b.task.Connect = append(b.task.Connect, l.Addr().String())
		}
	}
}

// remove deletes all files of the setup and of the probe.
func (b *probePlan) remove() {
	for _, l := range b.sockets {
		l.Close()
	}
	for _, path := range slices.Concat(b.decoys, b.task.Write) {
		_ = os.Remove(path) // most of them never existed
	}
}
