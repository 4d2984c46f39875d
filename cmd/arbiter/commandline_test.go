package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/report"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

func TestFlagsGoFirst(t *testing.T) {
	app := env{}.app()
	for _, c := range []struct{ words, want string }{
		{"replay RUN --decisions", "replay --decisions RUN"},
		{"replay RUN --decisions --only 1,2 --json", "replay --decisions --only 1,2 --json RUN"},
		{"decide --explain RUN --number 3", "decide --explain --number 3 RUN"},
		{"decide RUN --number=3", "decide --number=3 RUN"},
		{"decide --input -", "decide --input -"},
		{"decide - --json", "decide --json -"},
		{"sessions show RUN --json", "sessions show --json RUN"},
		{"sessions --json ls", "sessions ls --json"},
		{"sessions --json --state-dir ls ls --state-dir x", "sessions ls --json --state-dir ls --state-dir x"},
		{"memory --json edit FILE", "memory --json edit FILE"}, // edit has no such flag
		{"--state-dir replay replay RUN --decisions", "replay --state-dir replay --decisions RUN"},
		{"--task x --cwd w grants --state-dir=s rm 1", "--task x grants rm --cwd w --state-dir=s 1"},
		{"--debug replay RUN --unknown x", "replay --debug --unknown RUN x"},
		{"replay RUN -- --decisions", "replay RUN -- --decisions"},
		{"replay RUN --only", "replay --only"}, // a value is missing, and the error says so
		{"--json --task decide", "--json --task decide"},
		{"REQUIREMENTS.md --json", "REQUIREMENTS.md --json"}, // no command: refused with a reason
		{"", ""},
		{"--task", "--task"},
	} {
		got := command.ReadLine(app, strings.Fields(c.words)).Ordered()
		if text := strings.Join(got[1:], " "); text != c.want {
			t.Errorf("%q becomes %q, want %q", c.words, text, c.want)
		}
	}
}

// TestFlagsBeforeACommand: a command gets its flags even if they stand before it.
func TestFlagsBeforeACommand(t *testing.T) {
	values := func(f cli.Flag) (given []string, want string) {
		name := "--" + f.Names()[0]
		switch f := f.(type) {
		case *cli.BoolFlag:
			return []string{name}, "true"
		case *cli.IntFlag:
			return []string{name, "7"}, "7"
		case *cli.Float64Flag:
			return []string{name, "2.5"}, "2.5"
		case *cli.DurationFlag:
			return []string{name, "90s"}, "1m30s"
		case *cli.StringSliceFlag:
			return []string{name, "a=b"}, "[a=b]"
		case *cli.StringFlag:
			return []string{name, "text"}, "text"
		default:
			t.Fatalf("%s is of type %T", name, f)
			return nil, ""
		}
	}
	tried := 0
	try := func(before, behind []string, outer, inner []cli.Flag) {
		for _, f := range inner {
			if !slices.ContainsFunc(outer, func(o cli.Flag) bool { return o.Names()[0] == f.Names()[0] }) {
				continue
			}
			given, want := values(f)
			app := env{}.app()
			got := "nothing"
			note := func(c *cli.Context) error {
				got = fmt.Sprint(c.Value(f.Names()[0]))
				if list, ok := c.Value(f.Names()[0]).(cli.StringSlice); ok {
					got = fmt.Sprint(list.Value())
				}
				return nil
			}
			for _, c := range app.Commands {
				for _, c := range append(c.Subcommands, c) {
					c.Action = note
				}
			}
			line := slices.Concat(before, given, behind)
			if err := app.Run(command.ReadLine(app, line).Ordered()); err != nil || got != want {
				t.Errorf("%s: %s, %v, want %s", strings.Join(line, " "), got, err, want)
			}
			tried++
		}
	}
	app := env{}.app()
	for _, c := range app.Commands {
		if c.SkipFlagParsing {
			continue
		}
		try(nil, []string{c.Name}, app.Flags, c.Flags)
		for _, sub := range c.Subcommands {
			try(nil, []string{c.Name, sub.Name}, app.Flags, sub.Flags)
			try([]string{c.Name}, []string{sub.Name}, c.Flags, sub.Flags)
		}
	}
	if tried < 30 {
		t.Errorf("only %d flags tried", tried)
	}
}

