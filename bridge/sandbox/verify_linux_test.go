package sandbox

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestTrial(t *testing.T) {
	w := newWorld(t)
	put(t, filepath.Join(w.work, ".git", "config"), "[core]\nrepositoryformatversion = 0\n")
	put(t, filepath.Join(w.home, ".cache", "x"), "x")
	r := w.trial(t, w.cfg.Program)
	testkit.Check(t, r.Holds && r.Reason == "" && r.Version != "", "%+v", r)
	testkit.Same(t, "left behind", "", w.files(t))
	testkit.Overlays(t)
	testkit.Check(t, r.Scratch && r.ScratchReason == "", "%+v", r)
}

// TestFalseProbeReports: Verify detects sandboxes that do not do what they should, each by the action that it did not
// prevent.
func TestFalseProbeReports(t *testing.T) {
	ofRoot := []string{"it leaves capabilities", "it makes no user namespace", "it leaves the kernel open"}
	w := newWorld(t)
	real := w.cfg.Program
	// Each script gets bubblewrap's arguments.
	const says = `[ "$1" = --version ] && { echo bubblewrap 0.8.0; exit 0; }; [ "$1" = --help ] && exit` + "\n"
	const rest = `while [ "$1" != -- ]; do [ "$1" = --chdir ] && cd "$2"; shift; done; shift` + "\n"
	filter := func(rule string) string {
		return "#!/usr/bin/env bash\n" + says + `a=()
while [ $# -gt 0 ]; do
  if [ "$1" = -- ]; then break; fi
  ` + rule + `
  a+=("$1"); shift
done
exec ` + real + ` "${a[@]}" "$@"
`
	}
	for name, c := range map[string]struct{ script, want string }{
		"it is not there":       {"", "no such file"},
		"it cannot be run":      {"nothing to execute", "exec format error"},
		"it is another program": {"#!/bin/sh\necho sandbox-exec 1.0", "is not bubblewrap"},
		"it is too old":         {"#!/bin/sh\necho bubblewrap 0.1.8", "too old"},
		"it has no permission": {"#!/bin/sh\n" + says +
			"echo bwrap: No permissions to create new namespace >&2; exit 1", "No permissions"},
		"it does nothing":     {"#!/bin/sh\n" + says + "exit 0", "was not run"},
		"it says something":   {"#!/bin/sh\n" + says + `echo '{"nonce":"x"}'`, "was not run"},
		"it repeats the task": {"#!/bin/sh\n" + says + "cat", "was not run"},
		"it confines nothing": {"#!/bin/sh\n" + says + rest + `exec "$@"`, "no namespace of its own (mnt)"},
		"it makes but a namespace": {"#!/bin/sh\n" + says + rest + `exec ` + real +
			` --dev-bind / / --proc /proc --unshare-user --unshare-pid --unshare-net --unshare-ipc --cap-drop ALL -- "$@"`,
			"can be written to"},
		"it hides and lets write": {
			filter(`if [ "$1" = --ro-bind ]; then a+=(--bind "$2" "$3"); shift 3; continue; fi`), "can be written to"},
		"it hides nothing": {filter(`if [ "$1" = --tmpfs ] && [ "$2" = "` + w.state +
			`" ]; then shift 2; continue; fi; if [ "$1" = --remount-ro ] && [ "$2" = "` + w.state +
			`" ]; then shift 2; continue; fi`), "is readable inside"},
		"it hides one thing less": {filter(`if [ "$2" = "` + filepath.Join(w.home, ".ssh") +
			`" ]; then shift 2; continue; fi`), "is readable inside"},
		"it hides no file": {filter(`if [ "$3" = "` + filepath.Join(w.home, ".netrc") +
			`" ]; then shift 3; continue; fi`), "is readable inside"},
		"it does not seal": {filter(`if [ "$1" = --remount-ro ]; then shift 2; continue; fi`),
			"can be written to"},
		"it shares temporary files": {filter(`if [ "$1 $2" = "--tmpfs /var/tmp" ]; then a+=(--bind /var/tmp /var/tmp)
			shift 2; continue; fi`), "not private"},
		"it lets settings be written": {filter(`if [ "$1" = --ro-bind-try ] && [ "$2" = "` +
			filepath.Join(w.home, ".claude") + `" ]; then a+=(--bind "$2" "$3"); shift 3; continue; fi`),
			"can be written to"},
		"it confines the workspace": {filter(`if [ "$1" = --bind-try ] && [ "$2" = "` + w.work +
			`" ]; then a+=(--ro-bind "$2" "$3"); shift 3; continue; fi`), "cannot be written to"},
		"it gives another workspace": {filter(`if [ "$1" = --bind-try ] && [ "$2" = "` + w.work +
			`" ]; then a+=(--tmpfs "$2"); shift 3; continue; fi`), "cannot be written to"},
		"it makes no user namespace": {filter(`if [ "$1" = --unshare-user ]; then shift; continue; fi`), "own (user)"},
		"it makes no PID namespace":  {filter(`if [ "$1" = --unshare-pid ]; then shift; continue; fi`), "own (pid)"},
		"it shares the network":      {filter(`if [ "$1" = --unshare-net ]; then shift; continue; fi`), "own (net)"},
		"it shows all processes": {filter(`if [ "$1 $2" = "--proc /proc" ]; then a+=(--ro-bind /proc /proc); shift 2
			continue; fi; if [ "$1 $2" = "--remount-ro /proc" ]; then shift 2; continue; fi`), "seen by /proc"},
		"it leaves the kernel open": {filter(`if [ "$1 $2" = "--remount-ro /proc" ]; then shift 2; continue; fi`),
			"settings of the kernel"},
		"it leaves capabilities": {filter(`if [ "$1" = --cap-drop ]; then shift 2; continue; fi`), "capabilities"},
	} {
		t.Run(name, func(t *testing.T) {
			if slices.Contains(ofRoot, name) && os.Getuid() != 0 {
				t.Skip("an ordinary user has none to leave")
			}
			program := filepath.Join(t.TempDir(), "bwrap")
			if c.script != "" {
				put(t, program, c.script)
				testkit.OK(t, os.Chmod(program, 0o755))
			}
			r := w.trial(t, program)
			testkit.Check(t, !r.Holds && strings.Contains(r.Reason, c.want), "holds %v, reason %q, want %q", r.Holds,
				r.Reason, c.want)
			testkit.Same(t, "left behind", "", w.files(t))
		})
	}
}

