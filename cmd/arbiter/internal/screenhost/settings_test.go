package screenhost

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/tui"
)

// settingsHost returns a host that was started with some flags, and the user's configuration file.
func settingsHost(t *testing.T, config string, args ...string) (h *Host, file string) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	t.Setenv("ARBITER_THEME", "light")
	t.Chdir(t.TempDir())
	file = filepath.Join(home, "config", "arbiter", "config.yaml")
	if config != "" {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var c settings.Choices
	err := asStarted(settings.Choices{Line: args}, "", func(ctx *cli.Context) (err error) {
		c, err = settings.ReadChoices(ctx)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return New(command.Env{}, c), file
}

func (h *Host) settingNow(t *testing.T, name string) tui.Setting {
	t.Helper()
	list, _, err := h.Settings(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("there is no setting %s", name)
	return tui.Setting{}
}

// TestSettingsAreListed: the settings are listed with their values and the places of these values.
func TestSettingsAreListed(t *testing.T) {
	h, file := settingsHost(t, "# mine\nmax-cost: 5 # enough\nallow: [\"Bash(git *)\"]\nenv: [KEY=secret]\n",
		"--model=opus", "--allow=Edit")
	for name, want := range map[string][2]string{
		"model": {"opus", "--model"}, "max-cost": {"5", file + ":2: max-cost"}, "theme": {"light", "$ARBITER_THEME"},
		"allow": {"[Edit]", "--allow"}, "permissions": {"ask", ""}, "env": {`["KEY=…"]`, file + ":4: env"},
		"debug": {"false", ""}, "quiet-after": {"5m0s", ""},
	} {
		if s := h.settingNow(t, name); s.Value != want[0] || s.Source != want[1] || s.About == "" || s.When == "" {
			t.Errorf("%s is reported as %+v, want %q", name, s, want)
		}
	}
}

// TestSettingsAreWritten: the file keeps its comments and order, and values that the program would refuse are not
// written.
func TestSettingsAreWritten(t *testing.T) {
	const before = "# mine\nmax-cost: 5 # enough\n\n# rules\nallow:\n  - Bash(git *)\n"
	h, file := settingsHost(t, before)
	set := func(name, value, problem string) {
		t.Helper()
		message, err := h.ChangeSetting(context.Background(), name, value)
		switch {
		case problem == "" && (err != nil || !strings.Contains(message, file)):
			t.Errorf("%s %s: %q, %v", name, value, message, err)
		case problem != "" && (err == nil || !strings.Contains(err.Error(), problem)):
			t.Errorf("%s %s: error %v, want %q", name, value, err, problem)
		}
	}
	holds := func(want string) {
		t.Helper()
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("the file holds %q, %v; want %q", got, err, want)
		}
	}
	for _, wrong := range [][3]string{
		{"max-cost", "much", "is not a number"}, {"permissions", "all", "not one of ask"}, {"task", "x", "no setting"},
		{"max-cost", "-1", "max-cost"}, {"permissions", "allow-all", "risk"}, {"allow", "[Bash(", "YAML"},
		{"quiet-after", "soon", "such as 90s"}, {"debug", "maybe", "true or false"}, {"env", `["KEY=…"]`, "in full"},
	} {
		set(wrong[0], wrong[1], wrong[2])
		holds(before)
	}
	set("max-cost", "7.5", "")
	holds("# mine\nmax-cost: 7.5 # enough\n\n# rules\nallow:\n  - Bash(git *)\n")
	set("allow", `["Bash(git *)", Edit]`, "")
	set("model", "claude: odd #name", "")
	holds("# mine\nmax-cost: 7.5 # enough\n\n# rules\nallow: [\"Bash(git *)\", Edit]\nmodel: \"claude: odd #name\"\n")
	if s := h.settingNow(t, "model"); s.Value != "claude: odd #name" || s.Source != file+":6: model" {
		t.Errorf("%+v", s)
	}
	set("max-cost", "", "")
	set("model", "", "")
	holds("# mine\n\n# rules\nallow: [\"Bash(git *)\", Edit]\n")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestSettingsFileIsMade: the configuration file is created if it does not exist.
func TestSettingsFileIsMade(t *testing.T) {
	h, file := settingsHost(t, "")
	if _, err := h.ChangeSetting(context.Background(), "theme", "dark"); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "theme: dark\n" {
		t.Errorf("%q, %v", got, err)
	}
}
