package settings

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/internal/hosts"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// Choices has the settings from the command line, the environment and the configuration files.
type Choices struct {
	Options  runconfig.Options
	Policy   policy.Policy `json:"-"` // derived from the options
	Claude   string
	JSON     bool
	Plain    bool
	Detach   bool // no frontend: the run continues on its own
	Screen   ScreenSettings
	Rehearse bool
	Scenario string
	StandIn  bool
	NoInput  bool
	Resume   bool
	OrBegin  bool   // resume the latest run of the directory, or start one
	Session  string // id of the run to resume, or a prefix of it; empty: the latest
	Share    bool   // another run may work in the same directory
	Place    string // the directory that the run belongs to
	PIDNS    proctree.Mode
	Trusting TrustState      // of Place; a rehearsal's workspace is always trusted
	Given    map[string]bool `json:"-"` // settings named on the command line or in the environment
	StateDir string
	Sandbox  confinement
	Hosts    hosts.Config // connections to the user's configured hosts
	Notice   string       // problems of agent files, and unused settings
	Unused   string       // unused parts of the configuration, for Notice
	Debug    bool
	Journal  int64    // how many bytes a resume of the run may read
	Images   []string // paths of image files that go with the task
	Line     []string `json:"-"` // flags of the command line, for the page of settings
}

// ReadSettings checks everything that can be checked before a run starts.
func ReadSettings(c *cli.Context) (Choices, error) {
	if err := CheckVariables(os.Environ()); err != nil {
		return Choices{}, err
	}
	s, err := ReadChoices(c)
	if err != nil {
		return s, err
	}
	if !s.Resume { // a resumed run has its own
		if err := s.RefuseRoot(s.Rehearse); err != nil {
			return s, err
		}
		if err := s.ReadInstructions(); err != nil {
			return s, err
		}
	}
	s.Options.Task, err = readTask(c)
	s.NoInput = s.NoInput || c.String("task") == taskFromStdin && !s.Detach // stdin was read to its end
	if err == nil && s.Options.Task == "" && s.NoInput && !s.Resume {
		err = command.Usagef("there is no task: with --no-input, give --task or a requirements file")
	}
	return s, err
}

// ReadChoices reads the settings that all commands with a bridge share.
func ReadChoices(c *cli.Context) (s Choices, err error) {
	cwd, err := command.Workspace(c)
	if err != nil {
		return s, err
	}
	set, given := setFlags(c), map[string]bool{}
	for _, x := range Table {
		given[x.Name] = set[x.Name]
	}
	t, err := TrustOf(c, cwd)
	if err != nil {
		return s, err
	}
	line := givenFlags(c)
	from, err := ApplyConfig(c, cwd, t.Trusted)
	if err != nil {
		return s, err
	}
	defer func() { err = from.placed(err) }()
	if err := errors.Join(t.Unchanged(cwd), checkChoices(c)); err != nil {
		return s, err
	}
	s = Choices{
		Claude: c.String("claude"), JSON: c.Bool("json"), Plain: c.Bool("plain"),
		Detach:   c.Bool("detach"),
		Rehearse: c.Bool("rehearse") || c.String("scenario") != "" || c.Bool("stand-in"),
		Scenario: c.String("scenario"), StandIn: c.Bool("stand-in"),
		NoInput: c.Bool("no-input"), Debug: c.Bool("debug"),
		Journal: int64(c.Int("max-journal")) << 20,
		Resume:  c.Bool("resume") || c.String("session") != "", Session: c.String("session"),
		OrBegin: c.Bool("resume-or-begin"), Share: c.Bool("share-workspace"), Line: line, Place: cwd, Given: given,
	}
	if s.Screen, err = readScreenSettings(c); err != nil {
		return s, err
	}
	s.PIDNS = proctree.Mode(c.String("pid-namespace"))
	if problem := s.contradiction(c); problem != "" {
		return s, command.Usagef("%s", problem)
	}
	if s.StateDir, err = command.StateDir(c.String("state-dir")); err != nil {
		return s, err
	}
	if s.Sandbox, err = readSandbox(c); err != nil {
		return s, err
	}
	s.Options = runconfig.Options{CWD: cwd, Version: command.Version(), Rehearsal: s.Rehearse}
	s.Adopt(t)
	if err := s.readHosts(c); err != nil {
		return s, err
	}
	err = s.readRun(c)
	return s, err
}

