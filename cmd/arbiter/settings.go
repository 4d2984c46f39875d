package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/internal/hosts"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// maxTask bounds a task or requirements file, in bytes. The CLI takes more, but
// a task of this size leaves no room to work.
const maxTask = 1 << 20

// choices is what the command line, the environment and the configuration
// files come to.
type choices struct {
	Options  runconfig.Options
	Policy   policy.Policy `json:"-"` // follows from the options
	Claude   string
	JSON     bool
	Plain    bool
	Detach   bool // no frontend: the run goes on alone
	Face     screenSettings
	Rehearse bool
	Scenario string
	StandIn  bool
	NoInput  bool
	Resume   bool
	OrBegin  bool   // resume the latest run of the directory, or begin one
	Session  string // id of the run to resume, or its beginning; empty: the latest
	Share    bool   // another run may work in the same directory
	Place    string // the directory the run belongs to
	PIDNS    proctree.Mode
	Trusting trustState      // of that place; a rehearsal's workspace is trusted always
	given    map[string]bool // settings named on the command line or in the environment
	StateDir string
	Sandbox  confinement
	Hosts    hosts.Config // how the hosts are reached that the user has configured
	Notice   string       // what is wrong with agent files, or is not used
	Unused   string       // what of the configuration is not used, for Notice
	Debug    bool
	Images   []string // paths of image files that go with the task
	Line     []string `json:"-"` // flags of the command line, for the page of settings
}

// readSettings checks everything that can be checked before a run starts.
func readSettings(c *cli.Context) (choices, error) {
	s, err := readChoices(c)
	if err != nil {
		return s, err
	}
	if !s.Resume { // else the run says where they are
		if err := s.refuseRoot(s.Rehearse); err != nil {
			return s, err
		}
		if err := s.readInstructions(); err != nil {
			return s, err
		}
	}
	s.Options.Task, err = readTask(c)
	s.NoInput = s.NoInput || c.String("task") == taskFromStdin && !s.Detach // it was read to its end
	if err == nil && s.Options.Task == "" && s.NoInput && !s.Resume {
		err = command.Usagef("there is no task: with --no-input, give --task or a requirements file")
	}
	return s, err
}

