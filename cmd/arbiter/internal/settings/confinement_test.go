package settings

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/internal/hosts"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// TestResumeSandbox: a run keeps what confined it, and one that began without a sandbox gets none, unless a setting
// is given again.
func TestResumeSandbox(t *testing.T) {
	now := confinement{Mode: sandboxAuto, Network: bridge.NetworkProxy}
	was := &bridge.SandboxConfig{Write: []string{"/w"}, Network: bridge.NetworkNone, Hosts: []string{"a.example"}}
	for name, c := range map[string]struct {
		old   runconfig.Options
		given []string
		want  confinement
	}{
		"confined": {runconfig.Options{Sandbox: was}, nil,
			confinement{Mode: SandboxOn, Write: was.Write, Network: bridge.NetworkNone, Hosts: was.Hosts}},
		"with new settings": {runconfig.Options{Sandbox: was},
			[]string{"network", "allow-host", "sandbox", "sandbox-write"}, now},
		"before there was a network": {runconfig.Options{Sandbox: &bridge.SandboxConfig{}}, nil,
			confinement{Mode: SandboxOn, Network: bridge.NetworkProxy}},
		"unconfined":          {runconfig.Options{}, nil, confinement{Mode: SandboxOff, Network: bridge.NetworkProxy}},
		"unconfined, but now": {runconfig.Options{}, []string{"sandbox"}, now},
		"it did not hold":     {runconfig.Options{SandboxReason: "why"}, nil, now},
	} {
		given := map[string]bool{}
		for _, flag := range c.given {
			given[flag] = true
		}
		choices := Choices{Sandbox: now, Given: given}
		choices.ResumeSandbox(c.old)
		testkit.Same(t, name, c.want, choices.Sandbox)
	}
}

// TestLinksOfTheSandbox: paths count as they are when the run begins: an agent may replace a link.
func TestLinksOfTheSandbox(t *testing.T) {
	dir := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	link := filepath.Join(dir, "link")
	testkit.OK(t, os.Symlink(filepath.Join(dir, "real"), link), os.Mkdir(filepath.Join(dir, "real"), 0o700))
	var got confinement
	app := &cli.App{Flags: Flags("sandbox", "sandbox-write", "sandbox-hide", "network", "allow-host"),
		Action: func(c *cli.Context) (err error) {
			got, err = readSandbox(c)
			return err
		}}
	testkit.OK(t, app.Run([]string{"arbiter", "--sandbox-write", link, "--sandbox-hide", link}))
	testkit.Same(t, "writes", []string{filepath.Join(dir, "real")}, got.Write)
	testkit.Same(t, "hides", []string{filepath.Join(dir, "real"), link}, got.Hide)
	work := filepath.Join(dir, "work")
	testkit.OK(t, os.MkdirAll(filepath.Join(work, "own"), 0o700), os.Symlink("../real", filepath.Join(work, "out")))
	t.Chdir(work)
	testkit.OK(t, app.Run([]string{"arbiter", "--sandbox-write", "own"}))
	testkit.Fails(t, "a link out of the workspace", app.Run([]string{"arbiter", "--sandbox-write", "out"}),
		"name what it leads to, "+filepath.Join(dir, "real"))
}

// TestHiddenLogin: agents are not confined by default if they could not log in then.
func TestHiddenLogin(t *testing.T) {
	for _, c := range []struct {
		env    map[string]string
		hidden string
	}{
		{nil, ""}, {map[string]string{"CLAUDE_CODE_USE_BEDROCK": "1"}, "Bedrock"},
		{map[string]string{"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_ACCESS_KEY_ID": "x"}, ""},
		{map[string]string{"CLAUDE_CODE_USE_VERTEX": "1"}, "Vertex"},
	} {
		got := Choices{Options: runconfig.Options{Env: c.env}}.hiddenLogin()
		testkit.Check(t, strings.Contains(got, c.hidden) && (got == "") == (c.hidden == ""), "%v: %q", c.env, got)
	}
}

