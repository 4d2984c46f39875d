package sandbox

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

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
			if r := w.trial(t, program); !r.Holds || r.Scratch || !strings.Contains(r.ScratchReason, c.want) {
				t.Errorf("%+v, want %q", r, c.want)
			}
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