// TestFalseScratch: the trial detects a copy from which something gets out, although the agents' sandbox holds.
func TestFalseScratch(t *testing.T) {
	testkit.Overlays(t)
	w := newWorld(t)
	put(t, filepath.Join(w.work, ".git", "config"), "[core]\nrepositoryformatversion = 0\n")
	put(t, filepath.Join(w.home, ".ssh", "id"), "PRIVATE")
	const begin = "#!/usr/bin/env bash\n" + `[[ " $* " == *" --unshare-all "* ]] || exec `
	for name, c := range map[string]struct{ rule, run, want string }{
		"it shares the network":   {`--unshare-all) a+=(--unshare-pid --unshare-ipc); shift;;`, "", "(net)"},
		"it shares the processes": {`--unshare-all) a+=(--unshare-net --unshare-ipc); shift;;`, "", "(pid)"},
		"it leaves capabilities":  {`--cap-drop) shift 2;;`, "", "capabilities"},
		"it shows the processes":  {`--proc) shift 2;;`, "", "processes outside"},
		"it shows secrets": {`--tmpfs|--remount-ro) [[ $2 = */.ssh ]] && shift 2 || { a+=("$1" "$2"); shift 2; };;`, "",
			"readable"},
		"it does not seal secrets": {`--remount-ro) shift 2;;`, "", "can be written to"},
		"it does nothing":          {"", "true ", "was not run"},
		"it works outside": {`--bind) case $2 in /dev/shm/*) a+=(--tmpfs "$3");; *) a+=("$1" "$2" "$3");; esac; shift 3;;`,
			"nsenter -m/proc/$PPID/ns/mnt ", "not private"},
	} {
		t.Run(name, func(t *testing.T) {
			if os.Getuid() != 0 && (c.want == "capabilities" || c.want == "not private") {
				t.Skip("only root can do that")
			}
			program := filepath.Join(t.TempDir(), "bwrap")
			put(t, program, begin+w.cfg.Program+` "$@"
a=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  case $1 in `+c.rule+`
  *) a+=("$1"); shift;;
  esac
done
exec `+c.run+w.cfg.Program+` "${a[@]}" "$@"
`)
			testkit.OK(t, os.Chmod(program, 0o755))
			r := w.trial(t, program)
			testkit.Check(t, r.Holds && !r.Scratch && strings.Contains(r.ScratchReason, c.want), "%+v, want %q", r, c.want)
			testkit.Same(t, "left behind", "", w.files(t))
		})
	}
}

// TestStuckScratch: a copy that is never made is given up, and nothing of it is left.
func TestStuckScratch(t *testing.T) {
	w := newWorld(t)
	before := scratchTimeout
	scratchTimeout = 200 * time.Millisecond
	defer func() { scratchTimeout = before }()
	cmd := exec.Command("/bin/true")
	cmd.Dir, cmd.Env = w.work, append(w.env, "STUCK=1")
	run := testkit.Run(t)
	child, err := StartScratch(cmd, proctree.Mark{Run: run}, w.cfg)
	if err == nil {
		_, _ = child.Kill(context.Background())
	}
	testkit.Fails(t, "a copy that is not made", err, "within 200ms")
	testkit.Same(t, "left running", 0, len(proctree.Survivors(run)))
}
