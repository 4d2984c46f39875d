package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestHostsOfAWorkspace: a workspace's configuration cannot define hosts, even if trusted: they are commands
// that run outside of any sandbox.
func TestHostsOfAWorkspace(t *testing.T) {
	s := prepare(t, nil)
	dir := filepath.Join(s.cmd.Dir, ".arbiter")
	testkit.OK(t, os.MkdirAll(dir, 0o700))
	for _, text := range []string{"hosts: {box: {command: [touch, ran]}}\n", "model: opus\npools: {all: [here]}\n"} {
		file := write(t, text, dir, "config.yaml")
		_, errs := s.output(2, "--json", "--no-input", "--trust", "--task", "Weave")
		testkit.Includes(t, "", errs, file, "a workspace cannot name hosts: move this to your own")
		out, _ := s.output(0, "hosts", "--json")
		testkit.Excludes(t, "the workspace's host is there", out, "box")
	}
}

// TestHostsAsked: --hosts accepts the hosts of the user's configuration, and an error lists them.
func TestHostsAsked(t *testing.T) {
	s := prepare(t, nil)
	file := write(t, "hosts: {box: {command: [ssh, box]}}\npools: {all: [box, here]}\n", t.TempDir(), "config.yaml")
	for line, want := range map[string]string{
		"--hosts mars": `--hosts "mars": there is no host or pool "mars": use one of box, all, here`,
		"--hosts box,": `a name is empty`,
		"--lease 1s":   "--lease 1s: must be between 5s and 1h0m0s",
		"--hosts box --rehearse": "--hosts and --rehearse exclude each other: a rehearsal's workspace is not a Git " +
			"repository",
	} {
		args := append(strings.Fields(line), "--json", "--no-input", "--task", "Weave", "--config", file)
		testkit.Includes(t, line, stderrOf(s.output(2, args...)), want)
	}
	for text, want := range map[string]string{
		"hosts: {box: {}}":      ":1: hosts.box: command is missing",
		"pools: {all: [mars]}":  `:1: pools.all[0]: there is no host "mars": use here`,
		"hosts: {here: {a: b}}": `"here" is this machine`,
	} {
		write(t, text, filepath.Dir(file), "config.yaml")
		testkit.Includes(t, text, stderrOf(s.output(2, "--json", "--no-input", "--task", "Weave", "--config", file)), want)
	}
}

// TestHostsCommand: hosts are added to and removed from the user's configuration, and the rest of it is kept.
func TestHostsCommand(t *testing.T) {
	s := prepare(t, nil)
	out, _ := s.output(0, "hosts")
	testkit.Includes(t, "", out, "here          this machine", "No other host is configured in")
	file := filepath.Join(s.cmd.Dir, ".config", "arbiter", "config.yaml")
	testkit.Includes(t, "", stderrOf(s.output(2, "hosts", "rm", "mars")), `there is no host "mars" in`)
	_, err := os.Stat(filepath.Dir(file))
	testkit.Check(t, os.IsNotExist(err), "a mistake made the directory of the configuration: %v", err)
	s.output(0, "hosts", "add", "box", "--", "ssh", "-p", "2222", "me@box")
	s.output(0, "hosts", "add", "n2", "--slots", "8", "--dir", "/scratch/me", "--pass-env", "TOKEN", "--", "srun", "-w",
		"n2")
	want := `hosts:
  box:
    command: [ssh, -p, "2222", me@box]
  n2:
    command: [srun, -w, n2]
    dir: /scratch/me
    slots: 8
    pass_env: [TOKEN]
`
	testkit.Same(t, file, want, textOf(t, file))
	write(t, "# mine\nmodel: opus # dear\n"+want+"pools: {all: [n2, here]}\n", filepath.Dir(file), filepath.Base(file))
	out, _ = s.output(0, "hosts", "ls")
	for _, line := range []string{"box           ssh -p 2222 me@box  (4 slots)",
		"n2            srun -w n2  (8 slots, in /scratch/me)", "all           a pool: n2, here"} {
		testkit.Includes(t, "the list", out, line+"\n")
	}
	report := besideJSON[host.HostsReport](s, "hosts")
	testkit.Check(t, len(report.Hosts) == 3 && report.File == file && report.Hosts[1].Pools[0] == "all" &&
		report.Hosts[2].Name == "here", "%+v", report)
	for line, want := range map[string]string{
		"rm n2":                         "the pool all names n2: take it out there first",
		"rm mars":                       `there is no host "mars" in`,
		"rm here":                       `"here" is this machine`,
		"rm":                            "give one host",
		"add box -- ssh box":            `there is a host or pool "box" already`,
		"add all -- ssh box":            `there is a host or pool "all" already`,
		"add here -- ssh box":           `"here" is this machine`,
		"add new ssh box":               "give a name and, after --, the command",
		"add new --":                    "give a name and, after --, the command",
		"add new --slots 0 -- ssh":      "0 slots: want at least 1",
		"add new --dir x -- ssh":        "neither an absolute path nor one below ~/",
		"add new --pass-env A=b -- ssh": "not the name of a variable",
	} {
		testkit.Includes(t, line, stderrOf(s.output(2, append([]string{"hosts"}, strings.Fields(line)...)...)), want)
	}
	output := s.beside("doctor", "--json", "--no-trial").out // claude may be missing
	testkit.Includes(t, "doctor", output, `"found":"configured, not looked at: box, n2","fix":"arbiter hosts check box"`)
	s.output(0, "hosts", "rm", "box")
	got := textOf(t, file)
	testkit.Check(t, !strings.Contains(got, "box") &&
		strings.HasPrefix(got, "# mine\nmodel: opus # dear\nhosts:\n  n2:"), "%v", got)
}

