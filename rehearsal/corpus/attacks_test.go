package corpus

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestAttacksAreReal: an attack does in bash what the list says, or nothing if it is marked harmless. A
// list of lines that do nothing would test no rule.
func TestAttacksAreReal(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash on PATH")
	}
	if out, err := exec.Command(bash, "-c", "echo $((BASH_VERSINFO[0]*10+BASH_VERSINFO[1]))").Output(); err != nil ||
		string(out) < "52" {
		t.Skipf("the list is of bash 5.2 (%s, %v)", out, err)
	}
	groups := Attacks(t, "../..")
	for i, g := range groups {
		if i%9 != 0 && !testkit.AtNight() {
			continue // the list and bash seldom change
		}
		t.Run(fmt.Sprintf("%d row %d", i, g.Row), func(t *testing.T) {
			t.Parallel()
			place := NewAttackPlace(t, t.TempDir(), g)
			for _, a := range g.Attacks {
				if line := a.Line + a.Check; line != "" && a.Possible() && !triedBefore(groups[:i], a) {
					attack(t, bash, place.copy(t), a)
				}
			}
		})
	}
}

// triedBefore reports whether the same line was tried under other rules, which bash does not know.
func triedBefore(groups []AttackGroup, a Attack) bool {
	return slices.ContainsFunc(groups, func(g AttackGroup) bool {
		return slices.ContainsFunc(g.Attacks, func(b Attack) bool {
			return a.Line == b.Line && a.Check == b.Check && a.CWD == b.CWD
		})
	})
}

// copy makes a second place with the same content.
func (p AttackPlace) copy(t *testing.T) AttackPlace {
	t.Helper()
	dir := t.TempDir()
	testkit.OK(t, os.CopyFS(dir, os.DirFS(filepath.Dir(p.Work))))
	return AttackPlace{Work: filepath.Join(dir, "work"), Home: filepath.Join(dir, "home")}
}

func attack(t *testing.T, bash string, p AttackPlace, a Attack) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	// As the CLI runs it.
	cmd := exec.CommandContext(ctx, bash, "-c", `shopt -u extglob; shopt -s expand_aliases; eval "$ATTACK" </dev/null`)
	cmd.Dir = filepath.Join(p.Work, a.CWD)
	cmd.Env = []string{"ATTACK=" + a.Line + a.Check, "PATH=" + os.Getenv("PATH"), "HOME=" + p.Home,
		"GIT_CONFIG_NOSYSTEM=1"}
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if harm := p.Harm(a, string(out)); (harm == "") != a.Harmless {
		t.Errorf("%q: harm %q, harmless: %v\n%v\n%s", a.Line+a.Check, harm, a.Harmless, err, out)
	}
}

// TestDailyLines: the list can be read, and has enough lines of both kinds to compare with.
func TestDailyLines(t *testing.T) {
	t.Parallel()
	asks := 0
	lines := DailyLines(t, "../..").Lines
	for _, l := range lines {
		if l.Asks {
			asks++
		}
	}
	testkit.Check(t, asks >= 100 && len(lines)-asks >= 100, "%d of %d are asked for", asks, len(lines))
}

// TestNestedLine: the lines are valid for bash, and most of them run what is in them.
func TestNestedLine(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash on PATH")
	}
	random, dir := rand.New(rand.NewPCG(7, 11)), t.TempDir()
	made, all := 0, 200
	for range all {
		line := NestedLine(random, "touch p")
		cmd := exec.Command(bash, "-c", line)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH")}
		if out, err := cmd.CombinedOutput(); err != nil {
			if out, err := exec.Command(bash, "-n", "-c", line).CombinedOutput(); err != nil {
				t.Errorf("%q is not valid: %s", line, out)
			}
			t.Logf("%q: %s", line, out)
		}
		if os.Remove(filepath.Join(dir, "p")) == nil {
			made++
		}
	}
	testkit.Check(t, made >= all*6/10, "%d of %d lines had the effect", made, all)
	t.Logf("%d of %d lines had the effect", made, all)
}
