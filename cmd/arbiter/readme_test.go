package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// A written line is a command line that a document tells people to type.
type written struct {
	where string
	words []string // after the program's name
}

func (w written) String() string { return strings.Join(w.words, " ") }

var (
	codeBlock  = regexp.MustCompile("(?ms)^ *```sh\n(.*?)^ *```")
	codeSpan   = regexp.MustCompile("`([^`\n]+)`")
	programAt  = regexp.MustCompile(`(?:^|\| |\(|source )(?:[A-Z_]+=\S+ )*(?:bin/)?arbiter((?: .*)?)$`)
	redirected = regexp.MustCompile(` [<>] \S+`)
	scriptAt   = regexp.MustCompile(`^(scripts/\w+)`)
	flagInText = regexp.MustCompile("`(--[a-z-]+)[^`\n]*`")
)

// document returns the command lines of a Markdown text: those of shell blocks, and code spans that begin with
// the program's name.
func document(text string) (lines []written, scripts []string) {
	add := func(where, code string) {
		if before, inside, substituted := strings.Cut(code, "<("); substituted {
			code = before + strings.TrimSuffix(inside, ")")
		}
		code = redirected.ReplaceAllString(code, "") // the shell handles it
		for part := range strings.SplitSeq(code, " | ") {
			if m := programAt.FindStringSubmatch(strings.TrimSpace(part)); m != nil {
				lines = append(lines, written{where, shellWords(m[1])})
			}
		}
	}
	for _, block := range codeBlock.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(block[1]) {
			code, _, _ := strings.Cut(line, " # ")
			code = strings.TrimSpace(code)
			add(line, code)
			if m := scriptAt.FindStringSubmatch(code); m != nil {
				scripts = append(scripts, m[1])
			}
		}
	}
	for _, span := range codeSpan.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		if !strings.Contains(span[1], "[flags]") { // a synopsis is no line to type
			add(span[0], span[1])
		}
	}
	return lines, scripts
}

// shellWords returns the words of a line, without an ellipsis for omitted arguments.
func shellWords(line string) []string {
	before := ""
	return slices.DeleteFunc(command.Split(line), func(w string) bool {
		left := w == "" || w == "…" && before != "--task"
		before = w
		return left
	})
}

// recorded returns arbiter's commands with actions that only record which command was reached.
func recorded(reached *string) *cli.App {
	app := env{command.Env{Stdin: strings.NewReader(""), Stdout: &strings.Builder{}, Stderr: &strings.Builder{}}}.app()
	app.Action = func(*cli.Context) error { *reached = "arbiter"; return nil }
	for _, c := range app.Commands {
		for _, c := range append([]*cli.Command{c}, c.Subcommands...) {
			c.Action = func(*cli.Context) error { *reached = c.Name; return nil }
		}
	}
	return app
}

// parse checks a line against the commands and flags.
func (w written) parse() error {
	var reached string
	app := recorded(&reached)
	h := command.ReadLine(app, w.words)
	if err := app.RunContext(context.Background(), h.Ordered()); err != nil {
		return err
	}
	if reached != h.Command.Name {
		return fmt.Errorf("reaches %q", reached)
	}
	for _, f := range command.Flags(h.Command) {
		value, given := h.Given[f.Name]
		if words := command.Choices(f.Value); given && words != nil && !slices.Contains(words, value) {
			return fmt.Errorf("--%s takes %s", f.Name, f.Value)
		}
	}
	if takes := strings.Fields(h.Command.ArgsUsage); len(h.Args) > 0 && !strings.Contains(h.Command.ArgsUsage, "…") &&
		len(h.Args) > len(takes) {
		return fmt.Errorf("takes %q, not %q", h.Command.ArgsUsage, h.Args)
	}
	if words := command.Choices(strings.Trim(h.Command.ArgsUsage, "[]")); words != nil &&
		(len(h.Args) != 1 || !slices.Contains(words, h.Args[0])) {
		return fmt.Errorf("takes %q, not %q", h.Command.ArgsUsage, h.Args)
	}
	return nil
}

// pages are the documents of the repository.
func pages(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, pattern := range []string{"../../*.md", "../../docs/*.md"} {
		names := testkit.Must(filepath.Glob(pattern))(t)
		for _, name := range names {
			text := testkit.Must(os.ReadFile(name))(t)
			pages[strings.TrimPrefix(name, "../../")] = string(text)
		}
	}
	testkit.Need(t, len(pages) >= 30, "%d pages", len(pages))
	return pages
}