func textOf(t *testing.T, file string) string {
	t.Helper()
	return string(testkit.Must(os.ReadFile(file))(t))
}

// remoteTakeover is a run whose Orchestrator runs on a host over ssh, under another account.
type remoteTakeover struct {
	*twoTerminals
	ssh *testkit.SSH
}

// takeOverOnHost starts such a run with `--json`.
func takeOverOnHost(t *testing.T, who player, play string) *remoteTakeover {
	t.Helper()
	h := build(t, who, play)
	ssh, claude := testkit.NewSSH(t), ""
	if who.real {
		claude = who.args[len(who.args)-1]
		// In a terminal, the CLI asks its first-start questions unless its configuration answers them.
		raw := testkit.Must(os.ReadFile(filepath.Join(h.home, ".claude.json")))(t)
		write(t, string(raw), ssh.Home, ".claude.json")
		owner := testkit.Must(os.Stat(ssh.Home))(t)
		of := owner.Sys().(*syscall.Stat_t)
		testkit.OK(t, os.Chown(filepath.Join(ssh.Home, ".claude.json"), int(of.Uid), int(of.Gid)))
	}
	equip(t, ssh.Bin, claude)
	config := write(t, "hosts:\n"+hostNamed("box", "ssh, -F, "+ssh.Config+", far", "CLAUDE_CODE_SANDBOXED",
		"DISABLE_AUTOUPDATER"), t.TempDir(), "config.yaml")
	h.work = gittest.New(t, map[string]string{"old.txt": "old\n"}).Path
	h.args = []string{"--trust", "--claude", h.claude, "--config", config, "--hosts", "box", "--lease", "1h",
		"--permissions", "rules", "--allow", "Bash(*)", "--task", "Weave"}
	return &remoteTakeover{&twoTerminals{h.testHome, h.script(), h.model}, ssh}
}

// elsewhere returns the processes of the run on the host, except its bridge and the bridge's keeper.
func (w *remoteTakeover) elsewhere() []process {
	return processes(func(p process) bool {
		return strings.Contains(p.environment, "ARBITER_RUN="+w.run.run()) &&
			strings.Contains(p.environment, "ARBITER_BRIDGE=box\x00") &&
			!strings.Contains(p.command, "bridge\x00--remote")
	})
}

// TestAttachOnAHost: a person takes the session of an Orchestrator on another host into a terminal here, speaks with
// it, and gives it back; a second terminal is refused meanwhile. The Orchestrator knows what was said, and the Arbiter
// is notified.
func TestAttachOnAHost(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, who player) {
		w := takeOverOnHost(t, who, hand)
		w.takenAndGivenBack("Orchestrator I @box")
	})
}

