package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
)

// TestHostsOfAWorkspace: a workspace's configuration cannot define hosts, even if trusted: they are commands
// that run outside of any sandbox.
func TestHostsOfAWorkspace(t *testing.T) {
	s := prepare(t, nil)
	dir := filepath.Join(s.cmd.Dir, ".arbiter")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"hosts: {box: {command: [touch, ran]}}\n", "model: opus\npools: {all: [here]}\n"} {
		file := write(t, text, dir, "config.yaml")
		_, errs := s.output(2, "--json", "--no-input", "--trust", "--task", "Weave")
		if !strings.Contains(errs, file) || !strings.Contains(errs, "a workspace cannot name hosts: move this to your own") {
			t.Error(errs)
		}
		out, _ := s.output(0, "hosts", "--json")
		if strings.Contains(out, "box") {
			t.Errorf("the workspace's host is there: %s", out)
		}
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
		if _, errs := s.output(2, args...); !strings.Contains(errs, want) {
			t.Errorf("%s: %s", line, errs)
		}
	}
	for text, want := range map[string]string{
		"hosts: {box: {}}":      ":1: hosts.box: command is missing",
		"pools: {all: [mars]}":  `:1: pools.all[0]: there is no host "mars": use here`,
		"hosts: {here: {a: b}}": `"here" is this machine`,
	} {
		write(t, text, filepath.Dir(file), "config.yaml")
		if _, errs := s.output(2, "--json", "--no-input", "--task", "Weave", "--config", file); !strings.Contains(errs,
			want) {
			t.Errorf("%s: %s", text, errs)
		}
	}
}

// TestHostsCommand: hosts are added to and removed from the user's configuration, and the rest of it is kept.
func TestHostsCommand(t *testing.T) {
	s := prepare(t, nil)
	out, _ := s.output(0, "hosts")
	if !strings.Contains(out, "here          this machine") || !strings.Contains(out, "No other host is configured in") {
		t.Error(out)
	}
	file := filepath.Join(s.cmd.Dir, ".config", "arbiter", "config.yaml")
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
	if got := textOf(t, file); got != want {
		t.Errorf("%s\nwant:\n%s", got, want)
	}
	write(t, "# mine\nmodel: opus # dear\n"+want+"pools: {all: [n2, here]}\n", filepath.Dir(file), filepath.Base(file))
	out, _ = s.output(0, "hosts", "ls")
	for _, line := range []string{"box           ssh -p 2222 me@box  (4 slots)",
		"n2            srun -w n2  (8 slots, in /scratch/me)", "all           a pool: n2, here"} {
		if !strings.Contains(out, line+"\n") {
			t.Errorf("%q is missing:\n%s", line, out)
		}
	}
	var report host.HostsReport
	out, _ = s.output(0, "hosts", "--json")
	if err := json.Unmarshal([]byte(out), &report); err != nil || len(report.Hosts) != 3 || report.File != file ||
		report.Hosts[1].Pools[0] != "all" || report.Hosts[2].Name != "here" {
		t.Errorf("%v %s", err, out)
	}
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
		if _, errs := s.output(2, append([]string{"hosts"}, strings.Fields(line)...)...); !strings.Contains(errs, want) {
			t.Errorf("%s: %s", line, errs)
		}
	}
	cmd := exec.Command("arbiter", "doctor", "--json", "--no-trial")
	cmd.Env, cmd.Dir = s.cmd.Env, s.cmd.Dir
	output, _ := cmd.Output() // claude may be missing
	if !strings.Contains(string(output), `"found":"configured, not looked at: box, n2","fix":"arbiter hosts check box"`) {
		t.Errorf("doctor: %s", output)
	}
	s.output(0, "hosts", "rm", "box")
	if got := textOf(t, file); strings.Contains(got, "box") ||
		!strings.HasPrefix(got, "# mine\nmodel: opus # dear\nhosts:\n  n2:") {
		t.Error(got)
	}
}

func textOf(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
