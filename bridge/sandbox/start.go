package sandbox

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/egress"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
)

// EntryCommand is the hidden command with which arbiter begins a confined process: [Enter].
const EntryCommand = "enter"

// proxyAddress is where the proxy listens in each sandbox. The port is below those that the kernel gives out.
const proxyAddress = "127.0.0.1:27182"

// Gate says how a confined process reaches the network.
type Gate struct {
	Self string // the program that serves [EntryCommand]
	// Ask decides about a host that the configuration does not name, and Report tells of a refused one; see
	// [egress.Options]. Both may be nil.
	Ask    func(ctx context.Context, host string, port int) (allowed bool, why string)
	Report func(host string, port int, why string)
}

// Start wraps cmd and starts it; a nil cfg means no sandbox. With a gate, the process reaches the hosts of the
// configuration through a proxy; release ends that, and is called when the process has ended.
func Start(cmd *exec.Cmd, mark proctree.Mark, cfg *bridge.SandboxConfig, gate *Gate) (
	child *proctree.Child, release func(), err error) {
	release = func() {}
	switch {
	case cfg == nil:
		child, err = proctree.Start(cmd, mark)
	case gate == nil || !cfg.Isolated():
		given := len(cmd.ExtraFiles)
		if err = Wrap(cmd, cfg); err == nil {
			child, err = startTied(cmd, mark, given)
		}
	default:
		return startOnline(cmd, mark, *cfg, *gate)
	}
	return child, release, err
}

// startTied starts a wrapped command that the kernel kills when this process ends, and closes all but the first given
// of its files.
func startTied(cmd *exec.Cmd, mark proctree.Mark, given int) (*proctree.Child, error) {
	defer closeAll(cmd.ExtraFiles[given:])
	cmd.Args = slices.Insert(cmd.Args, 1, "--die-with-parent")
	return proctree.StartMonitored(cmd, mark)
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// startOnline starts cmd with a proxy. The entry program makes the proxy's listeners inside and sends them here.
func startOnline(cmd *exec.Cmd, mark proctree.Mark, cfg bridge.SandboxConfig, gate Gate) (
	*proctree.Child, func(), error) {
	o, err := optionsOf(cmd.Env, cfg, gate)
	if err != nil {
		return nil, nil, fmt.Errorf("sandbox: %w", err)
	}
	if gate.Self == "" {
		return nil, nil, fmt.Errorf("sandbox: no program is known that begins a confined process")
	}
	pair, err := proctree.SocketPair()
	if err != nil {
		return nil, nil, fmt.Errorf("sandbox: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "listeners"), os.NewFile(uintptr(pair[1]), "listeners")
	defer theirs.Close() // where nothing is started
	conn, err := net.FileConn(ours)
	ours.Close()
	if err != nil {
		return nil, nil, fmt.Errorf("sandbox: %w", err)
	}
	addresses := append([]string{proxyAddress}, o.Rules.Forwards()...)
	given := len(cmd.ExtraFiles)
	first := append([]string{gate.Self, EntryCommand, strconv.Itoa(3 + given)}, addresses...)
	cmd.ExtraFiles = append(cmd.ExtraFiles, theirs)
	cmd.Env = proxied(cmd.Env)
	var child *proctree.Child
	if err = wrap(cmd, cfg, append(first, "--")); err == nil {
		child, err = startTied(cmd, mark, given)
	}
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	proxy := egress.New(o)
	var serving sync.WaitGroup
	serving.Go(func() {
		defer conn.Close()
		listeners := receive(conn.(*net.UnixConn), len(addresses))
		for i, l := range listeners {
			if i == 0 {
				serving.Go(func() { proxy.Serve(l) })
				continue
			}
			serving.Go(func() { proxy.Forward(l, addresses[i]) })
		}
	})
	return child, func() {
		conn.Close()
		proxy.Close()
		serving.Wait()
	}, nil
}

// optionsOf returns where the proxy of a process with an environment leads.
func optionsOf(environ []string, cfg bridge.SandboxConfig, gate Gate) (o egress.Options, err error) {
	env := func(name string) string { return proctree.EnvLookup(environ, name) }
	o = egress.Options{Rules: egress.APIHosts(env), Report: gate.Report}
	if o.Upstream, err = egress.UpstreamOf(env); err != nil {
		return o, err
	}
	if cfg.Network == bridge.NetworkNone {
		return o, nil
	}
	o.Ask = gate.Ask
	for _, text := range cfg.Hosts {
		r, err := egress.ParseRule(text)
		if err != nil {
			return o, err
		}
		o.Rules = append(o.Rules, r)
	}
	return o, nil
}

// proxied returns an environment in which programs use the proxy, except for services in the same sandbox.
func proxied(env []string) []string {
	env = direct(env)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		env = append(env, name+"=http://"+proxyAddress, strings.ToLower(name)+"=http://"+proxyAddress)
	}
	const local = "localhost,127.0.0.1,::1"
	return append(env, "NO_PROXY="+local, "no_proxy="+local, "NODE_USE_ENV_PROXY=1")
}

// receive returns the listeners that an entry sent; none if it sent other things, or ended. It waits for as long as the
// process runs: on a machine that swaps, or slept, an entry can need minutes.
func receive(conn *net.UnixConn, n int) (list []net.Listener) {
	rights := make([]byte, unix.CmsgSpace(4*n))
	_, got, _, _, err := conn.ReadMsgUnix(make([]byte, 1), rights)
	if err != nil {
		return nil
	}
	messages, err := unix.ParseSocketControlMessage(rights[:got])
	if err != nil {
		return nil
	}
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			continue
		}
		for _, fd := range fds {
			f := os.NewFile(uintptr(fd), "listener")
			l, err := net.FileListener(f)
			f.Close()
			if err == nil {
				list = append(list, l)
			}
		}
	}
	if len(list) != n {
		for _, l := range list {
			l.Close()
		}
		return nil
	}
	return list
}

// Enter runs inside of a sandbox, before its process: it listens at addresses, sends the listeners through a
// descriptor, and becomes the process. args are DESCRIPTOR ADDRESS… -- PROGRAM ARGUMENT…. It returns only if it
// fails.
func Enter(args []string) error {
	end := slices.Index(args, "--")
	if end < 1 || end+1 == len(args) {
		return fmt.Errorf("%s: use DESCRIPTOR ADDRESS… -- PROGRAM ARGUMENT…", EntryCommand)
	}
	fd, err := strconv.Atoi(args[0])
	if err != nil {
		return fmt.Errorf("%s: %w", EntryCommand, err)
	}
	var fds []int
	for _, address := range args[1:end] {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return fmt.Errorf("the sandbox's own network: %w", err)
		}
		f, err := l.(*net.TCPListener).File()
		if err != nil {
			return fmt.Errorf("the sandbox's own network: %w", err)
		}
		defer f.Close() // it is open until it was sent
		fds = append(fds, int(f.Fd()))
	}
	if err := unix.Sendmsg(fd, []byte{0}, unix.UnixRights(fds...), nil, 0); err != nil {
		return fmt.Errorf("the sandbox's own network: %w", err)
	}
	unix.Close(fd)
	path := args[end+1]
	if err := syscall.Exec(path, args[end+1:], os.Environ()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