// TestStopOnAHost: an Orchestrator on another host that ignores all signals can be stopped in the same ways as
// a local one, and no process of it stays alive there. The lease of an hour is too long to end anything in this
// test.
func TestStopOnAHost(t *testing.T) {
	ways := []struct {
		name string
		do   func(t *testing.T, w *remoteTakeover)
	}{
		{"halt and continue", func(t *testing.T, w *remoteTakeover) {
			w.beside("halt", contract.ExitComplete, "is halted. No agent is alive")
			testkit.Empty(t, "halted, and alive there", w.elsewhere())
			await[contract.Halted](w.run, "the halt", nil)
			w.release()
			w.run.send(contract.Continue{})
			w.run.completes()
		}},
		{"kill", func(t *testing.T, w *remoteTakeover) {
			w.run.send(contract.Kill{ID: "orch-1"})
			w.run.agentEnds("orch-1")
			testkit.Await(t, "the end of the agent there", func() bool { return len(w.elsewhere()) == 0 })
			w.run.cancels()
		}},
		{"halt of a stopped arbiter", func(t *testing.T, w *remoteTakeover) {
			w.run.mustSignal(syscall.SIGSTOP)
			awaitProcess(t, w.run.cmd.Process.Pid, "T")
			w.beside("halt", contract.ExitComplete, "Killed: ", "Agents on box end")
			testkit.Await(t, "the end of all on the host", func() bool { return len(survivors(w.run.run())) == 0 })
			w.run.mustSignal(syscall.SIGCONT)
			await[contract.Halted](w.run, "the halt", nil)
			w.run.cancels()
		}},
		{"halt without the link", func(t *testing.T, w *remoteTakeover) {
			w.ssh.Relay.Hole()
			w.beside("halt", contract.ExitFailed, "still alive: orch-1 @box")
			w.ssh.Relay.Restore()
			testkit.Await(t, "the end of the agent there", func() bool { return len(w.elsewhere()) == 0 })
			w.run.cancels()
		}},
	}
	for i, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			if i > 1 && !testkit.AtNight() {
				t.Skip("with ARBITER_LONG=1")
			}
			w := takeOverOnHost(t, players(t)[0], unresponsivePlay)
			testkit.Await(t, "the command there", func() bool { return len(w.far("begun")) == 1 })
			way.do(t, w)
			testkit.Await(t, "the end of all on the host", func() bool { return len(survivors(w.run.run())) == 0 })
		})
	}
}

// far finds a file in the directories of Orchestrators on the host.
func (w *remoteTakeover) far(name string) []string {
	found, _ := filepath.Glob(filepath.Join(w.ssh.Home, ".local/share/arbiter/hosts/*/orch-*", name))
	return found
}

// release lets the agent's command on the host end when it is run again.
func (w *remoteTakeover) release() {
	w.t.Helper()
	for _, file := range w.far("begun") {
		write(w.t, "", filepath.Dir(file), "go")
	}
}

// beside runs an arbiter command in another process, and returns what it writes to stdout and stderr.
func (w *remoteTakeover) beside(command string, code contract.Exit, parts ...string) {
	w.t.Helper()
	runIn(w.t, w.env, w.work, "", strings.Fields(command)...).ended(w.t, command, code, parts...)
}

