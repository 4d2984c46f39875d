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

// probePlan is the setup of a probe: its task, and decoys and sockets in hidden directories.
type probePlan struct {
	task    probeTask
	name    string // of the files that the probe writes
	decoys  []string
	sockets []net.Listener
}

// maxSocketName is how long the name of a unix socket may be.
const maxSocketName = len(syscall.RawSockaddrUnix{}.Path) - 1

// newProbePlan lays out a probe's task for the plan m of cmd.
func newProbePlan(m mounts, cmd *exec.Cmd, cfg bridge.SandboxConfig) *probePlan {
	b := &probePlan{task: probeTask{Nonce: rand.Text()}}
	b.name = ".arbiter-canary-" + b.task.Nonce[:8]
	for _, path := range m.paths(writable) {
		// The files are named by the paths under which the mounts are made. None is written inside of another writable
		// mount (a repository or the configuration), since files there have a meaning.
		if m[path].dir && m.above(path) != writable {
			b.add(write, filepath.Join(path, b.name), must)
		}
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
		if real, err := filepath.EvalSymlinks(dir); err == nil && m.at(real) != writable && m.at(real) != private {
			b.add(write, filepath.Join(real, b.name), mustNot)
		}
	}
	for _, path := range m.paths(private) {
		b.add(write, filepath.Join(path, b.name), unseen)
	}
	for _, path := range m.paths(hidden, secret) {
		if !b.shows(m, path) {
			b.add(read, path, mustNot)
		}
	}
	for _, dir := range cfg.Hide {
		b.decoy(m, dir)
	}
	if cfg.Isolated() {
		b.services()
	}
	return b
}

// add has the probe try something, once.
func (b *probePlan) add(does, path string, want want) {
	if !slices.ContainsFunc(b.task.Tries, func(a attempt) bool { return a.Does == does && a.Path == path }) {
		b.task.Tries = append(b.task.Tries, attempt{does, path, want})
	}
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
func (b *probePlan) decoy(m mounts, dir string) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || !m[real].dir {
		return
	}
	path := filepath.Join(real, b.name)
	if writeNew(path+".decoy", b.task.Nonce) != nil {
		return // if we cannot write there, there is nothing to protect
	}
	b.decoys = append(b.decoys, path+".decoy")
	b.add(read, path+".decoy", mustNot)
	if socket := path + ".s"; len(socket) <= maxSocketName {
		b.listen("unix", socket)
	}
}

// services opens an abstract socket and one of loopback, which must not be reachable from another network.
func (b *probePlan) services() {
	b.task.Proxy = proxyAddress
	b.listen("unix", "@arbiter-"+b.task.Nonce)
	b.listen("tcp", "127.0.0.1:0")
}

func (b *probePlan) listen(network, address string) {
	if l, err := net.Listen(network, address); err == nil {
		b.sockets = append(b.sockets, l)
		b.add(connect, l.Addr().String(), mustNot)
	}
}

// remove deletes all files of the setup and of the probe.
func (b *probePlan) remove() {
	for _, l := range b.sockets {
		l.Close()
	}
	for _, a := range b.task.Tries {
		if a.Does == write {
			b.decoys = append(b.decoys, a.Path)
		}
	}
	for _, path := range b.decoys {
		_ = os.Remove(path) // most of them never existed
	}
}
