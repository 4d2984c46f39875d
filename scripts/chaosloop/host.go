package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// hostLease is the lease of a round's host. It is the shortest possible one, since each process waits for it.
const hostLease = "5s"

// hostsFile returns the path of the configuration with the round's host.
func (r *round) hostsFile() string { return filepath.Join(r.dir, "hosts.yaml") }

// prepareHost makes this machine a host: a command with its own home and search path. Processes there have the
// round's mark, so that they are found and killed like local ones.
func (r *round) prepareHost() error {
	far := filepath.Join(r.dir, "far")
	for _, d := range []string{"bin", "home", "tmp"} {
		if err := os.MkdirAll(filepath.Join(far, d), 0o700); err != nil {
			return err
		}
	}
	for name, program := range map[string]string{"arbiter": r.bin, "claude": r.player} {
		if err := os.Symlink(program, filepath.Join(far, "bin", name)); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("hosts:\n  box:\n    command: [env, -i, 'ARBITER_CHAOS=%[1]s', 'HOME=%[2]s/home', "+
		"'TMPDIR=%[2]s/tmp', 'PATH=%[2]s/bin:/usr/local/bin:/usr/bin:/bin']\n    pass_env: [ANTHROPIC_BASE_URL, "+
		"ANTHROPIC_API_KEY, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC, DISABLE_AUTOUPDATER]\n", r.dir, far)
	return os.WriteFile(r.hostsFile(), []byte(text), 0o600)
}