// allWritten returns all command lines that the pages for users, the help texts and the manual page
// contain.
func allWritten(t *testing.T) (lines []written) {
	t.Helper()
	all := pages(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		typed, scripts := document(all[name])
		for i := range typed {
			typed[i].where = name + ": " + typed[i].where
		}
		lines = append(lines, typed...)
		if name == "README.md" && (len(typed) < 7 || !slices.Equal(scripts, []string{"scripts/demo", "scripts/test"})) {
			t.Errorf("the README has %d lines and the scripts %q", len(typed), scripts)
		}
		for _, script := range scripts {
			info, err := os.Stat("../../" + script)
			testkit.Check(t, err == nil && info.Mode()&0o111 != 0, "%s: %s cannot be run: %v", name, script, err)
		}
		for _, m := range flagInText.FindAllStringSubmatch(all[name], -1) {
			if !slices.ContainsFunc(command.All(env{}.app()), func(c *cli.Command) bool {
				return m[1] == "--help" || slices.ContainsFunc(command.Flags(c), func(f command.Flag) bool {
					return "--"+f.Name == m[1]
				})
			}) && m[1] != "--" {
				t.Errorf("%s: there is no flag %s", name, m[1])
			}
		}
	}
	testkit.Check(t, len(lines) >= 60, "the pages have %d lines", len(lines))
	for _, c := range command.All(env{}.app()) {
		for line := range strings.Lines(c.Description) {
			code, _, _ := strings.Cut(strings.TrimSpace(line), " # ")
			for _, part := range strings.FieldsFunc(code,
				func(r rune) bool { return r == '|' || r == '>' || r == ')' }) {
				if m := programAt.FindStringSubmatch(strings.TrimSpace(part)); strings.HasPrefix(line, "  ") &&
					m != nil {
					lines = append(lines, written{c.HelpName + " --help", shellWords(m[1])})
				}
			}
		}
	}
	for _, e := range preface.Examples {
		lines = append(lines, written{"the examples", shellWords(strings.TrimPrefix(e.Term, "arbiter"))})
	}
	return lines
}

var slashInText = regexp.MustCompile("`/([a-z]+)(?: [A-Z a-z|…]*)?`")

// TestSlashCommandsOfThePages: the pages name no slash command that the screen does not have.
func TestSlashCommandsOfThePages(t *testing.T) {
	count := 0
	for name, text := range pages(t) {
		for _, m := range slashInText.FindAllStringSubmatch(text, -1) {
			count++
			// These are commands of Claude Code.
			if m[1] != "exit" && m[1] != "mcp" &&
				!slices.ContainsFunc(view.EditorCommands, func(s view.EditorSpec) bool { return s.Name == m[1] }) {
				t.Errorf("%s: there is no command /%s", name, m[1])
			}
		}
	}
	testkit.Check(t, count >= 15, "the pages name %d slash commands", count)
}

// TestWrittenLinesAreRead: the program accepts every command line that the documentation contains. Each line that is
// not run stands in a document, and the test that does it exists.
func TestWrittenLinesAreRead(t *testing.T) {
	all := allWritten(t)
	for _, w := range all {
		err := w.parse()
		testkit.Check(t, err == nil, "%s: arbiter %s: %v", strings.TrimSpace(w.where), w, err)
	}
	tests := ""
	for _, name := range testkit.Must(filepath.Glob("*_test.go"))(t) {
		tests += string(testkit.Must(os.ReadFile(name))(t))
	}
	for begin, reason := range notRun {
		for _, name := range regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(reason, -1) {
			testkit.Includes(t, fmt.Sprintf("notRun[%q]", begin), tests, "\nfunc "+name+"(")
		}
		if !slices.ContainsFunc(all, func(w written) bool {
			return strings.HasPrefix(w.String()+" ", begin+" ")
		}) {
			t.Errorf("notRun[%q]: no document has such a line", begin)
		}
	}
	for _, bad := range []string{"--nonsense", "sessions frob x y", "--theme pink", "schema nothing",
		"logs --audti RUN", "attach orch-1 orch-2"} {
		testkit.Check(t, (written{words: strings.Fields(bad)}).parse() != nil, "%s is accepted as a command line", bad)
	}
}