// manyHands is a play in which n Orchestrators write a file each.
func manyHands(n int) string {
	var prompts []string
	var hands, reports []object
	for i := range n {
		prompts = append(prompts, fmt.Sprintf("Weave part %d;", i))
		hands = append(hands, orchestrator(fmt.Sprint("hand-", i), prompts[i], []object{
			writes(fmt.Sprintf("part-%d.txt", i), "woven\n"), done(fmt.Sprintf("Part %d is woven.", i))}))
		reports = append(reports, on("is woven", patience))
	}
	reports[n-1] = on("is woven", complete("The cloth is woven."))
	return playOf(append([]object{arbiter(append(summons(prompts...), reports...), patience)}, hands...)...)
}

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
			home, bin := besides(t, claude)
			return map[string]string{"box": inHome(home, bin)}
		}},
		{"ssh", "box", 4, func(t *testing.T, claude string) map[string]string {
			ssh := testkit.NewSSH(t)
			equip(t, ssh.Bin, claude)
			return map[string]string{"box": "ssh, -F, " + ssh.Config + ", far"}
		}},
		{"Slurm", "nodes", 2, func(t *testing.T, claude string) map[string]string {
			slurm := testkit.NewSlurm(t)
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
			home, bin := besides(t, claude)
			podman, name := testkit.NewPodman(t)
			words := append(podman, "exec", "-i", "-e", "HOME="+home, "-e", "'PATH="+bin+":/usr/local/bin:/usr/bin:/bin'", name)
			return map[string]string{"box": strings.Join(words, ", ") + "]\n    end: [" +
				strings.Join(append(podman, "kill", name), ", ")}
		}},
	}
}

// besides makes a home directory and one of programs, for a host on this machine. inHome is the command of such a host.
func besides(t *testing.T, claude string) (home, bin string) {
	t.Helper()
	dir := gittest.Temp(t)
	home, bin = filepath.Join(dir, "home"), filepath.Join(dir, "bin")
	testkit.OK(t, os.Mkdir(home, 0o700), os.Mkdir(bin, 0o700))
	equip(t, bin, claude)
	return home, bin
}

func inHome(home, bin string) string {
	return fmt.Sprintf("env, -i, HOME=%s, 'PATH=%s:/usr/local/bin:/usr/bin:/bin'", home, bin)
}

// hostNamed is a host in a configuration. It gets the variables with which the CLI asks a model, and more of them.
func hostNamed(name, command string, more ...string) string {
	more = append(more, "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC")
	return fmt.Sprintf("  %s:\n    command: [%s]\n    pass_env: [%s]\n", name, command, strings.Join(more, ", "))
}

// configuration writes a user configuration with the hosts, and a pool of all of them.
func (k hostKind) configuration(t *testing.T, claude string) string {
	t.Helper()
	commands := k.commands(t, claude)
	text := "hosts:\n"
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		text += hostNamed(name, commands[name]) + fmt.Sprintf("    slots: %d\n", k.slots)
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
			if k.name != "ssh" {
				testkit.Long(t) // the ways to start a bridge have tests of their own
			}
			for _, p := range players(t) {
				t.Run(p.name, func(t *testing.T) {
					p.long(t)
					playOnHosts(t, k, p)
				})
			}
		})
	}
}

func playOnHosts(t *testing.T, k hostKind, p player) {
	claude := p.path()
	config := k.configuration(t, claude)
	repo := gittest.New(t, map[string]string{"old.txt": "old\n", "shared.txt": "first\nlast\n"})
	meet, err := os.MkdirTemp("", "meet") // also used by agents of another account
	testkit.OK(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(meet) })
	testkit.OK(t, os.Chmod(meet, 0o777))
	s, model := hiredIn(t, p, fourHands(meet), repo.Path, "--config", config, "--hosts",
		k.chose,
		"--isolation", "worktree", "--lease", "30s", "--allow", "Bash", "--allow", "Write", "--allow", "Edit",
		"--accept", "test -f three.txt && test -f dir/four.txt", "--task", "Weave")
	s.completes()
	onScript(t, model)
	merged := testkit.Count(collect[contract.Merge](s), func(b contract.Merge) bool { return b.Status == "merged" })
	lived, stood := map[string]bool{}, map[string]string{}
	for _, b := range collect[contract.Spawn](s) {
		lived[b.Host] = true
	}
	for _, b := range collect[contract.Host](s) {
		stood[b.Name] += b.Status + " "
	}
	delete(lived, "") // the Arbiter
	testkit.Check(t, merged >= 4 && len(lived) == len(stood), "%d merges; agents lived on %v, hosts were %v", merged,
		lived, stood)
	for name, stands := range stood {
		testkit.Check(t, lived[name] && strings.HasPrefix(stands, "waiting up "), "host %s was %s", name, stands)
	}
	testkit.Check(t, k.chose != "nodes" || len(lived) == 2, "of two nodes with two slots each, %v were used", lived)
}

