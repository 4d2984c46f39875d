package sandbox

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
)

// verifyScratch runs a probe in a scratch copy, and returns why that does not hold.
func verifyScratch(ctx context.Context, cfg bridge.SandboxConfig, p Place) error {
	cmd := exec.Command(p.Self[0], p.Self[1:]...)
	cmd.Dir, cmd.Env = p.CWD, p.Env
	m, copies, err := scratchPlan(cmd, cfg)
	if err != nil {
		return err
	}
	alone := cfg
	alone.Network = bridge.NetworkNone // whatever agents reach, a copy reaches nothing
	b, err := newProbePlan(m, cmd, alone)
	if err != nil {
		return err
	}
	defer b.remove()
	b.inCopies(copies, cmd.Dir)
	output, err := run(ctx, cmd, func() (*proctree.Child, func(), error) {
		child, err := StartScratch(cmd, p.Mark, cfg)
		return child, func() {}, err
	}, b.task)
	if err != nil {
		return err
	}
	return b.verify(output, alone)
}

// inCopies has the probe write into each copy and into the workspace's repository: that must be possible, and must not
// be seen outside. A copy has no proxy.
func (b *probePlan) inCopies(copies []string, workspace string) {
	b.task.Proxy = ""
	b.mayWrite, b.mustWrite = append(b.mayWrite, b.mustWrite...), nil
	name := filepath.Base(b.task.Write[0])
	dirs := slices.Clone(copies)
	for _, dir := range []string{filepath.Join(workspace, ".git"), filepath.Join(workspace, ".git", "hooks")} {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		if path := filepath.Join(dir, name); !slices.Contains(b.task.Write, path) {
			b.mayWrite, b.task.Write = append(b.mayWrite, path), append(b.task.Write, path)
		}
	}
	b.task.Read = slices.DeleteFunc(b.task.Read, func(path string) bool { return under(path, "/proc") }) // it has its own
}