// notRun are lines that this test cannot run, by their first words, with the reason.
var notRun = map[string]string{
	"attach": "takes a terminal and a run that is alive; TestAttachFromAnotherTerminal " +
		"does it",
	"allow":                         "takes a run that is alive; TestAnswersFromASecondTerminal does it",
	"choose":                        "takes a run that is alive; TestChoose does it",
	"decide --explain RUN --at":     "is run by TestExplainShowsOneWhole",
	"decide --explain RUN --number": "is run by TestExplainShowsOneWhole",
	"decide --input":                "asks a model; TestDecideOnAnInput and TestReplayDecisions have one",
	"--detach":                      "leaves a run behind; TestDetach does it",
	"deny":                          "takes a run that is alive; TestAnswersFromASecondTerminal does it",
	"doctor":                        "looks at this machine, and has tests of its own",
	"grants rm": "takes back what nobody has allowed here; TestGrantsAreListedAndTakenBack " +
		"does it",
	"demo":                                   "is run by TestDemoOfTheInstalled",
	"diff":                                   "needs a run in a repository; TestARunRecordsItsChanges does it",
	"land":                                   "needs a run in a repository; TestLandWithProof does it",
	"memory edit FILE":                       "takes the text that was refused; TestMemoryCommands does it",
	"--task-from":                            "asks GitHub; TestTaskFromAnIssue does it",
	"undo":                                   "needs a run in a repository; TestARunRecordsItsChanges does it",
	"verify":                                 "needs a landed commit; TestLandWithProof does it",
	"hosts check":                            "opens a host; TestCheckHost does it",
	"--hosts":                                "opens hosts; TestOrchestratorsOnHosts does it",
	"--notify":                               "posts to a server; TestNotifications does it",
	"fork":                                   "takes a run that is no rehearsal; TestForkAtEveryDecision does it",
	"halt":                                   "takes a run that is alive; TestHaltAndContinue does it",
	"host":                                   "serves the process that starts it",
	"hook":                                   "takes a run that is alive; TestHookAsksTheRun does it",
	"logs -f":                                "takes a run that is alive; TestWatch does it",
	"memory rm":                              "removes lessons that nobody has written here; TestMemoryCommands does it",
	"report -":                               "reads events from stdin; TestReportOfARun does it",
	"replay RUN --decisions --decider-model": "asks a model; TestDecideOnAnInput and TestReplayDecisions have one",
	"send":                                   "takes a run that is alive; TestAnswersFromASecondTerminal does it",
	"sessions export":                        "takes a run that is not a rehearsal; TestARunContinuesElsewhere does it",
	"sessions import":                        "takes an archive; TestARunContinuesElsewhere does it",
	"sessions rm":                            "removes the run of the other lines; TestStrays does it",
	"status":                                 "takes a run that is alive; TestPsAndStatus does it",
	"stop":                                   "takes a run that is alive; TestStop does it",
	"trust":                                  "asks on a terminal; TestTrustInTheRun does it",
	"web":                                    "serves until it is ended; TestWebPage does it",
	"watch":                                  "takes a run that is alive; TestWatch does it",
}

func (w written) notRun() bool {
	for begin := range notRun {
		if strings.HasPrefix(w.String()+" ", begin+" ") {
			return true
		}
	}
	return false
}