// checkChoices returns an error about the first setting whose value is not of its fixed set. An empty one, such as that
// of a variable, is the default.
func checkChoices(c *cli.Context) error {
	for _, s := range Table {
		words := command.Choices(placeholder(s.usage))
		text := c.String(s.Name)
		if words == nil || slices.Contains(words, text) {
			continue
		}
		switch {
		case text != "" && s.Name != "decider-provider": // readProvider says more about that one
			return command.Usagef("--%s %q: use %s", s.Name, text, alternatives(words))
		case text == "" && s.Value != nil && s.Name != "decider": // a provider can choose it
			if err := c.Set(s.Name, s.Value.(string)); err != nil {
				return err
			}
		}
	}
	return nil
}

// placeholder returns what a usage has in backquotes.
func placeholder(usage string) string {
	_, rest, _ := strings.Cut(usage, "`")
	value, _, _ := strings.Cut(rest, "`")
	return value
}

// contradiction returns the first conflict between settings, or the first invalid value.
func (s Choices) contradiction(c *cli.Context) string {
	for _, x := range []struct {
		wrong bool
		text  string
	}{
		{c.IsSet("session") && strings.TrimSpace(s.Session) == "",
			"--session is empty: name a run (arbiter sessions lists them), or use --resume for the latest one"},
		// A snapshot comes after 4 MiB of inputs, and one input may have 16 MiB.
		{s.Journal < 32<<20, fmt.Sprintf("--max-journal %d: must be at least 32", s.Journal>>20)},
		{s.JSON && s.Plain, "--json and --plain exclude each other: use one of them"},
		{s.Detach && (s.JSON || s.Plain), "--detach shows nothing: leave out --json and --plain; arbiter watch and " +
			"arbiter attach show the run"},
		{s.Resume && s.Rehearse, "--resume already resumes a rehearsal as a rehearsal: leave out --rehearse, --scenario " +
			"and --stand-in"},
		{s.Rehearse && c.IsSet("isolation") && c.String("isolation") != runconfig.IsolationShared,
			"--isolation and --rehearse exclude each other: a rehearsal's workspace is not a Git repository"},
		{s.Rehearse && c.String("hosts") != "",
			"--hosts and --rehearse exclude each other: a rehearsal's workspace is not a Git repository"},
		{s.OrBegin && !s.JSON, "--resume-or-begin is for jobs without a human: add --json"},
		{s.OrBegin && s.Resume, "--resume-or-begin chooses the run itself: leave out --resume and --session"},
		{s.Rehearse && c.IsSet("cwd"), "--cwd and --rehearse exclude each other: a rehearsal has its own scratch workspace"},
	} {
		if x.wrong {
			return x.text
		}
	}
	return ""
}

// Adopt sets the trust decision in the options of a run.
func (c *Choices) Adopt(t TrustState) {
	c.Trusting = t
	c.Options.Trusted, c.Options.TrustHash = t.Trusted || c.Rehearse, ""
	if t.Trusted && !c.Rehearse { // a rehearsal's workspace is its own
		c.Options.TrustHash = t.Listing.Hash
	}
}

// AskInRun starts a run with the settings that were trusted before, if they have changed since. The first agent is
// then not started, and the person at the frontend is asked. Nothing else is read from the workspace.
func (c *Choices) AskInRun() {
	if t := c.Trusting; !t.Trusted && t.Recorded && t.Was.Hash != "" && !c.Rehearse {
		c.Options.Trusted, c.Options.TrustHash = true, t.Was.Hash
	}
}

// FrontendFlag returns the flag that chose the frontend, with a trailing space.
func (c Choices) FrontendFlag() string {
	switch {
	case c.JSON:
		return "--json "
	case c.Plain:
		return "--plain "
	}
	return ""
}
