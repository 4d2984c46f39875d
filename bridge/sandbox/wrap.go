package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
)

// dropped are variables that refer to hidden paths.
var dropped = []string{"SSH_AUTH_SOCK", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST"}

// Wrap changes cmd to run inside a sandbox: its path, arguments and environment become those of bubblewrap,
// and it gets a session of its own, so that it has no terminal to type into. A nil cfg leaves cmd
// unchanged. The caller sets Dir and Env before. It starts cmd itself, or has [Start] do both. The only network
// inside is a loopback interface, unless cfg says otherwise. Who starts cmd then closes what was added to
// cmd.ExtraFiles. Errors say what cannot be confined.
func Wrap(cmd *exec.Cmd, cfg *bridge.SandboxConfig) error {
	if cfg == nil {
		return nil
	}
	return wrap(cmd, *cfg, nil)
}

// wrap is Wrap for a command that runs after another program inside, which replaces itself with it.
func wrap(cmd *exec.Cmd, cfg bridge.SandboxConfig, first []string) error {
	m, err := plan(cmd, cfg)
	if err == nil && len(first) > 0 {
		err = m.program(first[0])
	}
	if err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	cwd, err := filepath.EvalSymlinks(cmd.Dir)
	if err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	// No capability of root is kept. The user namespace also prevents root from bypassing the mounts
	// through /proc/PID/root of processes outside; bubblewrap's monitor has no capabilities either
	// (observed with bubblewrap 0.8.0).
	// A new /proc lets root change the kernel's settings, unless it is read-only.
	args := []string{cfg.Program, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc",
		"--unshare-user", "--unshare-ipc", "--unshare-pid", "--cap-drop", "ALL"}
	if cfg.Isolated() {
		args = append(args, "--unshare-net")
	}
	filter, err := filterFile()
	if err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	own := len(cmd.ExtraFiles)
	args = append(args, "--seccomp", strconv.Itoa(3+own))
	cmd.ExtraFiles = append(cmd.ExtraFiles, filter)
	var hold func(string) (string, error)
	if holds(cfg.Program) {
		hold = func(path string) (string, error) {
			f, err := held(path)
			if err != nil {
				return "", err
			}
			cmd.ExtraFiles = append(cmd.ExtraFiles, f)
			return strconv.Itoa(2 + len(cmd.ExtraFiles)), nil
		}
	}
	views, err := m.args(hold)
	if err != nil {
		closeAll(cmd.ExtraFiles[own:])
		return fmt.Errorf("sandbox: %w", err)
	}
	args = append(args, views...)
	args = append(args, "--chdir", cwd, "--")
	args = append(append(args, first...), cmd.Path)
	cmd.Args = append(args, cmd.Args[1:]...)
	cmd.Path = cfg.Program
	cmd.Env = proctree.EnvWithout(cmd.Env, dropped...)
	cmd.Env = append(cmd.Env, m.caches(cmd.Env)...)
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
	return nil
}

// plan returns how cmd sees all paths.
func plan(cmd *exec.Cmd, cfg bridge.SandboxConfig) (mounts, error) {
	if cmd.Dir == "" || cmd.Env == nil {
		return nil, errors.New("no directory or no environment given")
	}
	env := func(name string) string { return proctree.EnvLookup(cmd.Env, name) }
	config := proctree.ConfigDir(cmd.Env, cmd.Dir)
	home := env("HOME")
	if !filepath.IsAbs(home) || config == "" {
		return nil, errors.New("no home directory is known: set HOME")
	}
	m, closed := mounts{}, hiddenBy(home, env)
	own := writable
	if cfg.ReadOnly {
		own = guarded
	}
	err := cmp.Or(
		m.addAll("", closed, hidden, false),
		m.addAll("", temporary(env), private, false),
		m.addAll("", cfg.Hide, secret, false),
		m.add(home, readOnly, false),
		m.addAll("", cfg.Write, writable, true),
		m.add(cmd.Dir, own, true),
		m.addAll("", cfg.Reach, shown, false),
		m.configuration(config),
		m.add(filepath.Join(home, ".claude.json"), guarded, false))
	for _, dir := range append(slices.Clone(cfg.Write), cmd.Dir) {
		if err == nil {
			err = cmp.Or(m.repository(dir, own), m.addAll(dir, unattended, planted, false))
		}
	}
	if err == nil {
		err = cmp.Or(
			m.named(cmd.Dir, cfg.Write),
			m.addAll("", cfg.Read, guarded, false),
			m.program(cmd.Path),
			m.hideSockets(home))
	}
	if err != nil {
		return nil, err
	}
	if shell := env("CLAUDE_CODE_SHELL_PREFIX"); filepath.IsAbs(shell) {
		// Guarded, because hooks of sessions outside run through it, too.
		if err := errors.Join(m.program(shell), m.add(shell, guarded, true)); err != nil {
			return nil, fmt.Errorf("the shell prefix: %w", err)
		}
	}
	m.pin()
	return m, m.sane(cmd.Dir, home, closed, cfg)
}

// program shows the program itself if the directory that contains it is empty.
func (m mounts) program(path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	for _, p := range []string{path, real} {
		if v := m.above(p); v == hidden || v == private || v == secret {
			if err := m.add(p, readOnly, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// sane returns an error if the mounts would not confine, or would leave no place to work.
func (m mounts) sane(workspace, home string, closed []string, cfg bridge.SandboxConfig) error {
	real, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return err
	}
	for _, dir := range homes(home) {
		if dir, err := filepath.EvalSymlinks(dir); err == nil && under(dir, real) {
			return fmt.Errorf("the workspace %s has the home directory %s in it, whose start-up files run by "+
				"themselves: choose a directory below it", workspace, dir)
		}
	}
	isReal := func(path string) bool {
		path, err := filepath.EvalSymlinks(path)
		return err == nil && path == real
	}
	reached := slices.ContainsFunc(cfg.Reach, isReal)
	if v := m.above(real); (v == hidden || v == secret) && !reached || slices.ContainsFunc(closed, isReal) {
		return fmt.Errorf("the workspace %s is in a directory that is hidden from agents", workspace)
	}
	if v := m[real].view; v != writable && !(v == shown && reached) && !(v == guarded && cfg.ReadOnly) {
		return fmt.Errorf("the workspace %s is to be hidden", workspace)
	}
	tool, err := filepath.EvalSymlinks(cfg.Program)
	if err != nil {
		return err
	}
	for _, path := range m.paths(writable, shown) {
		if under(tool, path) {
			return fmt.Errorf("%s is in %s, where agents can write: it cannot be trusted", cfg.Program, path)
		}
	}
	return nil
}