func TestHelpIsAskedForByAWord(t *testing.T) {
	for words, want := range map[string]string{
		"help":             "arbiter COMMAND",
		"help attach":      "arbiter attach - ",
		"help grants rm":   "arbiter grants rm - ",
		"grants rm --help": "NUMBER|RULE",
		"logs --help":      "--verify FILE",
	} {
		var out, errs strings.Builder
		if code := run(append([]string{"arbiter"}, strings.Fields(words)...), strings.NewReader(""), &out,
			&errs); code != 0 || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %d, %s%s", words, code, out.String(), errs.String())
		}
	}
}

// TestBadArguments: bad arguments, as a shell or a broken script may pass them, are refused at once. The error
// line names the argument and is safe for a terminal; no run is begun.
func TestBadArguments(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_STATE_HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
	pipe := filepath.Join(dir, "pipe")
	testkit.OK(t, syscall.Mkfifo(pipe, 0o600))
	large := filepath.Join(dir, "large.md")
	testkit.OK(t, os.WriteFile(large, []byte(strings.Repeat("x", 64<<20)), 0o600))
	base := []string{"arbiter", "--json", "--state-dir", filepath.Join(dir, "state"), "--cwd", dir, "--claude",
		"/nonexistent/claude"}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"directory":        {[]string{dir}, dir},
		"FIFO":             {[]string{pipe}, pipe},
		"device":           {[]string{"/dev/zero"}, "/dev/zero"},
		"no file":          {[]string{"/nonexistent/\x1b[2Jx\u202e.md"}, "/nonexistent/"},
		"too large":        {[]string{large}, "at most"},
		"NUL":              {[]string{"--cwd", "a\x00b", "--task", "x"}, "cwd"},
		"invalid UTF-8":    {[]string{"--cwd", "\xff\xfe", "--task", "x"}, "cwd"},
		"unknown flag":     {[]string{"--\x1b]0;owned\a"}, ""},
		"task like a flag": {[]string{"--task", "x", "-rf"}, "r"},
		"session, bad":     {[]string{"--session", "no such \x1b[2J"}, "no such"},
		"session, beyond":  {[]string{"--session", "../../../etc/passwd"}, "passwd"},
		"session, foreign": {[]string{"--session", "01234567-89ab-4cde-8f01-23456789abcd"}, "01234567"},
		"session, empty":   {[]string{"--session", ""}, ""},
		"after --":         {[]string{"--", "--task"}, "--task"},
	} {
		var out, errs strings.Builder
		code := run(append(append([]string{}, base...), c.args...), strings.NewReader(""), &out, &errs)
		text := errs.String()
		if code != int(contract.ExitUsage) || !strings.Contains(text, c.want) || sanitize.Text(text) != text ||
			strings.Contains(out.String(), `"event":"spawn"`) {
			t.Errorf("%s: exit code %d, said %q, told %.300s", name, code, text, out.String())
		}
	}
}

// scriptedModel plays a built-in scenario.
func scriptedModel(t *testing.T, name string) *rehearsal.Server {
	t.Helper()
	scenario := testkit.Must(rehearsal.Builtin(name))(t)
	model := testkit.Must(rehearsal.Start(scenario, rehearsal.Options{}))(t)
	t.Cleanup(func() { _ = model.Close() })
	return model
}

// rolesOf returns the roles that made requests to a server, each once.
func rolesOf(model *rehearsal.Server) []rehearsal.Role {
	var roles []rehearsal.Role
	for _, r := range model.Requests() {
		if r.Role != rehearsal.RoleSide && !slices.Contains(roles, r.Role) {
			roles = append(roles, r.Role)
		}
	}
	return roles
}

