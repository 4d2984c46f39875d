package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// The exit codes of wrong invocations.
const (
	usage       = contract.ExitUsage
	environment = contract.ExitEnvironment
)

// wrongInvocations are command lines that cannot work, with the first line of the error after the program's
// name, and the exit code. WORK stands for the working directory, ~ for the home directory.
var wrongInvocations = []struct {
	line string
	want string
	exit contract.Exit
}{
	// Commands.
	{`sesions`, `"sesions" is neither a command nor a requirements file; did you mean sessions?`, usage},
	{`build the parser`, `"build" is neither a command nor a requirements file: give a task with --task`, usage},
	{`help sesions`, `arbiter has no command "sesions"; did you mean sessions?`, usage},
	{`sessions shwo`, `sessions has no command "shwo": did you mean show?`, usage},
	{`agents frob`, `agents has no command "frob": use one of ls, show, check`, usage},
	{`version now`, `version takes no argument: leave out now`, usage},
	{`schema`, `schema: give one of events, commands, config, bridge, machine`, usage},
	{`schema evnts`,
		`schema: there is no schema "evnts": use one of events, commands, config, bridge, machine`, usage},
	{`completion ksh`, `there is no completion for "ksh": use one of bash, zsh, fish`, usage},
	{`decide`, `decide: use --explain [RUN], --input FILE or --template NAME`, usage},
	{`scenarios smal-job`,
		`there is no built-in scenario "smal-job": use one of demo, dialogue, generations, parallel, small-job, workflow`, usage},

	// Flags.
	{`--jsn`, `unknown flag --jsn; did you mean --json?`, usage},
	{`--frobnicate`, `unknown flag --frobnicate`, usage},
	{`logs --audti RUN`, `unknown flag --audti; did you mean --audit?`, usage},
	{`--json spec.md --debug`, `flags go before the requirements file: --debug comes after spec.md`, usage},
	{`--json --plain --task x`, `--json and --plain exclude each other: use one of them`, usage},
	{`--resume-or-begin --task x`, `--resume-or-begin is for jobs without a human: add --json`, usage},
	{`--json --resume-or-begin --session 3f2a`, `--resume-or-begin chooses the run itself: leave out --resume and ` +
		`--session`, usage},
	{`--json --detach --task x`, `--detach shows nothing: leave out --json and --plain; arbiter watch and arbiter ` +
		`attach show the run`, usage},
	{`--detach`, `there is no task: with --detach, give --task or a requirements file`, usage},
	{`--json --rehearse --cwd . --task x`,
		`--cwd and --rehearse exclude each other: a rehearsal has its own scratch workspace`, usage},
	{`--json --resume --rehearse`,
		`--resume already resumes a rehearsal as a rehearsal: leave out --rehearse, --scenario and --stand-in`, usage},
	{`trust --show --revoke`, `trust: --show, --revoke and --yes exclude each other, and --json needs --show`, usage},
	{`logs --json RUN`, `logs: --json and --text need --audit`, usage},

	{`web 3f2a 4b1c`, `web: give at most one RUN`, usage},
	{`web 3f2a`, `there is no run "3f2a"; arbiter sessions lists the runs`, usage},
	{`web 3f2a --state-dir a;b`, `there is no run "3f2a"; arbiter sessions --state-dir 'a;b' lists the runs`, usage},

	// Values.
	{`--json --notify ntfy:topic --task x`, `--notify "ntfy:topic": give an http or https URL, such as ` +
		`ntfy:https://ntfy.sh/TOPIC`, usage},
	{`--json --hosts gpu --task x`, `--hosts "gpu": there is no host or pool "gpu": use here (arbiter hosts add NAME -- ` +
		`COMMAND… adds a host)`, usage},
	{`--json --hosts , --task x`, `--hosts ",": a name is empty: put one comma between two names (arbiter hosts ` +
		`add NAME -- COMMAND… adds a host)`, usage},
	{`--json --notify beep --task x`, `--notify "beep": use bell, desktop, finished, ntfy:URL and webhook:URL, ` +
		`separated by commas, or off`, usage},
	{`--task`, `--task needs a value: TEXT`, usage},
	{`--json --task=`, `--task is empty: give the text of the task`, usage},
	{`--max-journal 31`, `--max-journal 31: must be at least 32`, usage},
	{`--json --no-input`, `there is no task: with --no-input, give --task or a requirements file`, usage},
	{`--json --timeout soon --task x`, `--timeout "soon": use a number with a unit, such as 90s, 15m or 2h`, usage},
	{`--json --max-cost much --task x`, `--max-cost "much": use a number`, usage},
	{`--json --max-cost nan --task x`, `--max-cost NaN: use a number`, usage},
	{`ARBITER_FUSE=inf --json --task x`, `$ARBITER_FUSE +Inf: use a number`, usage},
	{`--json --max-cost 1e400 --task x`, `--max-cost "1e400": the number is too large`, usage},
	{`--json --max-memory -1 --task x`, `--max-memory -1: must not be negative`, usage},
	{`--json --max-orchestrators 0 --task x`, `--max-orchestrators 0: must be at least 1`, usage},
	{`--json --context-warn 90 --context-critical 80 --task x`,
		`--context-warn 90, --context-critical 80: use percentages with 0 < warn ≤ critical ≤ 100`, usage},
	{`--json --theme pink --task x`,
		`--theme "pink": use one of auto, dark, light, high-contrast-dark, high-contrast-light, mono`, usage},
	{`--json --allow Bash( --task x`, `--allow "Bash(": the closing parenthesis is missing`, usage},
	{`--json --env FOO --task x`, `--env "FOO": use NAME=VALUE`, usage},
	{`--json --accept= --task x`, `--accept is empty: give a command`, usage},
	{`--json --quota-reserve 150 --task x`, `--quota-reserve 150: use a percentage from 0 to less than 100`, usage},
	{`--json --permissions allow-all --task x`,
		`--permissions allow-all lets every agent run anything without asking: add --i-accept-the-risk to confirm`, usage},

	// Files and directories.
	{`--json nowhere.md`, `cannot read the requirements file nowhere.md: no such file or directory`, usage},
	{`--json adir/nowhere`, `cannot read the requirements file adir/nowhere: no such file or directory`, usage},
	{`--json spec.md/x`, `cannot read the requirements file spec.md/x: not a directory`, usage},
	{`--json adir`, `cannot read the requirements file adir: not a regular file`, usage},
	{`--json a.md b.md`, `give one requirements file, not 2: a.md b.md`, usage},
	{`--json empty.md`, `empty.md: the requirements file is empty`, usage},
	{`--json mark.md`, `mark.md: the requirements file is empty`, usage},
	{`--json --cwd nowhere --task x`, `--cwd nowhere: no such file or directory`, usage},
	{`--json --cwd spec.md --task x`, `--cwd spec.md: not a directory`, usage},
	{`--json --state-dir spec.md/x --task x`,
		`cannot create the state directory: mkdir WORK/spec.md: not a directory; name another with --state-dir`,
		environment},
	{`--json --scenario ./nowhere.yaml --task x`,
		`cannot read the scenario ./nowhere.yaml: no such file or directory`, usage},
	{`decide --input nowhere.json`, `--input nowhere.json: no such file or directory`, usage},

	// Configuration.
	{`--json --config nowhere.yaml --task x`,
		`cannot read the configuration nowhere.yaml: no such file or directory`, usage},
	{`--json --config word.yaml --task x`, `word.yaml:2: unknown setting "modle"; did you mean model?`, usage},
	{`--json --config kind.yaml --task x`, `kind.yaml:2: max-cost: "lots" is not a number`, usage},
	{`--json --config syntax.yaml --task x`, `syntax.yaml:2:11: not valid YAML: sequence end token ']' not found`, usage},
	{`--json --config tab.yaml --task x`, `tab.yaml:2:1: not valid YAML: indent with spaces, not with a tab`, usage},
	{`--json --config twice.yaml --task x`, `twice.yaml:2: max-cost: given twice: line 1 has it, too`, usage},
	{`--json --config list.yaml --task x`, `list.yaml:3: hosts: want a mapping of names to hosts, found a list`, usage},
	{`--json --config host.yaml --task x`, `host.yaml:3: hosts.gpu.comand: unknown field "comand"; a host takes ` +
		`command, dir, slots, end, connect and pass_env; host.yaml:3: hosts.gpu: command is missing: name the words ` +
		`that start a program there, such as [ssh, box]`, usage},
	{`--json --config choice.yaml --task x`, `choice.yaml:1: sandbox "perhaps": use off, auto or on`, usage},
	{`--json --config limit.yaml --task x`, `limit.yaml:2: max-cost -3: must not be negative`, usage},
	{`--json --config task.yaml --task x`,
		`task.yaml:1: task cannot be set in a file: give --task on the command line`, usage},
	{`--json --config adir --task x`, `cannot read the configuration adir: not a regular file`, usage},
	{`ARBITER_SANDBOX=perhaps --json --task x`, `$ARBITER_SANDBOX "perhaps": use off, auto or on`, usage},
	{`ARBITER_MAX_WAIT=-5s --json --task x`, `$ARBITER_MAX_WAIT -5s: must not be negative`, usage},
	{`ARBITER_SANDBOX=perhaps --json --sandbox maybe --task x`, `--sandbox "maybe": use off, auto or on`, usage},
	{`ARBITER_TIMEOUT=soon --json --task x`,
		`$ARBITER_TIMEOUT "soon": use a number with a unit, such as 90s, 15m or 2h`, usage},

	{`--json --task one --task=two`, `--task is given twice: give it once, or put a long task into a requirements file`,
		usage},
	{`--json --task x --arbiter-env HOME=/tmp`,
		`--arbiter-env HOME: the sessions of all agents are kept in one place: use --env, which is for all of them`,
		usage},
	{`--json --task x --arbiter-env CLAUDE_CONFIG_DIR=x`, `--arbiter-env CLAUDE_CONFIG_DIR: the sessions of all ` +
		`agents are kept in one place: use --env, which is for all of them`, usage},
	{`--json --task x --arbiter-env odd`, `--arbiter-env "odd": use NAME=VALUE`, usage},

	// Standard input.
	{`--json --task -`, `stdin is empty: give the text of the task`, usage},
	{`decide --input bad.json`, `--input bad.json: want one JSON object: unexpected end of JSON input`, usage},
	{`decide --input empty.json`, `--input empty.json: an input has the member lastExecution (to evaluate progress) or ` +
		`availableAgents (to select an agent)`, usage},
	{`sessions import -`, `stdin is refused: it is cut off; nothing was imported`, contract.ExitFailed},

	// Runs.
	{`send`, `send: give one TEXT, in quotes, or - for stdin, optionally after a RUN`, usage},
	{`allow 3f2a req-1 run`, `allow: give at most one RUN and one REQUEST, or all`, usage},
	{`report --format pdf`, `--format pdf: use markdown, html, json, junit or github`, usage},
	{`usage --by colour`, `--by colour: use day, run, agent or model`, usage},
	{`undo`, `no run has worked in WORK: name a RUN (arbiter sessions lists the runs)`, usage},
	{`grants rm 9`, `there is no grant 9: this workspace has none`, usage},
	{`grants rm x --cwd adir`, `there is no grant "x": arbiter grants --cwd adir lists the grants`, usage},
	{`memory rm 9`, `there is no lesson "9": this workspace has none`, usage},
	{`memory edit nowhere`, `memory edit: read nowhere: no such file or directory`, usage},
	{`hosts rm gpu`, `there is no host "gpu" in ~/.config/arbiter/config.yaml; arbiter hosts lists them`, usage},
	{`hosts add gpu`, `hosts add: give a name and, after --, the command that starts a program there: arbiter hosts add ` +
		`box -- ssh box`, usage},
	{`verify`, `verify: WORK is in no Git repository: go to a clone of it, or name one with --cwd`, usage},
	{`logs --verify spec.md`, `the audit does not hold: line 1: it is not a JSON object`, contract.ExitFailed},
	{`--json --resume --session 3f2a`, `there is no run "3f2a"; arbiter sessions lists the runs`, usage},
	{`--json --resume --session 3f2a --config moved.yaml`,
		`there is no run "3f2a"; arbiter sessions --state-dir ~/moved lists the runs`, usage},
	{`ARBITER_STATE_DIR=../moved --json --resume --session 3f2a`,
		`there is no run "3f2a"; arbiter sessions lists the runs`, usage},
	{`agents show nobody`, `there is no agent "nobody": use one of developer, planner, reviewer, tester`, usage},
	{`sessions import nowhere.tar.gz`, `cannot read nowhere.tar.gz: no such file or directory`, usage},
	{`sessions import adir`, `adir is a directory: give the FILE that arbiter sessions export wrote`, usage},
	{`sessions import spec.md`, `spec.md is refused: it is damaged, or not an archive of arbiter sessions export ` +
		`(gzip: invalid header); nothing was imported`, contract.ExitFailed},
	{`mcp extra`, `only flags of a run can be given here: leave out extra`, usage},
	{`--json --resume`,
		`nothing to resume: no run in WORK started an agent; use --session RUN for a run of another directory` +
			` (arbiter sessions lists the runs)`, usage},
	{`logs`, `no run has worked in WORK: name a RUN (arbiter sessions lists the runs)`, usage},
	{`replay 3f2a`, `there is no run "3f2a"; arbiter sessions lists the runs`, usage},
	{`halt`, `no run is live in WORK: give its RUN; arbiter ps lists the live runs`, usage},
	{`attach`, `no run is live in WORK: give its RUN; arbiter ps lists the live runs`, usage},
	{`host`, `arbiter host is started by arbiter itself: its stdin is not a description of a run (EOF)`, usage},

	// The environment.
	{`HOME= XDG_STATE_HOME= sessions`, `there is no state directory: set HOME, XDG_STATE_HOME or --state-dir`, environment},
	{`PATH=/nowhere --json --isolation worktree --task x`, `--isolation worktree: git is not installed: install it to ` +
		`have diffs, undo and merges; or use --isolation shared`, environment},
	{`PATH=/nowhere --json --task x`, `failed: cannot find the Claude CLI "claude": executable file not found in $PATH;` +
		` install Claude Code: npm install -g @anthropic-ai/claude-code; or name it with --claude PATH; or try without it: ` +
		`--rehearse`, environment},
	{`TMPDIR=/nowhere --json --stand-in --no-input --task x`, `cannot make a scratch workspace in /nowhere: no such file ` +
		`or directory; set TMPDIR to a directory that you may write to`, environment},
	{`--json --isolation worktree --task x`, `--isolation worktree: there is no Git work tree here: run ` + "`git init`" +
		` to have diffs, undo and merges; or use --isolation shared`, environment},
	{`sessions --state-dir link`, `the state directory cannot be used: WORK/link is not safe to use: it is a symbolic ` +
		`link; name another with --state-dir`, environment},
	{`grants --state-dir link`, `the state directory cannot be used: open grants: WORK/link is not safe to use: it is a ` +
		`symbolic link; name another with --state-dir`, environment},
	{`--task x`,
		`cannot show the screen: stdin is not a terminal; use --plain for lines of text, or --json for scripts`, usage},
	{`attach orch-1`, `attach needs a terminal, and stdin is not one: run it in a terminal`, environment},
	{`--plain --claude ./nowhere --task x`,
		`failed: cannot find the Claude CLI "WORK/nowhere": no such file or directory` +
			`; install Claude Code: npm install -g @anthropic-ai/claude-code; or name it with --claude PATH; or try without ` +
			`it: --rehearse`, environment},
	{`--plain --claude ./old --task x`,
		`failed: Claude CLI 1.0.3 (WORK/old) is too old: Arbiter needs 2.1.319 or later,` +
			` and is tested up to 2.1.332; run claude update; update Claude Code: npm install -g @anthropic-ai/claude-code;` +
			` or name another with --claude PATH; or try without it: --stand-in`, environment},
	{`--plain --claude ./other --task x`, `failed: WORK/other is not the Claude CLI: --version printed "hello";` +
		` install Claude Code, or name its program with --claude PATH; update Claude Code: npm install -g ` +
		`@anthropic-ai/claude-code; or name another with --claude PATH; or try without it: --stand-in`, environment},
}

