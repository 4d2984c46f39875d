package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
		"it lets settings be written": {filter(`if [ "$1" = --ro-bind ] && [ "$2" = "` +
			filepath.Join(w.home, ".claude") + `" ]; then a+=(--bind "$2" "$3"); shift 3; continue; fi`),
			"can be written to"},
		"it confines the workspace": {filter(`if [ "$1" = --bind ] && [ "$2" = "` + w.work +
			`" ]; then a+=(--ro-bind "$2" "$3"); shift 3; continue; fi`), "cannot be written to"},
		"it gives another workspace": {filter(`if [ "$1" = --bind ] && [ "$2" = "` + w.work +
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