func TestRootMayNotAllowAll(t *testing.T) {
	t.Setenv("IS_SANDBOX", "1")
	t.Setenv("CLAUDE_CODE_BUBBLEWRAP", "1")
	all := runconfig.Options{Permissions: "allow-all"}
	boxed, rehearsed := all, all
	boxed.Sandbox, rehearsed.Rehearsal = &bridge.SandboxConfig{}, true
	for name, tt := range map[string]struct {
		o       runconfig.Options
		uid     int
		refused bool
	}{
		"root":               {o: all, refused: true},
		"somebody else":      {o: all, uid: 1000},
		"root in a sandbox":  {o: boxed},
		"root in rehearsal":  {o: rehearsed},
		"root in other mode": {o: runconfig.Options{Permissions: "accept-edits"}},
	} {
		err := refuseUser(tt.o, tt.uid)
		testkit.Check(t, (err != nil) == tt.refused, "%s: %v", name, err)
		var e *command.Error
		if err != nil &&
			(!errors.As(err, &e) || e.Code != contract.ExitUsage || !strings.Contains(err.Error(), "--sandbox")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRootMayAllowAllInASandbox: a required sandbox counts before it was tried. An optional one does not.
func TestRootMayAllowAllInASandbox(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("anybody else may")
	}
	for mode, refused := range map[string]bool{SandboxOff: true, sandboxAuto: true, SandboxOn: false} {
		c := Choices{Options: runconfig.Options{Permissions: "allow-all"}, Sandbox: confinement{Mode: mode}}
		err := c.RefuseRoot()
		testkit.Check(t, (err != nil) == refused, "--sandbox %s: %v", mode, err)
	}
}

// TestSecretsOfTheEnvironment: the record of --env has the names of secrets but not the values. Processes get the
// values nevertheless, and a later process reports which ones it does not have.
func TestSecretsOfTheEnvironment(t *testing.T) {
	t.Parallel()
	given := map[string]string{"DEPLOY_TOKEN": "tapestry-of-4711-looms", "PLAIN": "x",
		"KEY_OF_A": "sk-ant-" + strings.Repeat("a1", 20)}
	kept := WithoutSecrets(given)
	if len(kept) != 3 || kept["PLAIN"] != "x" || !sanitize.IsMark(kept["DEPLOY_TOKEN"]) ||
		!sanitize.IsMark(kept["KEY_OF_A"]) || given["DEPLOY_TOKEN"] != "tapestry-of-4711-looms" {
		t.Errorf("kept %v of %v", kept, given)
	}
	if got := RevealedSecrets(kept, given); fmt.Sprint(got) != fmt.Sprint(given) {
		t.Errorf("processes get %v", got)
	}
	if got := RevealedSecrets(kept, nil); fmt.Sprint(got) != "map[PLAIN:x]" {
		t.Errorf("without them, processes get %v", got)
	}
	left, names := ForgottenSecrets(kept)
	testkit.Check(t, fmt.Sprint(left, names) == "map[PLAIN:x] [DEPLOY_TOKEN KEY_OF_A]", "later %v, %v", left, names)
	if left, names := ForgottenSecrets(map[string]string{"A": "b"}); len(left) != 1 || names != nil {
		t.Errorf("later %v, %v", left, names)
	}
	mask := SecretMasker([]map[string]string{given})
	if got := mask("it is " + "tapestry-of-4711-looms" + "."); got != "it is *redacted:22*." || mask(got) != got {
		t.Errorf("masked: %s", got)
	}
	const odd = "made\\up \"4711\"\n<looms>"
	mask = SecretMasker([]map[string]string{{"DEPLOY_TOKEN": odd}})
	for _, text := range []string{odd, string(testkit.Must(jsonl.Marshal("it is " + odd))(t)), strconv.Quote(odd)} {
		got := mask(text)
		testkit.Check(t, !strings.Contains(got, "4711") && !strings.Contains(got, "looms"), "%s is masked as %s", text, got)
	}
}

// TestPassedValuesAreMasked: the values of variables that are passed to a host are masked, whatever their names.
func TestPassedValuesAreMasked(t *testing.T) {
	t.Setenv("LOOM_PASS", "warp-and-weft-41")
	t.Setenv("LOOM_DIR", "/srv/looms/west")
	there := hosts.Config{Hosts: []hosts.Host{{Name: "box", PassEnv: []string{"LOOM_PASS", "LOOM_DIR"}}}}
	text := "the host said warp-and-weft-41 in /srv/looms/west"
	testkit.Same(t, "of a host that the run does not use", text, MaskerOf(runconfig.Options{}, there)(text))
	got := MaskerOf(runconfig.Options{Hosts: []runconfig.Host{{Name: "box"}}}, there)(text)
	testkit.Check(t, !strings.Contains(got, "warp-and-weft") && strings.Contains(got, "/srv/looms/west"),
		"masked: %q", got)
}

func TestUnknownVariables(t *testing.T) {
	environ := []string{"ARBITER_MODEL=x", "ARBITER_RUN=r", "ARBITER_TEST_PART=x", "ARBITER_EMPTY=", "HOME=/h",
		"ARBITER_MODLE=y", "ARBITER_MAXCOST=5", "ARBITER_=1", "ARBITERED=1"}
	got := UnknownVariables(environ)
	testkit.Check(t, slices.Equal(got, []string{"ARBITER_", "ARBITER_MAXCOST", "ARBITER_MODLE"}), "unknown: %q", got)
	for entry, want := range map[string]string{
		"ARBITER_MAXCOST=5":                "$ARBITER_MAXCOST: no setting has this name; did you mean ARBITER_MAX_COST?",
		"ARBITER_NOTHING_LIKE_A_SETTING=1": `no setting has this name; correct it, or unset it`,
		"ARBITER_BUDGETS=1":                "$ARBITER_BUDGETS: no setting",
		"ARBITER_MAX_COST=5":               "",
		"ARBITER_DENY=Bash(rm *)":          "$ARBITER_DENY: no setting has this name; give --deny, which has no variable",
		"ARBITER_ALLOW=Read":               "$ARBITER_ALLOW: no setting has this name; give --allow, which has no variable",
	} {
		err := CheckVariables([]string{entry})
		testkit.Check(t, (want != "" || err == nil) && (want == "" || err != nil && strings.Contains(err.Error(), want)),
			"%q: %v, want %q", entry, err, want)
	}
}