// TestWrongInvocations runs the built program with wrong command lines: the first line for the user says what
// is wrong and what to do, and the exit code is the documented one.
func TestWrongInvocations(t *testing.T) {
	for _, tt := range wrongInvocations {
		t.Run(tt.line, func(t *testing.T) {
			t.Parallel()
			home := newWrongHome(t)
			words := strings.Fields(tt.line)
			var env []string
			for strings.Contains(words[0], "=") && !strings.HasPrefix(words[0], "-") {
				env, words = append(env, words[0]), words[1:]
			}
			output, code := home.arbiter(env, words...)
			want := "arbiter: " + strings.NewReplacer("WORK", home.work, "~", home.dir).Replace(tt.want)
			testkit.Check(t, output == want && code == int(tt.exit), "exit code %d, want %d\n got %s\nwant %s", code,
				tt.exit, output, want)
		})
	}
}

// TestRemovedTwice: a run that another process removes meanwhile is removed.
func TestRemovedTwice(t *testing.T) {
	store := testkit.Must(runstore.OpenIn(t.TempDir()))(t)
	defer store.Close()
	testkit.OK(t, testkit.Must(store.Create(journal.Meta{Run: "aaaa1111-twice"}, journal.Options{}))(t).Close())
	info := testkit.Must(store.Find("aaaa1111"))(t)
	var out, errs bytes.Buffer
	for range 2 {
		testkit.OK(t, env{Env: command.Env{Stdout: &out, Stderr: &errs}}.removeRun(t.Context(), store, info))
	}
	testkit.Same(t, "removed", "aaaa1111-twice\n", out.String())
	testkit.Same(t, "it says", "Run aaaa1111 was removed by another process.\n", errs.String())
}

