package host

// This file is the environment of a rehearsal: a scripted model, a scratch workspace and a private home
// directory.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/git"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

// Stage is the environment of a rehearsal: a scripted model on loopback, a scratch workspace, a private home
// directory, and environment variables without any of the user's settings.
type Stage struct {
	Server *rehearsal.Server // it knows where the play deviates from its script
	Env    []string
	Claude bridge.ClaudeSpec
	log    *slog.Logger
	// Repository says that the workspace is a Git repository with a commit, so that changes can be shown.
	Repository bool
}

// ReadScenario reads and checks the scenario of a rehearsal before anything starts. It returns nil if this is not a
// rehearsal.
func ReadScenario(c settings.Choices) (*rehearsal.Scenario, error) {
	if !c.Options.Rehearsal {
		return nil, nil
	}
	var script *rehearsal.Scenario
	var err error
	if !strings.ContainsAny(c.Scenario, "/.") {
		script, err = rehearsal.Builtin(c.Scenario)
	} else if src, unread := command.ReadFile(c.Scenario, command.MaxSource); unread != nil {
		err = fmt.Errorf("cannot read the scenario %s: %w", c.Scenario, command.WithoutPath(unread))
	} else {
		script, err = rehearsal.Parse(c.Scenario, src)
	}
	if err == nil {
		err = script.CheckVars(script.Vars) // the task is set only if there is a variable for it
	}
	if err != nil {
		return nil, command.Usagef("%v", err)
	}
	for _, text := range script.Allow {
		if _, err := policy.ParseRule(text); err != nil {
			return nil, command.Usagef("scenario %s: allow: %q: %v", script.Name, text, err)
		}
	}
	return script, nil
}

// SetStage builds the stage and points the choices at it. home is in the run's directory, and the scratch workspace is
// removed with that directory. A resumed rehearsal finds its workspace and home directory as it left them; the
// script finds its position from the sessions' histories.
func SetStage(
	c *settings.Choices, script *rehearsal.Scenario, home, task string, log *slog.Logger,
) (*Stage, error) {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, command.Environmentf("private home: %v", err)
	}
	if !c.Resume { // else it has its workspace, and the rules of the script
		dir, err := command.MakeScratch("", command.ScratchRehearsal, filepath.Dir(home))
		if err == nil {
			c.Options.CWD = filepath.Join(dir, "workspace")
			err = os.Mkdir(c.Options.CWD, 0o700)
		}
		if err == nil {
			err = layOut(c.Options.CWD, script.Files)
		}
		if err != nil {
			return nil, command.Environmentf("cannot make a scratch workspace in %s: %v; set TMPDIR to a directory that "+
				"you may write to", os.TempDir(), command.WithoutPath(err))
		}
		if len(script.Files) > 0 {
			commitFiles(c.Options.CWD, home, log)
		}
		c.Options.Scenario, c.Options.Script = script.Name, c.Scenario
		if strings.ContainsAny(c.Scenario, "/.") {
			if c.Options.Script, err = filepath.Abs(c.Scenario); err != nil {
				return nil, command.Usagef("--scenario: %v", err)
			}
		}
		c.Options.Allow = append(c.Options.Allow, script.Allow...)
	}
	vars := map[string]string{}
	if _, ok := script.Vars["task"]; ok && task != "" {
		vars["task"] = task
	}
	player, err := findPlayer(c)
	if err != nil {
		return nil, err
	}
	st, err := openStage(script, player, home, rehearsal.Options{Logger: log, Vars: vars, Watched: !c.JSON})
	if err != nil {
		return nil, command.Environmentf("rehearsal: %v", err)
	}
	_, none := os.Stat(filepath.Join(c.Options.CWD, ".git"))
	st.log, st.Repository = log, none == nil
	c.Policy.CWD, c.Policy.Home = c.Options.CWD, home
	return st, nil
}