// TestEnvironmentOfTheArbiter: the Arbiter and the decider use one gateway, the Orchestrators another. No file
// contains a secret of the environment.
func TestEnvironmentOfTheArbiter(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for decider, asks := range map[string]rehearsal.Role{"session": rehearsal.RoleArbiter,
		"stateless": rehearsal.RoleMain} {
		for _, p := range players(t) {
			t.Run(decider+"/"+p.name, func(t *testing.T) {
				p.long(t)
				t.Parallel()
				workers, gateway := scriptedModel(t, "workflow"), scriptedModel(t, "workflow")
				claude := p.program(t)
				config := write(t, "arbiter_env:\n  ANTHROPIC_BASE_URL: "+gateway.URL()+"\n  LOOM_TOKEN: "+nameless+
					"\n", t.TempDir(), "config.yaml")
				s := start(t, []string{"ANTHROPIC_BASE_URL=" + workers.URL(), "ANTHROPIC_API_KEY=" + workers.Key(),
					"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}, "--json", "--no-input", "--debug", "--claude",
					claude, "--cwd", t.TempDir(), "--allow", "Write", "--allow", "Bash(*)", "--task", "Weave",
					"--decider", decider, "--config", config)
				s.finish(contract.ExitComplete)
				for model, want := range map[*rehearsal.Server]rehearsal.Role{gateway: asks,
					workers: rehearsal.RoleOrchestrator} {
					if got := rolesOf(model); !slices.Equal(got, []rehearsal.Role{want}) {
						t.Errorf("asked by %v, want %v alone; problems %q", got, want, model.Problems())
					}
				}
				filesWithout(t, s.cmd.Dir, nameless)
			})
		}
	}
}

// TestArbiterEnvIsChecked: variables that would separate the Arbiter's session from the others are refused.
func TestArbiterEnvIsChecked(t *testing.T) {
	t.Parallel()
	s := prepare(t, nil)
	for arg, want := range map[string]string{"HOME=/tmp": "--arbiter-env HOME", "CLAUDE_CONFIG_DIR=x": "use --env",
		"odd": "use NAME=VALUE"} {
		_, errs := s.output(int(contract.ExitUsage), "--json", "--no-input", "--task", "Weave", "--arbiter-env", arg)
		if !strings.Contains(errs, want) {
			t.Errorf("%s: %s", arg, errs)
		}
	}
}

// TestUsage: usage reports the same cost by day, run, agent and model as the run's result.
func TestUsage(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, who player) {
		// the driver's tests cover what the real CLI reports about models
		s, _ := hiredIn(t, who, spin("echo spun"), t.TempDir(), "--model", "claude-sonnet-4-5", "--allow",
			"Bash(*)", "--task", "Spin")
		result := s.finish(contract.ExitComplete)
		run := collect[contract.Session](s)[0].Session
		ask := func(args ...string) string {
			out, _ := s.output(int(contract.ExitComplete), append([]string{"usage"}, args...)...)
			return out
		}
		for by, want := range map[report.SpendingBy]func(report.Row) bool{
			report.SpendingDay:   func(r report.Row) bool { return r.Day != "" },
			report.SpendingRun:   func(r report.Row) bool { return r.Run == run },
			report.SpendingAgent: func(r report.Row) bool { return r.Agent == "arbiter" || r.Agent == "orch-1" },
			report.SpendingModel: func(r report.Row) bool { return strings.HasPrefix(r.Model, "claude-") },
		} {
			var rows []report.Row
			testkit.OK(t, json.Unmarshal([]byte(ask("--by", string(by), "--json")), &rows))
			usd := 0.0
			for _, r := range rows {
				usd += r.CostUSD
				if !want(r) {
					t.Errorf("by %s: %+v", by, r)
				}
			}
			if result.CostUSD <= 0 || math.Abs(usd-result.CostUSD) > 1e-5 {
				t.Errorf("by %s: $%v, the run says $%v", by, usd, result.CostUSD)
			}
		}
		if text := ask("--by", "agent"); !strings.Contains(text, command.ShortID(run)+" orch-1") ||
			!strings.Contains(text, "total") {
			t.Errorf("printed\n%s", text)
		}
	})
}