// TestAmbiguousRun: the beginning of an id that two runs share is refused.
func TestAmbiguousRun(t *testing.T) {
	t.Parallel()
	home := newWrongHome(t)
	store := testkit.Must(journal.OpenStore(filepath.Join(home.dir, "state", "arbiter")))(t)
	for _, run := range []string{"aaaa1111-one", "aaaa2222-two"} {
		testkit.OK(t, testkit.Must(store.Create(journal.Meta{Run: run, CWD: home.work}, journal.Options{}))(t).Close())
	}
	testkit.OK(t, store.Close())
	output, code := home.arbiter(nil, "logs", "a")
	testkit.Same(t, "exit code", int(usage), code)
	testkit.Includes(t, "logs a", output, `arbiter: "a" fits several runs: `, "aaaa1111-one", "aaaa2222-two",
		"; give more of the id")
}

// TestNoSnapshotWithoutABridge: a run that cannot start an agent does not wait for the first snapshot, which takes
// minutes in a large work tree.
func TestNoSnapshotWithoutABridge(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t, map[string]string{"a.txt": "a\n"})
	home := newWrongHome(t)
	home.work = repo.Path
	output, code := home.arbiter(nil, "--json", "--sandbox", "auto", "--claude", "./nowhere", "--task", "x")
	testkit.Check(t, code == int(environment) && strings.Contains(output, "cannot find"), "exit code %d: %s", code,
		output)
	testkit.Same(t, "references", "", repo.Git("for-each-ref", "refs/arbiter"))
}

