package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/hosts/hosttest"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// onOneHost starts a run whose only host is box, by its command and further fields as YAML.
func onOneHost(t *testing.T, command, fields string, args ...string) *script {
	t.Helper()
	config := write(t, fmt.Sprintf("hosts:\n  box:\n    command: [%s]\n    pass_env: [ANTHROPIC_BASE_URL, "+
		"ANTHROPIC_API_KEY, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC]\n%s", command, fields), t.TempDir(), "config.yaml")
	repo := gittest.New(t, map[string]string{"old.txt": "old\n"})
	s, _ := hiredIn(t, players(t)[0], oneHand, repo.Path, append([]string{"--config", config, "--hosts", "box",
		"--lease", "5s", "--allow", "Write", "--task", "Weave"}, args...)...)
	return s
}

// TestAConnectionThatHangs: a host that takes the connection and says nothing is reported after the limit, and its
// command is ended. A human who has mended it has it tried at once, and the run goes on there.
func TestAConnectionThatHangs(t *testing.T) {
	ssh := hosttest.NewSSH(t)
	equip(t, ssh.Bin, "")
	ssh.Relay.Hole()
	s := onOneHost(t, strings.Join(ssh.Command, ", "), "    connect: 2s\n")
	lost := await(s, "the loss of the host", func(_ string, b contract.Host) bool { return b.Status == contract.HostLost })
	if !strings.Contains(lost.Reason, "no answer within 2s") {
		t.Errorf("%+v", lost)
	}
	hosttest.Await(t, "the end of the connection", func() bool { return len(withWords(ssh.Config)) == 0 })
	ssh.Relay.Restore()
	s.send(contract.Choose{Option: "retry host box"})
	s.finish(contract.ExitComplete)
}

// withWords returns the processes whose command line contains a text.
func withWords(text string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		var pid int
		line, _ := os.ReadFile(file) // it may have ended
		if _, err := fmt.Sscanf(file, "/proc/%d/", &pid); err == nil && strings.Contains(string(line), text) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestAKilledRunLeavesNoConnection: if arbiter is killed while a connection hangs, the host's command ends, too.
func TestAKilledRunLeavesNoConnection(t *testing.T) {
	onlyLinux(t)
	t.Parallel()
	h := newLinkedHost(t, "")
	h.relay.Hole()
	s := onOneHost(t, "far-link, '"+h.relay.Addr()+"'", "")
	hosttest.Await(t, "the connection", func() bool { return len(withWords(h.relay.Addr())) > 0 })
	s.mustSignal(syscall.SIGKILL)
	hosttest.Await(t, "the end of the connection", func() bool { return len(withWords(h.relay.Addr())) == 0 })
}