// TestWrittenLinesAreRun runs the lines in their own directory, without a terminal, and with the stand-in as
// claude.
func TestWrittenLinesAreRun(t *testing.T) {
	testkit.Long(t)
	first := start(t, nil, "--json", "--no-input", "--stand-in", "--scenario", "workflow", "--task", "Weave")
	first.finish(contract.ExitComplete)
	run := command.ShortID(collect[contract.Session](first)[0].Session)
	for name, text := range map[string]string{"REQUIREMENTS.md": "Build it.\n", "run.audit": ""} {
		testkit.OK(t, os.WriteFile(filepath.Join(first.cmd.Dir, name), []byte(text), 0o600))
	}
	arbiter := func(input string, args ...string) (string, int) {
		// vi would wait for a human.
		c := runIn(t, append(slices.Clone(first.cmd.Env), "VISUAL=true"), first.cmd.Dir, input, args...)
		return c.out + c.errs, int(c.code)
	}
	audit, _ := arbiter("", "logs", run, "--audit", "--json")
	testkit.OK(t, os.WriteFile(filepath.Join(first.cmd.Dir, "run.audit"), []byte(audit), 0o600))
	seen := map[string]bool{}
	for _, w := range allWritten(t) {
		line := w.String()
		if seen[line] || w.notRun() {
			continue
		}
		seen[line] = true
		args := typable(w.words, run)
		want, says, input, begins := 0, "", "", false
		h := command.ReadLine(env{}.app(), args)
		if _, screen := h.Given["screen"]; screen {
			want, says = int(contract.ExitUsage), "cannot show the screen"
		} else if _, help := h.Given["help"]; !help && h.Command.Name == "arbiter" {
			_, json := h.Given["json"]
			_, plain := h.Given["plain"]
			_, resumes := h.Given["resume"]
			switch {
			case !json && !plain:
				want, says = int(contract.ExitUsage), "cannot show the screen"
			case resumes:
				want = -1 // any but a usage error: the resumed run has reached the end of its script
			default:
				begins = true
				args = append([]string{"--stand-in"}, args...)
				_, tasked := h.Given["task"]
				switch {
				case tasked || len(h.Args) > 0:
					args = append([]string{"--no-input"}, args...)
				case json:
					input = `{"type":"message","text":"Build it."}` + "\n"
				default:
					input = "Build it.\n"
				}
			}
		}
		try := func(t *testing.T) {
			out, code := arbiter(input, args...)
			testkit.Check(t, (want < 0 || code == want) && strings.Contains(out, says) &&
				code != int(contract.ExitBug) && (want >= 0 || code != int(contract.ExitUsage)),
				"%s: arbiter %s: exit code %d, %.600s", strings.TrimSpace(w.where), strings.Join(args, " "), code, out)
		}
		if !begins {
			try(t)
			continue
		}
		t.Run(line, func(t *testing.T) { // these lines begin their own runs
			t.Parallel()
			try(t)
		})
	}
	testkit.Check(t, len(seen) >= 25, "only %d lines were run", len(seen))
}

// typable replaces each placeholder by a value.
func typable(words []string, run string) []string {
	var args []string
	for _, w := range words {
		switch strings.TrimRight(w, "…") {
		case "RUN", "3f2a", "1a2b3c4d", "5e6f7a8b":
			w = run
		case "NAME":
			w = "planner"
		case "COMMAND":
			w = "logs"
		}
		args = append(args, w)
	}
	return args
}

// TestReferencePages checks that the pages of settings and of commands agree with the tables that the program
// uses. `go test ./cmd/arbiter -run TestReferencePages -freeze` writes them, before
// TestFrozenHelp reads them.
func TestReferencePages(t *testing.T) {
	for path, got := range map[string]string{
		"../../docs/configuration.md": configurationPage(t),
		"../../docs/commands.md":      commandsPage(),
	} {
		if *freeze {
			testkit.OK(t, os.WriteFile(path, []byte(got), 0o644))
		}
		want := testkit.Must(os.ReadFile(path))(t)
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
			t.Errorf("%s is not what the program says; go test ./cmd/arbiter -run TestReferencePages -freeze writes it (-file "+
				"+now):\n%s", path, diff)
		}
	}
}

const configurationHead = `# Configuration reference

This page is generated from the program's own table of settings
(` + "`go test ./cmd/arbiter -run TestReferencePages -freeze`" + `).

Arbiter reads each setting from the first of these places that names it:

1. the flag on the command line
2. the environment variable: ` + "`ARBITER_`" + ` and the name of the flag in capitals, such as ` + "`ARBITER_MAX_COST`" + `
3. ` + "`.arbiter/config.yaml`" + ` in the workspace, if you [trust](permissions.md#trust) the workspace
4. ` + "`config.yaml`" + ` in your configuration directory: ` + "`$XDG_CONFIG_HOME/arbiter`" + `, else ` + "`~/.config/arbiter`" + `
   (macOS: ` + "`~/Library/Application Support/arbiter`" + `); ` + "`--config FILE`" + ` reads another file instead
5. the default

In the list below, † is a flag only, ‡ a flag or a line of a file, § a flag or a variable. The keys of the file are the
names of the flags. Repeatable flags are lists:

` + "```yaml" + `
model: opus
max-cost: 5
allow:
  - Bash(go test *)
  - Edit(src/**)
decider: {kind: hybrid, provider: openai, base_url: "http://127.0.0.1:11434/v1", model: "qwen3:8b"}
` + "```" + `

The settings of the decider may be a block, with the keys kind, provider, model, base_url, key_env,
max_tokens, temperature, effort and timeout ([deciders](deciders.md#providers)).

Arbiter refuses an unknown key or variable, and a wrong value, with the file and the line.
` + "`arbiter schema config`" + ` prints a JSON Schema of the file, for editors.
A run keeps the settings that it started with. With ` + "`--resume`" + `, a flag or a variable changes a setting.
`