// TestTaskFromStdin: --task - reads the task from stdin; the task is never the character "-".
func TestTaskFromStdin(t *testing.T) {
	testkit.Long(t)
	h := newTestHome(t, players(t)[0])
	for _, tt := range []struct {
		name, in, want string
		args           []string
		exit           contract.Exit
	}{
		{"headless", "# Two threads\n\nSpin them.\n", `"text":"# Two threads\n\nSpin them."`, []string{"--json"},
			contract.ExitComplete},
		{"plain", "Two threads\n", "It is done.", []string{"--plain"}, contract.ExitComplete},
		{"nothing", " \n", "stdin is empty", []string{"--json"}, contract.ExitUsage},
		{"too much", strings.Repeat("x", settings.MaxTask+1), "the task on stdin has more than 1,048,576 bytes",
			[]string{"--json"}, contract.ExitUsage},
		{"the screen", "Two threads", "add --plain, --json or --detach", nil, contract.ExitUsage},
	} {
		c := runIn(t, h.env, h.work, tt.in, append(append(h.rehearsing("parallel"), tt.args...), "--task", "-")...)
		if c.code != tt.exit || !strings.Contains(c.out+c.errs, tt.want) {
			t.Errorf("%s: %+v, want %d and %q", tt.name, c, tt.exit, tt.want)
		}
	}
}

// TestTwoTasks: a second --task is refused, and does not replace the first.
func TestTwoTasks(t *testing.T) {
	var out, errs strings.Builder
	code := run([]string{"arbiter", "--json", "--task", "one", "--task=two"}, strings.NewReader(""), &out, &errs)
	if code != int(contract.ExitUsage) || !strings.Contains(errs.String(), "--task is given twice") || out.Len() > 0 {
		t.Errorf("exit code %d, said %q, told %q", code, errs.String(), out.String())
	}
}

// TestNothingAsked: a run without a task leaves no files, and is in no list.
func TestNothingAsked(t *testing.T) {
	h := newTestHome(t, players(t)[0])
	c := runIn(t, h.env, h.work, "", append(h.rehearsing("parallel"), "--json")...)
	if lines, err := contractLines(c.out); err != nil || c.code != contract.ExitUsage ||
		strings.Contains(c.errs, "To resume:") || !strings.Contains(c.errs, "no task was given") {
		t.Errorf("exit code %d, %d lines, %v\n%s", c.code, len(lines), err, c.errs)
	}
	if runs := h.runs(); len(runs) != 0 {
		t.Errorf("left behind: %v", runs)
	}
}

// TestRunWithoutTaskIsNotOffered: a run that was killed before it got a task cannot be resumed without one.
func TestRunWithoutTaskIsNotOffered(t *testing.T) {
	t.Parallel()
	s := start(t, nil, "--stand-in", "--json", "--scenario", "parallel")
	await[contract.Spawn](s, "the Arbiter", nil)
	_ = s.cmd.Process.Kill() // so that the program cannot clean up
	<-s.ended
	n := s.again("--json", "--resume", "--session", s.run())
	_ = n.stdin.Close()
	<-n.ended
	_ = n.cmd.Wait()
	if got := n.cmd.ProcessState.ExitCode(); got != int(contract.ExitUsage) ||
		!strings.Contains(n.stderr.String(), "has no task") {
		t.Errorf("exit code %d, said %q", got, n.stderr.String())
	}
}

// TestLeftIsNotCancelled: a run that was ended by Ctrl+C is listed as interrupted.
func TestLeftIsNotCancelled(t *testing.T) {
	t.Parallel()
	s := dialogue(t)
	s.mustSignal(syscall.SIGINT)
	s.finish(contract.ExitInterrupted)
	out, _ := s.output(0, "sessions", "--json")
	var list []runstore.Line
	testkit.OK(t, json.Unmarshal([]byte(out), &list))
	if len(list) != 1 || list[0].Status != runstore.Interrupted || !list[0].Resumable {
		t.Errorf("listed %+v", list)
	}
}

// TestRequirementsNameTheRun: a run has the heading of its requirements file as its title, also in lists.
func TestRequirementsNameTheRun(t *testing.T) {
	h := newTestHome(t, players(t)[0])
	testkit.OK(t, os.WriteFile(filepath.Join(h.work, "REQUIREMENTS.md"), []byte("# A lighthouse\n\nIt must be tall.\n"),
		0o600))
	h.output(append(h.rehearsing("parallel"), "--json", "--no-input", "REQUIREMENTS.md")...)
	var list []runstore.Line
	testkit.OK(t, json.Unmarshal([]byte(h.output("sessions", "--json")), &list))
	if len(list) != 1 || list[0].Title != "A lighthouse" {
		t.Errorf("listed %+v", list)
	}
}