// A wrongHome is a home directory with faulty files, and a directory to work in.
type wrongHome struct {
	t         *testing.T
	dir, work string
}

func newWrongHome(t *testing.T) wrongHome {
	t.Helper()
	dir := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	h := wrongHome{t, dir, filepath.Join(dir, "work")}
	testkit.OK(t, os.Mkdir(h.work, 0o700))
	for name, text := range map[string]string{
		"spec.md": "Build it.\n", "empty.md": "\n", "mark.md": "\ufeff", "a.md": "A.\n", "b.md": "B.\n",
		"word.yaml": "theme: dark\nmodle: opus\n", "kind.yaml": "theme: dark\nmax-cost: lots\n",
		"tab.yaml": "theme: dark\n\tmax-cost: 3\n", "twice.yaml": "max-cost: 1\nmax-cost: 2\n",
		"list.yaml": "theme: dark\nhosts:\n  - gpu\n", "host.yaml": "hosts:\n  gpu:\n    comand: [ssh, gpu]\n",
		"syntax.yaml": "theme: dark\nmax-cost: [1\n",
		"choice.yaml": "sandbox: perhaps\n", "limit.yaml": "theme: dark\nmax-cost: -3\n", "task.yaml": "task: x\n",
		"moved.yaml": "state-dir: ../moved\n",
		"bad.json":   "{", "empty.json": "{}",
		"old": "#!/bin/sh\necho '1.0.3 (Claude Code)'\n", "other": "#!/bin/sh\necho hello\n",
	} {
		testkit.OK(t, os.WriteFile(filepath.Join(h.work, name), []byte(text), 0o700))
	}
	testkit.OK(t, os.Mkdir(filepath.Join(h.work, "adir"), 0o700), os.Symlink("adir", filepath.Join(h.work, "link")))
	return h
}