func configurationPage(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(configurationHead)
	group := ""
	for _, s := range settings.Table {
		f := command.FlagDoc(s.Flag())
		if s.Group != group {
			group = s.Group
			fmt.Fprintf(&b, "\n## %s\n\n", group)
		}
		testkit.Check(t, f.Env == "" || f.Env == "ARBITER_"+strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_")),
			"the page does not say that --%s has the variable %s", f.Name, f.Env)
		mark := map[[2]bool]string{{true, false}: "†", {false, false}: "‡", {true, true}: "§"}[[2]bool{s.Flagged,
			f.Env != ""}]
		fmt.Fprintf(&b, "- `%s`%s: %s\n", f.Term(), mark, f.Meaning())
	}
	return b.String()
}

const commandsHead = `# Command reference

Generated by ` + "`go test ./cmd/arbiter -run TestReferencePages -freeze`" + `. ` + "`arbiter COMMAND --help`" + ` and
` + "`arbiter man | man -l -`" + ` have examples, too. Flags go before arguments; *also* names those
that are below or among the [settings](configuration.md). ` + "`arbiter`" + ` without a command starts or resumes a run.

Exit codes: 0 done, also if there is nothing to list; 2 bad usage, no such run, agent, request, file or commit, or the run
refuses; 5 a file, a directory or Git cannot be read or written, or arbiter does not answer; 130, 143 ended by a signal.
The help of a command says what else its codes mean. Those of a run are in the [contract](contract.md#exit-codes).

## Flags of several commands

`

func commandsPage() string {
	var b strings.Builder
	b.WriteString(commandsHead)
	all, count := command.All(env{}.app())[1:], map[string]int{}
	for _, s := range settings.Table {
		count[flagLine(command.FlagDoc(s.Flag()))] = 3
	}
	for _, c := range all {
		for _, f := range command.Flags(c) {
			line := flagLine(f)
			if f.Category == "" {
				count[line]++
			}
			if f.Category == "" && count[line] == 3 {
				b.WriteString(line)
			}
		}
	}
	for i, c := range all {
		if i+1 < len(all) && all[i+1].Name == "ls" {
			continue // it does what ls does
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", commandTitle(c.HelpName, command.Synopsis(c)[0]),
			strings.ToUpper(c.Usage[:1])+c.Usage[1:])
		var own, also []string
		others := ""
		for _, f := range command.Flags(c) {
			switch line := flagLine(f); {
			case f.Category != "": // the other page tells of it
				others = " and settings that `--help` lists"
			case count[line] > 2:
				also = append(also, "`--"+f.Name+"`")
			default:
				own = append(own, line)
			}
		}
		if own != nil {
			b.WriteString("\n" + strings.Join(own, ""))
		}
		if also != nil || others != "" {
			fmt.Fprintf(&b, "\nAlso %s.\n", strings.TrimPrefix(strings.Join(also, ", ")+others, " and "))
		}
	}
	return b.String()
}

// commandTitle is the heading of a command: what to type after arbiter, without its flags.
func commandTitle(name, synopsis string) string {
	parent, list := strings.CutSuffix(strings.TrimPrefix(name, "arbiter "), " ls")
	if list {
		return parent + " [ls]"
	}
	return strings.ReplaceAll(strings.TrimPrefix(synopsis, "arbiter "), " [flags]", "")
}

// flagLine is the line about a flag of a command.
func flagLine(f command.Flag) string { return fmt.Sprintf("- `%s`: %s\n", f.Term(), f.Meaning()) }

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
		testkit.Check(t, err == nil && string(out) == want, "%s%v: got\n%s\nwant\n%s\n%s", script, err, out, want,
			errs.String())
	}
	testkit.Check(t, run >= 6, "%d examples were run", run)
}