// readChoices reads the settings that all commands with a bridge share.
func readChoices(c *cli.Context) (s choices, err error) {
	cwd, err := command.Workspace(c)
	if err != nil {
		return s, err
	}
	given := map[string]bool{}
	for _, x := range settings {
		given[x.name] = c.IsSet(x.name)
	}
	t, err := trustOf(c, cwd)
	if err != nil {
		return s, err
	}
	line := givenFlags(c)
	from, err := applyConfig(c, cwd, t.Trusted)
	if err != nil {
		return s, err
	}
	defer func() { err = from.placed(err) }()
	if err := t.unchanged(cwd); err != nil {
		return s, err
	}
	s = choices{
		Claude: c.String("claude"), JSON: c.Bool("json"), Plain: c.Bool("plain"),
		Detach:   c.Bool("detach"),
		Rehearse: c.Bool("rehearse") || c.String("scenario") != "" || c.Bool("stand-in"),
		Scenario: c.String("scenario"), StandIn: c.Bool("stand-in"),
		NoInput: c.Bool("no-input"), Debug: c.Bool("debug"),
		Resume: c.Bool("resume") || c.String("session") != "", Session: c.String("session"),
		OrBegin: c.Bool("resume-or-begin"), Share: c.Bool("share-workspace"), Line: line, Place: cwd, given: given,
	}
	if s.Face, err = readScreenSettings(c); err != nil {
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
	s.adopt(t)
	if err := s.readHosts(c); err != nil {
		return s, err
	}
	err = s.readRun(c)
	return s, err
}

// contradiction is the first of what does not go together, or is no value at all.
func (s choices) contradiction(c *cli.Context) string {
	for _, x := range []struct {
		wrong bool
		text  string
	}{
		{c.IsSet("session") && strings.TrimSpace(s.Session) == "",
			"--session is empty: name a run (arbiter sessions lists them), or use --resume for the latest one"},
		{s.JSON && s.Plain, "--json and --plain exclude each other: use one of them"},
		{s.Detach && (s.JSON || s.Plain), "--detach shows nothing: leave out --json and --plain; arbiter watch and " +
			"arbiter attach show the run"},
		{s.Resume && s.Rehearse, "--resume already resumes a rehearsal as a rehearsal: leave out --rehearse, --scenario " +
			"and --stand-in"},
		{!slices.Contains([]proctree.Mode{proctree.ModeAuto, proctree.ModeAlways, proctree.ModeNever}, s.PIDNS),
			fmt.Sprintf("--pid-namespace %q: use auto, always or never", s.PIDNS)},
		{s.Rehearse && c.IsSet("isolation") && c.String("isolation") != runconfig.IsolationShared,
			"--isolation and --rehearse exclude each other: a rehearsal's workspace is no Git repository"},
		{s.Rehearse && c.String("hosts") != "",
			"--hosts and --rehearse exclude each other: a rehearsal's workspace is no Git repository"},
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

// taskFromStdin is the value of --task that means: read it there.
const taskFromStdin = "-"

// readTask joins --task and the requirements file.
func readTask(c *cli.Context) (string, error) {
	task, from := strings.TrimSpace(c.String("task")), "--task"
	if task == taskFromStdin {
		var err error
		if task, err = taskOnStdin(c); err != nil {
			return "", err
		}
		from = "stdin"
	}
	if c.IsSet("task") && task == "" {
		return "", command.Usagef("%s is empty: give the text of the task", from)
	}
	if c.NArg() > 1 && !command.LikeCommand(c) {
		if i := slices.IndexFunc(c.Args().Slice(), command.IsFlag); i > 0 {
			return "", command.Usagef("flags go before the requirements file: %s comes after %s", c.Args().Get(i),
				c.Args().First())
		}
		return "", command.Usagef("give one requirements file, not %d: %s", c.NArg(), strings.Join(c.Args().Slice(), " "))
	}
	if c.NArg() > 0 {
		path := c.Args().First()
		if strings.HasPrefix(path, "-") && path != "-" {
			return "", command.Usagef("flags go before the requirements file: %s", path)
		}
		if _, err := os.Stat(path); err != nil {
			return "", command.NoSuchWord(c, path)
		}
		text, err := readRequirements(path)
		if err != nil {
			return "", err
		}
		if task != "" {
			task += "\n\n"
		}
		task += words.Requirements(filepath.Base(path), text)
		from = path
	}
	return task, checkTask(task, from)
}

// checkTask refuses a task that no model could be given.
func checkTask(task, from string) error {
	switch {
	case len(task) > maxTask:
		return command.Usagef("%v%s", &command.SizeError{What: "the task", Size: int64(len(task)), Most: maxTask}, smaller)
	case !utf8.ValidString(task) || strings.ContainsRune(task, 0):
		return command.Usagef("%s: the task is not UTF-8 text", from)
	}
	return nil
}

// taskOnStdin reads the task from stdin, to its end.
func taskOnStdin(c *cli.Context) (string, error) {
	if !c.Bool("json") && !c.Bool("plain") && !c.Bool("detach") {
		return "", command.Usagef("--task - reads stdin, which the screen needs for keys: add --plain, --json or --detach, " +
			"or use --task TEXT")
	}
	raw, err := io.ReadAll(io.LimitReader(c.App.Reader, maxTask+1))
	switch {
	case err != nil:
		return "", command.Usagef("--task -: read stdin: %v", err)
	case len(raw) > maxTask:
		return "", command.Usagef("the task on stdin has more than %s bytes%s", words.Number(maxTask), smaller)
	}
	return strings.TrimSpace(string(raw)), nil
}

// smaller is what helps against a task that is too large.
const smaller = ": put it into files of the workspace and name them"

func readRequirements(path string) (string, error) {
	raw, err := command.ReadFile(path, maxTask)
	if large := (*command.SizeError)(nil); errors.As(err, &large) {
		return "", command.Usagef("%v%s", err, smaller)
	}
	if err != nil {
		return "", command.Usagef("cannot read the requirements file %s: %v", path, command.WithoutPath(err))
	}
	text := strings.TrimSpace(string(raw))
	if text == "" {
		return "", command.Usagef("%s: the requirements file is empty", path)
	}
	return text, nil
}
