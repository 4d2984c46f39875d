package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/internal/hosts/hosttest"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// hostKind is a kind of host that a run is played on.
type hostKind struct {
	name  string
	chose string // value of --hosts
	slots int    // of each host
	// commands starts the hosts, with arbiter and claude on them, and returns the command that reaches each, by
	// name.
	commands func(t *testing.T, claude string) map[string]string
}

// hostKinds are a local command with its own home and search path, an sshd with another account, two nodes of a
// Slurm cluster, and with ARBITER_LONG=1 a container of podman.
func hostKinds() []hostKind {
	return []hostKind{
		{"a command", "box", 4, func(t *testing.T, claude string) map[string]string {
			dir := gittest.Temp(t)
			bin, home := filepath.Join(dir, "bin"), filepath.Join(dir, "home")
			for _, d := range []string{bin, home} {
				if err := os.MkdirAll(d, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			equip(t, bin, claude)
			return map[string]string{"box": fmt.Sprintf("env, -i, HOME=%s, 'PATH=%s:/usr/local/bin:/usr/bin:/bin'", home, bin)}
		}},
		{"ssh", "box", 4, func(t *testing.T, claude string) map[string]string {
			ssh := hosttest.NewSSH(t)
			equip(t, ssh.Bin, claude)
			return map[string]string{"box": "ssh, -F, " + ssh.Config + ", far"}
		}},
		{"Slurm", "nodes", 2, func(t *testing.T, claude string) map[string]string {
			slurm := hosttest.NewSlurm(t)
			all := map[string]string{}
			for _, node := range []string{"n1", "n2"} {
				dir := gittest.Temp(t)
				equip(t, dir, claude)
				words := append(slurm.Command(node), "env", "HOME="+dir, "'PATH="+dir+":/usr/local/bin:/usr/bin:/bin'")
				all[node] = strings.Join(words, ", ")
			}
			return all
		}},
		{"podman", "box", 4, func(t *testing.T, claude string) map[string]string {
			testkit.Long(t)
			dir := gittest.Temp(t)
			bin, home := filepath.Join(dir, "bin"), filepath.Join(dir, "home")
			for _, d := range []string{bin, home} {
				if err := os.MkdirAll(d, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			equip(t, bin, claude)
			podman, name := hosttest.NewPodman(t)
			words := append(podman, "exec", "-i", "-e", "HOME="+home, "-e", "'PATH="+bin+":/usr/local/bin:/usr/bin:/bin'", name)
			return map[string]string{"box": strings.Join(words, ", ") + "]\n    end: [" +
				strings.Join(append(podman, "kill", name), ", ")}
		}},
	}
}

// configuration writes a user configuration with the hosts, and a pool of all of them.
func (k hostKind) configuration(t *testing.T, claude string) string {
	t.Helper()
	commands := k.commands(t, claude)
	text := "hosts:\n"
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		text += fmt.Sprintf("  %s:\n    command: [%s]\n    slots: %d\n    pass_env: [ANTHROPIC_BASE_URL, "+
			"ANTHROPIC_API_KEY, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC]\n", name, commands[name], k.slots)
	}
	text += "pools: {nodes: [" + strings.Join(slices.Sorted(maps.Keys(commands)), ", ") + "]}\n"
	return write(t, text, t.TempDir(), "config.yaml")
}

// TestOrchestratorsOnHosts: four Orchestrators work on other hosts; two of them change the same line. Arbiter
// brings their work back and merges it here, returns a conflict to its author, and the run ends as it does
// without hosts. With ARBITER_LONG=1 each kind of host is also played with the real CLI.
func TestOrchestratorsOnHosts(t *testing.T) {
	for _, k := range hostKinds() {
		t.Run(k.name, func(t *testing.T) {
			for _, p := range players(t) {
				t.Run(p.name, func(t *testing.T) {
					p.long(t) // TestScenariosOnAHost covers the real CLI on a host
					playOnHosts(t, k, p)
				})
			}
		})
	}
}

func playOnHosts(t *testing.T, k hostKind, p player) {
	claude := ""
	if p.real {
		claude = p.args[len(p.args)-1]
	}
	config := k.configuration(t, claude)
	repo := gittest.New(t, map[string]string{"old.txt": "old\n", "shared.txt": "first\nlast\n"})
	meet, err := os.MkdirTemp("", "meet") // also used by agents of another account
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(meet) })
	if err := os.Chmod(meet, 0o777); err != nil {
		t.Fatal(err)
	}
	s, model := hiredIn(t, p, strings.ReplaceAll(fourHands, "MEET", meet), repo.Path, "--config", config, "--hosts",
		k.chose,
		"--isolation", "worktree", "--lease", "30s", "--allow", "Bash", "--allow", "Write", "--allow", "Edit",
		"--accept", "test -f three.txt && test -f dir/four.txt", "--task", "Weave")
	await[contract.Result](s, "the result", nil)
	s.finish(contract.ExitComplete)
	if list := model.Problems(); len(list) > 0 {
		t.Errorf("the play left its script: %v\n%s", list, s.dump())
	}
	merged := 0
	for _, b := range collect[contract.Merge](s) {
		if b.Status == "merged" {
			merged++
		}
	}
	lived, stood := map[string]bool{}, map[string]string{}
	for _, b := range collect[contract.Spawn](s) {
		lived[b.Host] = true
	}
	for _, b := range collect[contract.Host](s) {
		stood[b.Name] += b.Status + " "
	}
	delete(lived, "") // the Arbiter
	if merged < 4 || len(lived) != len(stood) {
		t.Errorf("%d merges; agents lived on %v, hosts were %v\n%s", merged, lived, stood, s.dump())
	}
	for name, stands := range stood {
		if !lived[name] || !strings.HasPrefix(stands, "waiting up ") {
			t.Errorf("host %s was %s\n%s", name, stands, s.dump())
		}
	}
	if k.chose == "nodes" && len(lived) != 2 {
		t.Errorf("of two nodes with two slots each, %v were used", lived)
	}
}