// arbiter runs the program, and returns the first line that is meant for the user.
func (h wrongHome) arbiter(env []string, args ...string) (string, int) {
	state := "XDG_STATE_HOME=" + filepath.Join(h.dir, "state")
	c := runIn(h.t, append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.dir, state}, env...), h.work, "", args...)
	for line := range strings.Lines(c.errs + c.out) {
		if strings.HasPrefix(line, "arbiter: ") {
			return strings.TrimSuffix(line, "\n"), int(c.code)
		}
	}
	return c.out + c.errs, int(c.code)
}

// after returns the rest of the line that contains a mark.
func after(t *testing.T, text, mark string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, mark)
	testkit.Need(t, ok, "nothing says %q:\n%s", mark, text)
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// TestResumesAsPrinted: the printed resume command resumes the run when a shell executes it unchanged, even if
// only a flag selected the state directory and arbiter is not on PATH. The same holds for the other printed
// commands that name the run.
func TestResumesAsPrinted(t *testing.T) {
	t.Parallel()
	const mark = "To resume: "
	s := start(t, []string{"PATH=/usr/bin:/bin"}, "--stand-in", "--json", "--state-dir", "it's here", "--scenario",
		"dialogue", "--task", "Name it")
	run := await[contract.Session](s, "the beginning", nil).Session
	await[contract.Question](s, "a question", nil)
	testkit.OK(t, s.cmd.Process.Signal(os.Interrupt))
	s.finish(contract.ExitInterrupted)
	line := after(t, s.stderr.String(), mark)
	program, _, _ := strings.Cut(line, " ")             // the shell finds no arbiter
	onScreen := strings.Replace(line, "--json ", "", 1) // a human reads `sessions show`
	shown, _ := s.output(0, "sessions", "show", "--state-dir", "it's here", command.ShortID(run))
	testkit.Check(t, after(t, shown, mark) == onScreen, "shown:\n%s\nwant %s", shown, onScreen)
	shell := func(line string) (string, string) {
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir, cmd.Env = s.cmd.Dir, s.cmd.Env
		var errs strings.Builder
		cmd.Stderr = &errs
		out, _ := cmd.Output()
		return string(out), errs.String()
	}
	_, output := shell(program + " decide --explain --number 99 --state-dir \"it's here\" " + command.ShortID(run))
	explain, _, _ := strings.Cut(after(t, output, "(arbiter decide"), " lists them")
	if _, errs := shell(program + " decide" + explain); errs != "" {
		t.Errorf("arbiter decide%s: %s", explain, errs)
	}
	out, errs := shell(line)
	lines, err := contractLines(out)
	testkit.Need(t, err == nil, "%s: %v\n%s%s", line, err, out, errs)
	first := lines[0].Body.(contract.Session)
	testkit.Check(t, first.Session == run && first.Resumed, "%s: %+v", line, first)
}