// openStage makes a stage without a workspace, on which one CLI plays a script. home is the private home directory.
// The caller closes the stage.
func openStage(
	script *rehearsal.Scenario, claude bridge.ClaudeSpec, home string, o rehearsal.Options,
) (st *Stage, err error) {
	st = &Stage{Claude: claude, log: slog.New(slog.DiscardHandler)}
	if st.Server, err = rehearsal.Start(script, o); err != nil {
		return nil, err
	}
	st.Env = StageEnviron(home, st.Server)
	if err := skipFirstStart(home, st.Server.Key()); err != nil {
		st.Close()
		return nil, fmt.Errorf("private home: %w", err)
	}
	return st, nil
}

// layOut writes the initial files of a scenario.
func layOut(dir string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// commitFiles makes the workspace a Git repository with one commit. Without Git there is no base for changes, and
// the run reports that.
func commitFiles(dir, home string, log *slog.Logger) {
	r := git.Runner{Dir: dir, Env: git.Environ([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH"),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=rehearsal", "GIT_AUTHOR_EMAIL=rehearsal@localhost",
		"GIT_COMMITTER_NAME=rehearsal", "GIT_COMMITTER_EMAIL=rehearsal@localhost"})}
	for _, args := range [][]string{{"init", "--quiet", "--initial-branch=main"}, {"add", "--all"},
		{"commit", "--quiet", "--message", "The files of the scenario"}} {
		if _, err := r.Write(context.Background(), args...); err != nil {
			log.Info("no repository for the rehearsal", "error", err)
			_ = os.RemoveAll(filepath.Join(dir, ".git")) // it may have no commit
			return
		}
	}
}

// StandInCommand is the hidden subcommand in which arbiter stands in for Claude Code.
const StandInCommand = "stand-in"

// Executable returns the program that contains the stand-in: this one.
var Executable = os.Executable

// findPlayer chooses the CLI: the real one if it is installed, otherwise the stand-in.
func findPlayer(c *settings.Choices) (bridge.ClaudeSpec, error) {
	if !c.StandIn {
		if c.Claude != "" {
			return bridge.ClaudeSpec{Path: c.Claude}, nil
		}
		if path, err := exec.LookPath("claude"); err == nil {
			return bridge.ClaudeSpec{Path: path}, nil
		}
	}
	self, err := Executable()
	if err != nil {
		return bridge.ClaudeSpec{}, command.Environmentf("cannot find arbiter's own program: %v", err)
	}
	return bridge.ClaudeSpec{Path: self, Args: []string{StandInCommand}}, nil
}

// StageEnviron returns the complete environment of a rehearsal's bridge. It has only PATH and the locale of the user:
// no key, no proxy, no configuration.
func StageEnviron(home string, s *rehearsal.Server) []string {
	env := []string{
		"HOME=" + home,
		"CLAUDE_CONFIG_DIR=" + filepath.Join(home, ".claude"),
		"XDG_CACHE_HOME=" + CacheHome(),
		"ANTHROPIC_BASE_URL=" + s.URL(),
		"ANTHROPIC_API_KEY=" + s.Key(),
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost",
	}
	for _, name := range []string{"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TERM", "TMPDIR",
		"CLAUDE_CODE_MAX_RETRIES"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// skipFirstStart writes the CLI's record of its first start, so that a CLI in a terminal asks no initial questions.
// The CLI identifies a key by its last 20 characters (observed with CLI 2.1.329). An existing record is kept.
func skipFirstStart(home, key string) error {
	dir := filepath.Join(home, ".claude")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, ".claude.json"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if os.IsExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	err = json.NewEncoder(f).Encode(map[string]any{
		"hasCompletedOnboarding": true,
		"customApiKeyResponses": map[string]any{"approved": []string{key[max(0, len(key)-20):]},
			"rejected": []string{}},
	})
	return errors.Join(err, f.Close())
}

// CacheHome returns the cache directory, so that the bridge finds its cache of CLI versions in a rehearsal, too.
func CacheHome() string {
	if dir, err := os.UserCacheDir(); err == nil {
		return dir
	}
	return os.TempDir()
}

// Close stops the scripted model. The workspace remains, because the person wants to see it; the private home
// directory remains with the run.
func (s *Stage) Close() {
	if s.Server != nil {
		if err := s.Server.Close(); err != nil {
			s.log.Warn("rehearsal", "error", err)
		}
	}
}
