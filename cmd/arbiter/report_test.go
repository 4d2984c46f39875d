package main

import (
	"bufio"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	"github.com/arbiter-cli/arbiter/internal/report"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestReportOfARun: the report of a real run, in each format, from its event log and from its events.
func TestReportOfARun(t *testing.T) {
	testkit.Long(t)
	s := start(t, nil, "--json", "--rehearse", "--stand-in", "--task", "Write the prophecy\n::error::x")
	result := s.finish(contract.ExitComplete)
	if output := s.stderr.String(); strings.Contains(output, "asked ") || !strings.Contains(output, "\nTo resume: ") {
		t.Errorf("with --json there is a receipt:\n%s", output)
	}
	r := decodedAs[report.Report](t, stdoutOf(s.output(0, "report", s.run(), "--format", "json")))
	testkit.Check(t, r.Run == s.run() && r.Status == contract.StatusComplete && r.CostUSD == result.CostUSD &&
		r.Usage == result.Usage && r.Summary == result.Summary, "%+v", r)
	testkit.Check(t, len(r.Checks) == 2 && r.Checks[0].Final && r.Checks[0].SHA256 != "" && len(r.Agents) == 3 &&
		len(r.Decisions) != 0 && len(r.Open) == 0, "%+v", r)
	cost := 0.0
	for _, a := range r.Agents {
		cost += a.CostUSD
	}
	if math.Abs(cost-result.CostUSD) > 1e-5 { // the costs of turns are rounded
		t.Errorf("the agents cost %v, the run %v", cost, result.CostUSD)
	}
	for format, want := range map[string]string{
		"markdown": "\n## Proved\n\n- check of orch-1, passed: `", "html": "<h2>Proved</h2>",
		"junit":  `<testsuite name="checks" tests="2" failures="0"`,
		"github": "::notice title=Run " + command.ShortID(s.run()) + "%3A complete::",
	} {
		out, _ := s.output(0, "report", s.run(), "--format", format)
		testkit.Check(t, strings.Contains(out, want) && !strings.Contains(out, "\n::error"), "%s lacks %q:\n%s", format,
			want, out)
	}
	var events strings.Builder
	for i, l := range s.lines {
		line := testkit.Must(contract.EncodeLine(nil, uint64(i+1), l.Time, l.Event))(t)
		events.Write(line)
	}
	streamed := inProcess(events.String(), "report", "-", "--format", "junit").ended(t, "from its events",
		contract.ExitComplete, `<testsuite name="checks" tests="2"`)
	testkit.OK(t, xml.Unmarshal([]byte(streamed.out), new(struct{})))
}

// TestReportOfWork: the report takes changes from the run's snapshots, and writes files as a whole.
func TestReportOfWork(t *testing.T) {
	w := newWorked(t)
	t.Setenv(subcommands.StepSummary, "")
	testkit.Includes(t, "without a snapshot", stdoutOf(w.arbiter(contract.ExitComplete, "report")),
		"Not known: the run has no snapshot")
	w.snapshot(workspaces.Base)
	w.Write("a", "2\n", "new <b>", "1\n")
	w.snapshot(workspaces.End)
	testkit.Includes(t, "", stdoutOf(w.arbiter(contract.ExitComplete, "report")), "- added `new <b>` (+1 -0)")
	file := filepath.Join(w.Path, "report.html")
	for range 2 {
		w.prints("", contract.ExitComplete, "report", "--format", "html", "--output", file)
	}
	text, err := os.ReadFile(file)
	w.Must(err)
	testkit.Check(t, strings.Contains(string(text), "<code>new &lt;b&gt;</code>") &&
		strings.HasSuffix(string(text), "</html>\n"), "%s", text)
	outputs := filepath.Join(w.Path, "outputs")
	t.Setenv(subcommands.StepOutput, outputs)
	summary := filepath.Join(w.Path, "summary.md")
	t.Setenv(subcommands.StepSummary, summary)
	w.Write("summary.md", "before\n")
	out, _ := w.arbiter(contract.ExitComplete, "report", "--format", "github")
	testkit.Check(t, strings.HasPrefix(out, "::error title=Run"), "%s", out)
	testkit.Includes(t, "the step's summary", textOf(t, summary), "before\n# Report of run")
	testkit.Includes(t, "the step's outputs", textOf(t, outputs), "run="+gittest.Run+"\nstatus=")
	left, err := filepath.Glob(filepath.Join(w.Path, "*.tmp"))
	testkit.Check(t, err == nil && len(left) == 0, "%v, left behind: %v", err, left)
}

// TestReportRefuses: each error has its exit code, and no file is changed.
func TestReportRefuses(t *testing.T) {
	w := newWorked(t)
	w.prints("there is no run \"frob\"", contract.ExitUsage, "report", "frob")
	w.prints("give at most one RUN", contract.ExitUsage, "report", "a", "b")
	w.prints("--output is empty", contract.ExitUsage, "report", "--output", " ")
	w.prints("it is a directory", contract.ExitEnvironment, "report", "--output", w.Path)
	w.prints("no such file or directory", contract.ExitEnvironment, "report", "--output", filepath.Join(w.Path,
		"missing", "x"))
	w.prints("there are no events on stdin", contract.ExitUsage, "report", "-")
	whole := `{"v":1,"seq":1,"time":"2026-03-01T12:00:00.000Z","id":"human","event":"notice","text":"x"}` + "\n"
	for text, want := range map[string]contract.Exit{
		whole + whole[:20]: contract.ExitComplete, whole[:20]: contract.ExitUsage,
		whole + whole[:20] + "\n" + whole: contract.ExitUsage,
	} {
		c := inProcess(text, "report", "-").ended(t, text, want)
		testkit.Same(t, text, want == contract.ExitComplete, strings.Contains(c.out, "in the middle of a line"))
	}
	c := inProcess("{}\n", "report", "-").ended(t, "another line", contract.ExitUsage,
		"line 1 is not an event of arbiter --json")
	testkit.Same(t, "stdout", "", c.out)
}

// factsPlay is a run on another host, in a copy of its own, with a permission request and points that stay open.
var factsPlay = playOf(
	arbiter(append(summons("Write dawn.txt"), on("It stands", complete("The file is there."))), patience),
	orchestrator("orchestrator", "", []object{bash("echo it > dawn.txt"), done("It stands.")}))

// factFaces are the columns of the table of facts, in their order.
var factFaces = []string{"screen", "plain", "logs", "status", "web", "ACP", "MCP", "report", "action"}

// fact is a row of the table: the words that each face shows, or another form of them, which programs read.
type fact struct {
	name    string
	words   string
	forms   map[string]string // by its name in the table
	reasons map[string]string // by face: why it does not show the fact
}

// TestFactsOnEveryFace: every face says the same of a run, of a permission request in it, and of its end, or there is a
// reason. testdata/frozen/faces.md is the table; -freeze writes it.
func TestFactsOnEveryFace(t *testing.T) {
	t.Parallel()
	h := build(t, players(t)[0], factsPlay)
	dir := gittest.Temp(t)
	for _, d := range []string{"bin", "home"} {
		testkit.OK(t, os.Mkdir(filepath.Join(dir, d), 0o700))
	}
	equip(t, filepath.Join(dir, "bin"), "")
	config := write(t, fmt.Sprintf("hosts:\n  box:\n    command: [env, -i, HOME=%s/home, "+
		"PATH=%s/bin:/usr/local/bin:/usr/bin:/bin]\n    pass_env: [ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY, "+
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC]\n", dir, dir), t.TempDir(), "config.yaml")
	h.work = gittest.New(t, map[string]string{"old.txt": "old\n"}).Path
	args := []string{"--trust", "--claude", h.claude, "--config", config, "--hosts", "box", "--isolation", "worktree",
		"--sandbox", "off", "--permission-wait", "10m"}
	p := h.open(append(args, "--task", "Make a thing")...)
	p.await("Allow once", "Waits for you") // the run is live
	shown := map[string]string{}
	show := func(face, text string) { shown[face] += "\n" + text }
	show("screen", p.Screen().Text())
	var st struct {
		Run   string
		Cost  float64 `json:"cost_usd"`
		Inbox []struct {
			Request contract.PermissionRequest
		}
	}
	if err := json.Unmarshal([]byte(h.output("status", "--json")), &st); err != nil || len(st.Inbox) != 1 {
		t.Fatalf("%v: %+v", err, st)
	}
	request := st.Inbox[0].Request
	deadline, err := time.Parse(time.RFC3339, request.Deadline)
	testkit.Need(t, err == nil && request.Place != nil, "%v: %+v", err, request)
	plain := h.run(exec.Command("arbiter", "--plain"))
	plain.await("Request 1", "Denied at")
	show("plain", plain.Screen().Text())
	plain.Type("/now\r")
	show("plain", plain.await("Permission mode").Text())
	tool := h.serves(nil)
	mcpView := func() string {
		return string(testkit.Must(json.Marshal(tool.sees("wait", map[string]any{"run": st.Run})))(t))
	}
	show("MCP", string(testkit.Must(json.Marshal(tool.sees("status", map[string]any{"run": st.Run})))(t)))
	editor := h.edits(acpEditors["subagents"], args...)
	editor.loads(h.testHome, st.Run)
	editor.permission(0)
	page := h.page(st.Run)
	show("web", page.card())
	show("status", h.output("status"))

	h.output("allow", request.Request)
	show("screen", p.await("on branch", "It is done.").Text())
	p.press("PgUp")
	show("screen", p.await("Allowed by the human").Text())
	show("plain", plain.await("To resume: arbiter").Text())
	testkit.Excludes(t, "a line for programs is printed to a person", shown["plain"], `{"arbiter":`)
	editor.sees(0, "the end", func(m acpMessage) bool { return strings.Contains(string(m.Params), "Open at the end") })
	show("ACP", editor.dump(editor.got))
	for _, event := range []string{"permission", "changes", "result"} {
		show("web", page.part(`"event":"`+event+`"`))
	}
	show("MCP", mcpView())
	show("logs", h.output("logs"))
	testkit.Same(t, "replay without the name of a run prints", h.output("replay", st.Run), h.output("replay"))
	show("report", h.output("report", st.Run))
	var r report.Report
	testkit.OK(t, json.Unmarshal([]byte(h.output("report", st.Run, "--format", "json")), &r))
	outputs, summary := filepath.Join(t.TempDir(), "outputs"), filepath.Join(t.TempDir(), "summary")
	h.env = append(h.env, "GITHUB_OUTPUT="+outputs, "GITHUB_STEP_SUMMARY="+summary)
	show("action", h.output("report", st.Run, "--format", "github")+textOf(t, outputs)+textOf(t, summary))
	p.press("F5")
	show("screen", p.await("CHANGES", "dawn.txt").Text())
	p.press("Ctrl+C", "Ctrl+C")

	over := func(why string) map[string]string { return map[string]string{"report": why, "action": why} }
	with := func(m map[string]string, face, why string) map[string]string { m[face] = why; return m }
	later := map[string]string{"status": "it asks a live run, and this is known at its end"}
	facts := []fact{
		{"state", "permission?", map[string]string{"`requires_action`": `"state":"requires_action"`},
			with(over("they are about a run that has ended: see the outcome"), "logs",
				"they say what happened, not what is")},
		{"outcome", "It is done", map[string]string{"`complete`": "complete"}, later},
		{"agent", "Orchestrator I", map[string]string{"`orch-1`": "orch-1"}, nil},
		{"directory", request.Place.CWD, nil, over("the agent's directory is gone; they name that of the run")},
		{"host", "@box", map[string]string{"`host`": `"host":"box"`}, nil},
		{"deadline", deadline.Local().Format("15:04") + " if nobody answers.",
			map[string]string{"time": request.Deadline}, over("the request was answered")},
		{"what was asked", "echo it > dawn.txt", map[string]string{"JSON": `echo it \u003e dawn.txt`},
			over("they list what was decided")},
		{"what was allowed", "Allowed by the human", nil, map[string]string{"status": "it says what waits"}},
		{"author", "changed dawn.txt", map[string]string{"list of files": "dawn.txt +1 -0 Orch. I @box",
			"list": "dawn.txt` (+1 -0) by orch-1", "JSON": `"agents":["orch-1"]`},
			map[string]string{"status": "it shows agents; arbiter diff shows files"}},
		{"cost", fmt.Sprintf("$%.2f", r.CostUSD), map[string]string{"so far": fmt.Sprintf("$%.2f", st.Cost),
			"exact": fmt.Sprintf("$%.4f", r.CostUSD), "`cost_usd`": fmt.Sprintf(`"cost_usd":%v`, r.CostUSD)}, nil},
		{"branch", "on branch arbiter/" + st.Run[:8] + "/main", map[string]string{
			"name": "arbiter/" + st.Run[:8] + "/main"}, later},
		{"open points", "no check and no acceptance criterion", nil, later},
	}
	plainText := strings.NewReplacer("│", " ", "\\n", " ", "\u200b", "")
	var table strings.Builder
	fmt.Fprintf(&table, factsHead, strings.Join(factFaces, " | "), strings.Repeat("|---", len(factFaces)))
	var notes []string
	for _, f := range facts {
		table.WriteString("| " + f.name)
		for _, face := range factFaces {
			text := strings.Join(strings.Fields(plainText.Replace(shown[face])), "")
			has := func(form string) bool {
				return strings.Contains(text, strings.Join(strings.Fields(form), ""))
			}
			cell := ""
			if has(f.words) {
				cell = "words"
			}
			for name, form := range f.forms {
				if cell != "words" && has(form) && (cell == "" || name < cell) {
					cell = name
				}
			}
			why := f.reasons[face]
			switch {
			case cell == "" && why == "":
				t.Errorf("%s does not say (%s) %q, nor one of %q:\n%s", face, f.name, f.words, f.forms, shown[face])
			case cell != "" && why != "":
				t.Errorf("%s says (%s) %q, and the table has a reason why not: %s", face, f.name, cell, why)
			case why != "":
				notes = append(notes, fmt.Sprintf("%s, %s: %s.", f.name, face, why))
				cell = fmt.Sprintf("– %d", len(notes))
			}
			table.WriteString(" | " + cell)
		}
		table.WriteString(" |\n")
	}
	for i, note := range notes {
		fmt.Fprintf(&table, "\n%d. %s", i+1, note)
	}
	frozen(t, "faces.md", table.String()+"\n")
}

const factsHead = `# What each face says of a run

` + "`go test ./cmd/arbiter -run TestFactsOnEveryFace -freeze`" + ` writes this page from one run. *words*: the words of
the one table (` + "`tui/eventtext`" + `); otherwise the form for programs or lists; –: the reason below.

| fact | %s |
|---%s|
`

// card returns what waits, as the page is sent it.
func (b *webUser) card() string { b.t.Helper(); return b.part(`"inbox":[{`) }

// part returns the first part with a text that the page is sent.
func (b *webUser) part(with string) string {
	b.t.Helper()
	stream := b.events(b.t.Context())
	defer stream.Close()
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		if text := lines.Text(); strings.Contains(text, with) {
			return text
		}
	}
	b.t.Fatal(fmt.Errorf("no part with %s: %w", with, lines.Err()))
	return ""
}