// TestStateIsNamedWhereNeeded: a printed command names the state directory if the command would otherwise use
// another one or none. The configuration counts for the command arbiter that begins or resumes a run, not for
// other commands.
func TestStateIsNamedWhereNeeded(t *testing.T) {
	home := t.TempDir()
	at := func(names ...string) string { return filepath.Join(append([]string{home}, names...)...) }
	usual, other, link := at(".local", "state", "arbiter"), at("other"), at("link")
	for _, dir := range []string{other, at("work", ".arbiter"), at(".config", "arbiter"), at(".claude")} {
		testkit.OK(t, os.MkdirAll(dir, 0o700))
	}
	testkit.OK(t, os.Symlink(other, link))
	own, works := at(".config", "arbiter", "config.yaml"), at("work", ".arbiter", "config.yaml")
	const resumes, commands, trusts = 1, 2, 4
	for name, tt := range map[string]struct {
		state, variable string
		files           map[string]string
		names           int
	}{
		"usual":             {state: usual},
		"by flag":           {state: other, names: resumes | commands},
		"variable":          {state: other, variable: other},
		"variable, a link":  {state: other, variable: link},
		"variable, nearby":  {state: other, variable: "../other"},
		"variable, another": {state: usual, variable: other, names: resumes | commands},
		"own file":          {state: other, files: map[string]string{own: "state-dir: " + other}, names: commands},
		"own file, flag":    {state: usual, files: map[string]string{own: "state-dir: " + other}, names: resumes},
		"own file, beneath": {state: usual, variable: usual, files: map[string]string{own: "state-dir: " + other}},
		"broken file":       {state: usual, files: map[string]string{own: "state-dir: ["}, names: resumes},
		"not trusted": {state: other, files: map[string]string{works: "state-dir: " + other},
			names: resumes | commands},
		"trusted": {state: other, files: map[string]string{works: "state-dir: " + other}, names: commands | trusts},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HOME", home)
			for _, unset := range []string{"XDG_STATE_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "ARBITER_CONFIG"} {
				t.Setenv(unset, "")
			}
			t.Setenv("ARBITER_STATE_DIR", tt.variable)
			t.Chdir(at("work"))
			for path, text := range tt.files {
				testkit.OK(t, os.WriteFile(path, []byte(text+"\n"), 0o600))
				t.Cleanup(func() { _ = os.Remove(path) })
			}
			if tt.names&trusts != 0 {
				inProcess("", "trust", "--yes").ended(t, "trust", contract.ExitComplete)
				t.Cleanup(func() { _ = os.RemoveAll(usual) })
			}
			for does, output := range map[int]string{resumes: settings.StateForResume(tt.state),
				commands: settings.StateForCommand(tt.state)} {
				want := ""
				if tt.names&does != 0 {
					want = " --state-dir " + tt.state
				}
				testkit.Same(t, does, want, output)
			}
			_, err := os.Stat(usual)
			testkit.Check(t, err != nil || tt.names&trusts != 0, "a state directory was made")
		})
	}
}