// onOneHost starts a run whose only host is box, by its command and further fields as YAML.
func onOneHost(t *testing.T, command, fields string, args ...string) *script {
	t.Helper()
	config := write(t, "hosts:\n"+hostNamed("box", command)+fields, t.TempDir(), "config.yaml")
	repo := gittest.New(t, map[string]string{"old.txt": "old\n"})
	s, _ := hiredIn(t, players(t)[0], oneHand, repo.Path, append([]string{"--config", config, "--hosts", "box",
		"--lease", "5s", "--allow", "Write", "--task", "Weave"}, args...)...)
	return s
}

// TestAConnectionThatHangs: a host that takes the connection and says nothing is reported after the limit, and its
// command is ended. A human who has mended it has it tried at once, and the run goes on there.
func TestAConnectionThatHangs(t *testing.T) {
	ssh := testkit.NewSSH(t)
	equip(t, ssh.Bin, "")
	ssh.Relay.Hole()
	s := onOneHost(t, strings.Join(ssh.Command, ", "), "    connect: 2s\n")
	lost := await(s, "the loss of the host", func(_ string, b contract.Host) bool { return b.Status == contract.HostLost })
	testkit.Includes(t, "", lost.Reason, "no answer within 2s")
	testkit.Await(t, "the end of the connection", func() bool { return len(withWords(ssh.Config)) == 0 })
	ssh.Relay.Restore()
	s.send(contract.Choose{Option: "retry host box"})
	s.finish(contract.ExitComplete)
}

// withWords returns the processes whose command line contains a text.
func withWords(text string) []process {
	return processes(func(p process) bool { return strings.Contains(p.command, text) })
}

// TestAKilledRunLeavesNoConnection: if arbiter is killed while a connection hangs, the host's command ends, too.
func TestAKilledRunLeavesNoConnection(t *testing.T) {
	onlyLinux(t)
	t.Parallel()
	silent := write(t, "", t.TempDir(), "silent")
	s := onOneHost(t, "sh, -c, 'exec tail -f "+silent+"'", "") // without the words that start a bridge
	testkit.Await(t, "the connection", func() bool { return len(withWords(silent)) > 0 })
	s.mustSignal(syscall.SIGKILL)
	testkit.Await(t, "the end of the connection", func() bool { return len(withWords(silent)) == 0 })
}

// TestNothingIsLeftOnAHost: when a run is complete, directories and branches on the host whose work was merged
// are removed, and the work is here.
func TestNothingIsLeftOnAHost(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	repo, s, home := leavesAHost(t, oneHand)
	s.completes()
	data := filepath.Join(home, ".local/share/arbiter/hosts")
	cache := filepath.Join(data, "cache", ".git")
	left, err := filepath.Glob(filepath.Join(data, "*", "orch-*"))
	testkit.Check(t, err == nil && len(left) == 0, "left on the host: %v, %v\n%s", left, err, s.stderr.String())
	testkit.Same(t, "left in the cache of the host", "", repo.Git("ls-remote", cache, "refs/*"))
	merged := repo.Git("for-each-ref", "--format=%(refname:short)", "refs/heads/arbiter/*/main")
	testkit.Same(t, "merged here", "one", repo.Git("show", merged+":one.txt"))
}

// leavesAHost starts a run with a host, and also returns the home directory there.
func leavesAHost(t *testing.T, play string) (repo gittest.Dir, s *script, home string) {
	t.Helper()
	home, bin := besides(t, "")
	config := write(t, "hosts:\n"+hostNamed("box", inHome(home, bin)), t.TempDir(), "config.yaml")
	repo = gittest.New(t, map[string]string{"old.txt": "old\n"})
	s, _ = hiredIn(t, players(t)[0], play, repo.Path, "--config", config, "--hosts", "box", "--isolation", "worktree",
		"--allow", "Write", "--allow", "Bash", "--task", "Weave")
	return repo, s, home
}

// leftHand is a play in which the Orchestrator is released before its work is done.
var leftHand = playOf(
	arbiter(append(summons("Weave part one"), on("Which thread", releases), complete("Without it.")),
		complete("Without it.")),
	orchestrator("one", "", []object{writes("one.txt", "one\n"), question("Which thread?")}))

