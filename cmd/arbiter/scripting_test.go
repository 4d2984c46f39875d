package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

var (
	scriptAndOutput = regexp.MustCompile("(?ms)^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?")
	rehearses       = strings.NewReplacer("--rehearse", "--stand-in", "--scenario", "--stand-in --scenario")
)

// TestScriptingExamples runs the examples of docs/scripting.md that use jq in a shell, in order, with the
// stand-in, and compares their output with the page.
func TestScriptingExamples(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("needs jq")
	}
	text := testkit.Must(os.ReadFile("../../docs/scripting.md"))(t)
	dir, run := t.TempDir(), 0
	for _, m := range scriptAndOutput.FindAllStringSubmatch(string(text), -1) {
		script, want := m[1], m[2]
		if !strings.Contains(script, "jq ") {
			continue
		}
		run++
		cmd := exec.Command("sh", "-e", "-c", rehearses.Replace(script))
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_STATE_HOME=" + filepath.Join(dir, "state")}
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil || string(out) != want {
			t.Errorf("%s%v: got\n%s\nwant\n%s\n%s", script, err, out, want, errs.String())
		}
	}
	if run < 6 {
		t.Errorf("%d examples were run", run)
	}
}
