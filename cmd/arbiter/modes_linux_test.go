package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestModesOfARun: even under a umask of 000, only the user can read what a run stores: files 0600, directories
// 0700, sockets 0600. Its agents inherit no files except their pipes and the run's lock.
func TestModesOfARun(t *testing.T) {
	t.Parallel()
	s := prepare(t, nil, "--stand-in", "--json", "--scenario", absolute(t, "testdata/scenarios/asks.yaml"), "--task",
		"Two files", "--debug")
	program := testkit.Must(exec.LookPath("arbiter"))(t)
	s.cmd.Args = append([]string{"sh", "-c", `umask 000; exec "$0" "$@"`, program}, s.cmd.Args[1:]...)
	s.cmd.Path = testkit.Must(exec.LookPath("sh"))(t)
	s.launch()
	state := filepath.Join(s.cmd.Dir, ".local", "state", "arbiter")
	for _, tool := range []string{"Bash", "Write"} {
		asked := await[contract.PermissionRequest](s, "a request", func(_ string, r contract.PermissionRequest) bool {
			return r.Tool == tool
		})
		oursAlone(t, state)
		agents := 0
		for pid := range survivors(s.run()) {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if !strings.Contains(string(line), host.StandInCommand) || !strings.Contains(string(line), "--input-format") {
				continue
			}
			agents++
			open, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
			for _, fd := range open {
				target, _ := os.Readlink(fd)
				if strings.HasPrefix(target, state) && !strings.Contains(filepath.Base(target), "lock") &&
					!strings.Contains(target, "/home/") {
					t.Errorf("agent %d has %s: %s", pid, fd, target)
				}
			}
		}
		if agents == 0 {
			t.Error("no agent was looked at")
		}
		s.send(contract.Permit{Request: asked.Request, Behavior: bridge.Deny, Action: asked.Action})
	}
	s.completes()
	oursAlone(t, state)
}

// oursAlone checks the modes of everything below a directory, except Claude's own home in a rehearsal.
func oursAlone(t *testing.T, dir string) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // it was removed meanwhile
		}
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return nil
		}
		n++
		if info.Mode()&fs.ModeSymlink == 0 && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		if e.IsDir() && e.Name() == "home" {
			return filepath.SkipDir
		}
		return nil
	})
	if err != nil || n < 5 {
		t.Errorf("%d files in %s: %v", n, dir, err)
	}
}