// TestUnmergedWorkStaysOnAHost: the directory of an agent whose work was not merged stays and is named; its
// contents are on the agent's branch here.
func TestUnmergedWorkStaysOnAHost(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	repo, s, home := leavesAHost(t, leftHand)
	s.completes()
	branch := repo.Git("for-each-ref", "--format=%(refname:short)", "refs/heads/arbiter/*/orch-1.*")
	want := "the work of orch-1 was not merged: it is on branch " + branch
	output := s.stderr.String()
	testkit.Check(t, branch != "" && strings.Contains(output, want) && strings.Contains(output, "on host box"),
		"it does not say %q:\n%s", want, output)
	left, err := filepath.Glob(filepath.Join(home, ".local/share/arbiter/hosts/*/orch-1/one.txt"))
	testkit.Check(t, len(left) == 1, "on the host there are %v, %v", left, err)
	testkit.Same(t, "the branch here holds", "one", repo.Git("show", branch+":one.txt"))
}

// oneHand is a play in which one Orchestrator works on a host.
var oneHand = playOf(
	arbiter(append(summons("Weave part one"), on("part is woven", complete("The cloth is woven."))), patience),
	orchestrator("one", "Weave part one", []object{writes("one.txt", "one\n")},
		done("The part is woven.", check("test -f one.txt", "exit 0"))))

// TestTrustedSettingsOnAHost: hooks of the workspace run on a host if the workspace is trusted and its copy on
// the host has the same hooks. Only the real CLI runs hooks.
func TestTrustedSettingsOnAHost(t *testing.T) {
	for _, p := range players(t) {
		if !p.real {
			continue
		}
		p.long(t)
		for _, c := range []struct {
			name string
			args []string
			ran  bool
		}{{"trusted", []string{"--trust"}, true}, {"not trusted", nil, false}} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				mark := filepath.Join(t.TempDir(), "mark")
				settings := fmt.Sprintf(`{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"pwd >> %s"}]}]}}`,
					mark)
				repo := gittest.New(t, map[string]string{".claude/settings.json": settings})
				config := hostKinds()[0].configuration(t, p.args[len(p.args)-1])
				s, _ := hiredIn(t, p, oneHand, repo.Path, append([]string{"--config", config, "--hosts", "box",
					"--allow", "Write", "--allow", "Bash", "--task", "Weave"}, c.args...)...)
				s.completes()
				raw, _ := os.ReadFile(mark)
				ran := strings.Contains(string(raw), "/orch-1")
				testkit.Check(t, ran == c.ran, "the hook ran on the host: %v, in %q", ran, raw)
			})
		}
	}
}

// equip installs this arbiter for the second account, and a claude: the real one, or the stand-in if claude is
// empty.
func equip(t *testing.T, bin, claude string) {
	t.Helper()
	self := testkit.Must(exec.LookPath("arbiter"))(t)
	testkit.ShareProgram(t, bin, "arbiter", self)
	testkit.ShareProgram(t, bin, "fake-acp", testkit.Must(exec.LookPath("fake-acp"))(t))
	if claude != "" {
		testkit.ShareProgram(t, bin, "claude", claude)
		return
	}
	testkit.ShareProgram(t, bin, "stand-in", self)
	script := write(t, "#!/bin/sh\nexec "+filepath.Join(bin, "stand-in")+` "$@"`+"\n", bin, "claude")
	testkit.OK(t, os.Chmod(script, 0o755))
}

// checked runs `hosts check` and returns its findings by name.
func (s *script) checked(want int, args ...string) (host.LinkReport, map[string]host.Finding) {
	s.t.Helper()
	out, _ := s.output(want, append([]string{"hosts", "check", "--json"}, args...)...)
	r := decodedAs[host.LinkReport](s.t, out)
	found := map[string]host.Finding{}
	for _, f := range r.Findings {
		found[f.Name] = f
	}
	return r, found
}

// TestCheckHost: a check reports what it found, and for each problem what to do about it.
func TestCheckHost(t *testing.T) {
	ssh := testkit.NewSSH(t)
	equip(t, ssh.Bin, "")
	s := prepare(t, nil)
	s.output(0, append([]string{"hosts", "add", "box", "--"}, ssh.Command...)...)
	const generous = "--wait=1m" // another test measures the time
	r, found := s.checked(0, generous, "box")
	t.Logf("open %d ms, round trip %.2f ms", r.OpenMS, r.RoundTripMS)
	for name, want := range map[string]string{
		"host key": "known as far", "bridge": "a request takes", "arbiter": command.Version(), "git": "2.",
		"directory": ssh.Home, "login": "",
	} {
		if f, ok := found[name]; !ok || !strings.Contains(f.Found, want) || f.State == host.DoctorFail {
			t.Errorf("%s: %+v, want %q", name, f, want)
		}
	}
	f, warned := found["key agent"]
	testkit.Check(t, !warned, "%+v", f)
	testkit.Same(t, "left there", "none", ssh.Run("pgrep -u "+testkit.Account+" -f '[a]rbiter bridge' || echo none"))

	for what, c := range map[string]struct {
		change func()
		name   string
		found  string
		fix    string
		exit   int
	}{
		"a forwarded agent": {func() { ssh.Configure("ForwardAgent yes") }, "key agent", "ForwardAgent is on",
			"turn it off", 0},
		"any key": {func() { ssh.Configure("StrictHostKeyChecking no") }, "key check",
			"StrictHostKeyChecking is", "remove it", 0},
		"an unknown key": {func() { write(t, "", filepath.Dir(ssh.Known), filepath.Base(ssh.Known)) }, "host key",
			"no key of far is known", "compare the fingerprint", 1},
		"a refused login": {func() { ssh.Configure("IdentityFile /dev/null", "User nobody") }, "bridge",
			"host box: ", "try it in a terminal", 1},
		"nobody listens": {func() { ssh.Configure("Port 1") }, "bridge", "check that its server runs", "ssh -F", 1},
		"no claude": {func() {
			testkit.OK(t, os.Rename(filepath.Join(ssh.Bin, "claude"), filepath.Join(ssh.Bin, "away")))
		}, "bridge", `host box: cannot find the Claude CLI "claude": executable file not found in $PATH; run on the host: ` +
			"npm install -g @anthropic-ai/claude-code", "ssh -F", 1},
		"no arbiter": {func() {
			testkit.OK(t, os.Remove(filepath.Join(ssh.Bin, "arbiter")))
		}, "bridge", "install arbiter on the host", "ssh -F", 1},
	} {
		t.Run(what, func(t *testing.T) {
			known := textOf(t, ssh.Known)
			ssh.Configure()
			c.change()
			_, found := s.checked(c.exit, generous, "box")
			f := found[c.name]
			testkit.Check(t, strings.Contains(f.Found, c.found) && strings.Contains(f.Fix, c.fix) &&
				!strings.Contains(f.Found, "this machine"), "%+v", found)
			write(t, known, filepath.Dir(ssh.Known), filepath.Base(ssh.Known))
			if what == "no arbiter" {
				self := testkit.Must(exec.LookPath("arbiter"))(t)
				testkit.ShareProgram(t, ssh.Bin, "arbiter", self)
			} else if what == "no claude" {
				testkit.OK(t, os.Rename(filepath.Join(ssh.Bin, "away"), filepath.Join(ssh.Bin, "claude")))
			}
		})
	}
	t.Run("silence", func(t *testing.T) {
		ssh.Configure()
		ssh.Relay.Hole()
		defer ssh.Relay.Restore()
		_, found := s.checked(1, "--wait=1s", "box")
		f := found["bridge"]
		testkit.Check(t, strings.Contains(f.Found, "no answer within 1s") && strings.Contains(f.Fix, "--wait"), "%+v", found)
	})
	for line, want := range map[string]string{
		"check": "give one host", "check here": "arbiter doctor checks it", "check mars": `there is no host "mars" in`,
		"check --wait 0s box": "--wait 0s: must be greater than 0",
	} {
		testkit.Includes(t, line, stderrOf(s.output(2, append([]string{"hosts"}, strings.Fields(line)...)...)), want)
	}
}
