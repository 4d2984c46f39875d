package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rivo/uniseg"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// reportWith makes a report of a run in which every text that an agent or a program can write is input.
func reportWith(t testing.TB, input string) *Report {
	t.Helper()
	c := NewCollector(sanitize.Redact)
	seq := uint64(0)
	take := func(id string, b contract.Body) {
		seq++
		at := began.Add(time.Duration(seq) * time.Second)
		line, err := contract.EncodeLine(nil, seq, at, contract.Event{ID: id, Body: b})
		if err == nil {
			err = c.Take(at, bytes.TrimSpace(line))
		}
		testkit.OK(t, err)
	}
	receipt := verdict.Receipt{Command: input, Expect: input, Result: verdict.CheckFailed, Exit: 1, SHA256: "ab",
		Output: input, Why: input}
	take("supervisor", contract.Session{Session: "0123abcd-4567", CWD: input})
	take("arbiter", contract.Spawn{Name: input, Generation: 1})
	take("orch-1", contract.Spawn{Name: input, Mode: input, Generation: 1})
	take("human", contract.Message{From: "human", To: "arbiter", Kind: "task", Text: input})
	take("human", contract.Message{From: "human", To: "arbiter", Kind: "message", Text: input})
	take("supervisor", contract.Plan{Steps: []contract.Step{{Text: input, Status: contract.StepFailed, Agent: input}}})
	take("orch-1", contract.Turn{CostUSD: 0.25, Usage: bridge.Usage{Input: 1, Output: 2, CacheRead: 3,
		CacheCreation: 4}})
	take("orch-1", contract.Restart{Reason: input})
	take("orch-1", contract.Check{Number: 1, Of: 1, Receipt: receipt})
	receipt.Command, receipt.Result = "make test", verdict.CheckPassed
	take("orch-1", contract.Check{Number: 1, Of: 1, Receipt: receipt, Again: true})
	take("orch-1", contract.Message{From: "orch-1", To: "arbiter", Kind: "done", Text: input})
	take("arbiter", contract.Decision{Decision: "COMPLETE", To: input, Mode: input, Reason: input, Source: input,
		Warnings: []string{input}})
	take("arbiter", contract.Question{Text: input})
	take("supervisor", contract.Unknown{Name: "acceptance", Raw: object(t, Criterion{Text: input, Command: input,
		By: "human", Status: "failed", ExitCode: 2})})
	take("supervisor", contract.Unknown{Name: "acceptance", Raw: object(t, Criterion{Text: input + "!", By: input,
		Status: input, ExitCode: -1})})
	take("orch-1", contract.Unknown{Name: "changes", Raw: object(t, map[string]any{
		"files": []File{{Path: input, Old: input, Status: input, Added: 3, Agents: []string{input}}},
	})})
	take("orch-1", contract.Unknown{Name: "merge", Raw: object(t, map[string]any{"status": "conflict",
		"files": []string{input}})})
	take("supervisor", contract.Error{Message: input})
	take("supervisor", contract.Result{Status: contract.StatusFailed, Summary: input, CostUSD: 0.5,
		DurationMS: 61_000, InterruptedWork: []string{input}, Open: []string{input},
		Changes: &contract.ResultChanges{Branch: input, Head: input}})
	return c.Report("live")
}

func object(t testing.TB, v any) json.RawMessage {
	t.Helper()
	data := testkit.Must(json.Marshal(v))(t)
	return data
}

// hostile contains texts with a special meaning in one of the formats.
var hostile = []string{
	"plain", "a\nb\n\nc", "# heading", "x\n===\ny\n---\n", "> quote", "- item\n  - item\n1. item\n1) item",
	"```\ncode\n```", "~~~~\n````", "`", "``a` b", "\\",
	"<script>alert(1)</script>", "<!-- x", "</div></pre></body></html>", "<img src=x onerror=alert(1)>",
	"&lt;b&gt; &#60;b&#62;", "]]>", "<?xml?>",
	"[link](http://evil.example)", "![image](http://evil.example/x.png)", "<http://evil.example>",
	"http://evil.example www.evil.example a@evil.example",
	"[x]: http://evil.example\n[x]", "| a | b |\n|---|---|\n| c | d |", "**bold** _it_ __x__ *y* ~~z~~", "$x$ $$y$$",
	"[^1]: note", "- [x] task",
	"::error::x", "\n::set-output name=a::b", "##[error]x", "##vso[task.setvariable variable=a]b", "##teamcity[x]",
	"%0A::error::x", "a\r\n::stop-commands::x",
	"@octocat #1 GH-1", "{{.}}", "\x1b[31mred\x1b[0m", "\x00\x01\ufffe\uffff", "\xff\xfe", "\u202eevil",
	"javascript:alert(1)", "    indented", "\tindented", "a  \nb",
	"\"'><x y='z'", "setext\n=", "*", "+ x", "a\\\nb", "ftp://x.example mailto:a@b.example xmpp:a@b.example",
	"HTTPS://EVIL.EXAMPLE WWW.EVIL.EXAMPLE",
}

// TestTextsAreEscaped: with any text, each format has the same structure as with a harmless one.
func TestTextsAreEscaped(t *testing.T) {
	for _, input := range hostile {
		checkFormats(t, input)
	}
}

// FuzzFormats does the same with any text.
func FuzzFormats(f *testing.F) {
	for _, input := range hostile {
		f.Add(input)
	}
	f.Fuzz(func(t *testing.T, input string) { checkFormats(t, input) })
}

func checkFormats(t *testing.T, input string) {
	r := reportWith(t, input)
	for _, format := range Formats() {
		var b bytes.Buffer
		err := Write(&b, r, format)
		testkit.Need(t, err == nil, "%s of %q: %v", format, input, err)
		checkLog(t, format, input, b.String())
		switch format {
		case Markdown:
			checkMarkdown(t, input, b.String())
		case HTML:
			checkHTML(t, input, b.String())
		case JSON:
			checkJSON(t, input, r, b.Bytes())
		case JUnit:
			checkXML(t, input, b.Bytes())
		}
	}
	out := r.Outputs()
	testkit.Check(t, outputLines.MatchString(out), "%q: the outputs are %q", input, out)
	for _, l := range r.Receipt("arbiter report 0123abcd") {
		testkit.Check(t, uniseg.StringWidth(l) <= receiptColumns && !strings.ContainsAny(l, "\n\r\x1b"),
			"%q: the receipt has the line %q", input, l)
	}
	n := len(r.Receipt("x"))
	testkit.Check(t, n <= 8, "the receipt has %d lines", n)
}

var (
	anywhere = regexp.MustCompile(`##[A-Za-z]*\[`)
	atBegin  = regexp.MustCompile(`(?m)^\s*::`)
	// some readers treat control characters as the end of a line
	outputLines = regexp.MustCompile(`^run=0123abcd-4567\nstatus=failed\nexit-code=1\ncost-usd=0.5000\n` +
		`branch=[^\x00-\x1f\x{85}\x{2028}\x{2029}]*\nhead=[^\x00-\x1f\x{85}\x{2028}\x{2029}]*\n$`)
	ourOwn    = regexp.MustCompile(`^::(error|warning|notice) title=[^:,]*::[^\r\n]*$`)
	headlines = []string{"Asked", "Done", "Changed", "Proved", "Decisions and reasons", "Cost and tokens",
		"Open points"}
)

// checkLog: a CI system that reads the log finds no commands in it, except the annotations of the format
// github.
func checkLog(t *testing.T, f Format, input, out string) {
	t.Helper()
	testkit.Same(t, fmt.Sprintf("%s of %q", f, input), "", anywhere.FindString(out))
	if f != GitHub {
		testkit.Same(t, fmt.Sprintf("%s of %q has a line that begins with", f, input), "", atBegin.FindString(out))
		return
	}
	for l := range strings.Lines(out) {
		testkit.Check(t, ourOwn.MatchString(strings.TrimSuffix(l, "\n")), "%q makes the annotation %q", input, l)
	}
}

var markdownParser = goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote)).Parser()

// allowed are the node kinds that a report consists of.
var allowed = []ast.NodeKind{
	ast.KindDocument, ast.KindHeading, ast.KindList, ast.KindListItem, ast.KindParagraph, ast.KindTextBlock,
	ast.KindText, ast.KindString, ast.KindCodeSpan,
	ast.KindBlockquote, ast.KindFencedCodeBlock, extast.KindTable, extast.KindTableHeader, extast.KindTableRow,
	extast.KindTableCell,
}

func checkMarkdown(t *testing.T, input, out string) {
	t.Helper()
	source := []byte(out)
	var headings []string
	cells := map[int]bool{}
	fences := 0
	testkit.OK(t, ast.Walk(markdownParser.Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus,
		error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		testkit.Check(t, slices.Contains(allowed, n.Kind()), "Markdown of %q has a %s:\n%s", input, n.Kind(), out)
		switch n.Kind() {
		case ast.KindHeading:
			headings = append(headings, string(n.Lines().Value(source)))
		case extast.KindTableRow, extast.KindTableHeader:
			cells[n.ChildCount()] = true
		case ast.KindFencedCodeBlock:
			fences++
			testkit.Check(t, n.Parent().Kind() == ast.KindBlockquote,
				"Markdown of %q has a fence that is not quoted", input)
		case ast.KindBlockquote:
			k := n.Parent().Kind()
			testkit.Check(t, k == ast.KindDocument || k == ast.KindListItem, "Markdown of %q has a quote in a %s", input, k)
		}
		return ast.WalkContinue, nil
	}))
	testkit.Check(t, len(headings) == len(headlines)+1 && slices.Equal(headings[1:], headlines),
		"Markdown of %q has the headings %q", input, headings)
	testkit.Check(t, len(cells) == 1 && cells[10] && fences <= 1,
		"Markdown of %q has tables with %v columns, %d fences", input, cells, fences)
}

// checkHTML reads the page as XML, which it also is: the XML parser accepts only elements that are closed
// in order.
func checkHTML(t *testing.T, input, out string) {
	t.Helper()
	count := map[string]int{}
	d := xml.NewDecoder(strings.NewReader(out))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		testkit.Need(t, err == nil, "HTML of %q: %v\n%s", input, err, out)
		switch x := token.(type) {
		case xml.Comment, xml.ProcInst:
			t.Errorf("HTML of %q has %q", input, x)
		case xml.StartElement:
			count[x.Name.Local]++
			for _, a := range x.Attr {
				testkit.Check(t, x.Name.Local == "meta" || a.Name.Local+"="+a.Value == "lang=en" ||
					a.Name.Local+"="+a.Value == "class=text", "HTML of %q has the attribute %s of %s", input,
					a.Name.Local, x.Name.Local)
			}
		}
	}
	for tag := range count {
		testkit.Check(t, slices.Contains(elements, tag), "HTML of %q has the element %s", input, tag)
	}
	testkit.Check(t, count["h2"] == len(headlines) && count["body"] == 1 && count["title"] == 1 && count["meta"] == 3 &&
		count["tr"] == 4, "HTML of %q has the elements %v", input, count)
}

// elements are those that a page consists of.
var elements = strings.Fields("html head meta title style body h1 h2 ul ol li div p pre code strong br table tr th td")

func checkJSON(t *testing.T, input string, r *Report, out []byte) {
	t.Helper()
	var back Report
	d := json.NewDecoder(bytes.NewReader(out))
	d.DisallowUnknownFields()
	err := d.Decode(&back)
	testkit.Need(t, err == nil, "JSON of %q: %v", input, err)
	testkit.Check(t, bytes.Equal(object(t, back), object(t, r)), "JSON of %q is another report", input)
}

func checkXML(t *testing.T, input string, out []byte) {
	t.Helper()
	var all junitSuite
	err := xml.Unmarshal(out, &all)
	testkit.Need(t, err == nil, "JUnit of %q: %v\n%s", input, err, out)
	if len(all.Suites) != 3 || all.Tests != len(all.Suites[0].Cases)+len(all.Suites[1].Cases)+len(all.Suites[2].Cases) {
		t.Errorf("JUnit of %q has %d suites, %d tests", input, len(all.Suites), all.Tests)
	}
	d := xml.NewDecoder(bytes.NewReader(out))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		testkit.OK(t, err)
		if e, ok := token.(xml.StartElement); ok && !slices.Contains([]string{
			"testsuites", "testsuite", "testcase", "failure", "skipped", "system-out",
		}, e.Name.Local) {
			t.Errorf("JUnit of %q has the element %s", input, e.Name.Local)
		}
	}
}

// TestTimeOfARun: the time between two processes of a run does not count, as in its result.
func TestTimeOfARun(t *testing.T) {
	c, began := NewCollector(sanitize.Redact), time.Unix(0, 0)
	for _, x := range []struct {
		minute time.Duration
		body   contract.Body
	}{{0, contract.Session{}}, {10, contract.Notice{}}, {60, contract.Session{Resumed: true}}, {65, contract.Notice{}}} {
		c.event(began.Add(x.minute*time.Minute), contract.Event{ID: contract.Supervisor, Body: x.body})
	}
	r := c.Report("live")
	testkit.Same(t, "the run has taken", 15*time.Minute, time.Duration(r.DurationMS)*time.Millisecond)
	r.DurationMS += 1900
	testkit.Same(t, "a second is counted when it is over", "15m1s", r.lasted())
}

// TestCollect: what the report takes from each event.
func TestCollect(t *testing.T) {
	r := reportWith(t, "words")
	testkit.Check(t, r.Run == "0123abcd-4567" && r.Status == contract.StatusFailed && r.CostUSD == 0.5 &&
		r.DurationMS == 61_000 && r.Failed(), "%+v", r)
	testkit.Check(t, len(r.Tasks) == 1 && len(r.Messages) == 1 && len(r.Milestones) == 1 && len(r.Decisions) == 1 &&
		len(r.Plan) == 1, "%+v", r)
	testkit.Check(t, len(r.Agents) == 2 && r.Agents[1].CostUSD == 0.25 && r.Agents[1].Restarts == 1 &&
		r.Agents[1].Done == 1 && tokenCount(r.Agents[1].Usage) == 10, "agents: %+v", r.Agents)
	testkit.Check(t, len(r.Checks) == 2 && r.Checks[0].Output != "" && r.Checks[1].Output == "" && r.Checks[1].Final,
		"checks: %+v", r.Checks)
	open := testkit.Each(r.Open, func(o Open) string { return o.Kind })
	want := []string{"question", "criterion", "criterion", "check", "conflict", "step", "point", "work",
		"error"}
	testkit.Check(t, slices.Equal(open, want), "open points: %q", open)
	r.mask = func(s string) string { return strings.ReplaceAll(s, "hunter2", "*") }
	r.SetChanges([]workspace.Change{
		{Path: "hunter2", Status: workspace.Added, Added: 2}, {Path: "b", Status: workspace.Deleted, Deleted: 1},
	})
	r.NoChanges("not seen")
	testkit.Check(t, r.changed() == "2 files, +2 -1" && r.Changes.Files[0].Path == "*", "changes: %+v", r.Changes)
	want = []string{
		"asked    words", "done     failed: words",
		"proved   0 of 2 acceptance criteria passed, 1 failed, 1 unproven; 1 of 2 checks…",
		"files    2 files, +2 -1", "cost     $0.5000, 0 tokens, 1m1s", "open     9 points, first question: words",
		"To resume: arbiter",
	}
	got := r.Receipt("To resume: arbiter")
	testkit.Check(t, slices.Equal(got, want), "the receipt is\n%s", strings.Join(got, "\n"))
}

// TestAnswersClosePoints: points that were answered, repeated or merged are no longer open.
func TestAnswersClosePoints(t *testing.T) {
	c := NewCollector(sanitize.Redact)
	take := func(id string, b contract.Body) {
		line, err := contract.EncodeLine(nil, 1, began, contract.Event{ID: id, Body: b})
		if err == nil {
			err = c.TakeLine(line)
		}
		testkit.OK(t, err)
	}
	failed := verdict.Receipt{Command: "make", Expect: "exit 0", Result: verdict.CheckFailed, Exit: 2}
	passed := verdict.Receipt{Command: "make", Expect: "exit 0", Result: verdict.CheckPassed}
	take("orch-1", contract.Spawn{Name: "One"})
	take("arbiter", contract.Question{Text: "which?", Question: "question-1"})
	take("orch-1", contract.Check{Receipt: failed})
	take("orch-1", contract.Unknown{Name: "merge", Raw: json.RawMessage(`{"status":"conflict","files":["a"]}`)})
	take("supervisor", contract.Unknown{Name: "acceptance",
		Raw: json.RawMessage(`{"text":"it works","by":"human","status":"failed","exit_code":1}`)})
	take("human", contract.Message{From: contract.Human, To: "orch-1", Kind: "instruction", Text: "faster"})
	take("supervisor", contract.Question{Text: "raise, or finish?", Question: "limit",
		Options: []string{"raise", "finish"}})
	if r := c.Report("live"); len(r.Open) != 5 || r.Open[0].Text != "raise, or finish?" {
		t.Fatalf("%+v", r.Open)
	}
	take("supervisor", contract.Settled{Item: "limit"})
	if r := c.Report("live"); len(r.Open) != 4 || r.Status != "live" {
		t.Fatalf("%+v", r.Open)
	}
	take("arbiter", contract.Settled{Item: "question-1"})
	broken := failed
	broken.Why = "exit code 1"
	take("orch-1", contract.Check{Receipt: broken, Again: true, Agents: []string{"orch-2"}})
	if r := c.Report("live"); len(r.Checks) != 1 || r.Checks[0].Why != "exit code 1; last to change its files: orch-2" {
		t.Errorf("a check that no longer holds: %+v", r.Checks)
	}
	take("orch-1", contract.Check{Receipt: passed, Again: true})
	take("orch-1", contract.Unknown{Name: "merge", Raw: json.RawMessage(`{"status":"merged","head":"abc"}`)})
	take("supervisor", contract.Unknown{Name: "acceptance",
		Raw: json.RawMessage(`{"text":"it works","by":"human","status":"passed","exit_code":0}`)})
	if r := c.Report("live"); len(r.Open) != 0 || r.Changes.Head != "abc" || r.Failed() {
		t.Errorf("%+v", r)
	}
	take("", contract.Result{Status: contract.StatusComplete,
		Changes: &contract.ResultChanges{Branch: "arbiter/1/main", Head: "def"}})
	r := c.Report("live")
	testkit.Includes(t, "the outputs of the action", r.Outputs(), "branch=arbiter/1/main\nhead=def\n")
	text := r.Markdown()
	testkit.Check(t, strings.Contains(text, "on the branch `arbiter/1/main`, commit `def`"), "the report is %s", text)
	take("orch-2", contract.Error{Message: "the API is overloaded", RecoveryOptions: []string{"retry"}})
	if r := c.Report("live"); len(r.Open) != 0 { // the run is complete
		t.Errorf("%+v", r.Open)
	}
	take("", contract.Session{})
	r = c.Report("live")
	testkit.Check(t, len(r.Open) == 1 && r.Open[0].Kind == "error", "with an error: %+v", r.Open)
	take("orch-2", contract.Turn{Outcome: "done"}) // the human has chosen retry
	r = c.Report("live")
	testkit.Check(t, len(r.Open) == 0, "after the error: %+v", r.Open)
	take("orch-2", contract.Turn{Unknown: true})
	testkit.Same(t, "notes", []string{"The costs are not complete: what orch-2 cost is not known."},
		c.Report("live").Notes)
	testkit.Includes(t, "the receipt", strings.Join(c.Report("live").Receipt(""), "\n"), "$0.0000 + ?, ")
	testkit.Fails(t, "half a line is taken", c.TakeLine([]byte(`{"v":1}`)))
}

// TestBounds: a run of any length has a report of bounded size, which says what was left out.
func TestBounds(t *testing.T) {
	c := NewCollector(sanitize.Redact)
	long := strings.Repeat("long ", 1<<10)
	for i := range 3 * maxList {
		for _, b := range []contract.Body{
			contract.Decision{Reason: fmt.Sprint(i) + long},
			contract.Check{Receipt: verdict.Receipt{Command: fmt.Sprint(i), Output: long}},
			contract.Message{From: "human", Kind: "task", Text: long},
		} {
			line, err := contract.EncodeLine(nil, 1, began, contract.Event{ID: "orch-1", Body: b})
			if err == nil {
				err = c.Take(began, line)
			}
			testkit.OK(t, err)
		}
	}
	r := c.Report("live")
	testkit.Check(t, len(r.Decisions) == maxList && len(r.Checks) == maxList && len(r.Notes) == 3 &&
		strings.Contains(r.Notes[0], "400 more"), "%d decisions, %d checks, notes %q", len(r.Decisions), len(r.Checks),
		r.Notes)
	n := len(r.StepSummary())
	testkit.Check(t, n <= maxSummary, "the summary of a step has %d bytes", n)
}

// TestSecretsAreMasked: known formats, and the caller's own secrets.
func TestSecretsAreMasked(t *testing.T) {
	key := "sk-ant-api03-" + strings.Repeat("a1B2", 20)
	r := reportWith(t, "the key is "+key)
	for _, format := range Formats() {
		var b bytes.Buffer
		err := Write(&b, r, format)
		testkit.Check(t, err == nil && !strings.Contains(b.String(), key), "%s: %v, or it has the key", format, err)
	}
	c := NewCollector(func(s string) string { return strings.ReplaceAll(s, "hunter2", "*") })
	line := `{"v":1,"seq":1,"time":"2026-03-01T12:00:00.000Z","id":"human","event":"message",` +
		`"message_id":"1","from":"human","to":"arbiter","kind":"task","text":"it is hunter2"}`
	err := c.TakeLine([]byte(line))
	testkit.Check(t, err == nil && c.Report("live").Tasks[0] == "it is *", "%v, %+v", err, c.r.Tasks)
}

// TestAgentsWithHosts: an agent on another host is shown with the host's name in each format that names
// agents.
func TestAgentsWithHosts(t *testing.T) {
	r := reportWith(t, "words")
	r.Agents = []Agent{{ID: "orch-2", Name: "Orchestrator II", Host: "box"}}
	for _, f := range []Format{"markdown", "html", "json"} {
		var b strings.Builder
		testkit.OK(t, Write(&b, r, f))
		want := map[Format]string{"markdown": inline("Orchestrator II @box"), "html": "Orchestrator II @box",
			"json": `"host": "box"`}[f]
		testkit.Check(t, strings.Contains(b.String(), want), "%s does not say %s", f, want)
	}
	c := NewCollector(sanitize.Redact)
	spawn := contract.Spawn{Name: "II", Host: "box"}
	line, err := contract.EncodeLine(nil, 1, began, contract.Event{ID: "orch-2", Body: spawn})
	if err == nil {
		err = c.TakeLine(line)
	}
	testkit.Check(t, err == nil && c.agent("orch-2").Host == "box", "collected: %+v, %v", c.agent("orch-2"), err)
}

var evening = time.Date(2026, 3, 14, 23, 0, 0, 0, time.UTC)

// play adds the events of two runs: a turn before midnight and one after, one without
// models, a turn that was lost with its process, and the cost of a decider.
func play(t *testing.T) (all []Row) {
	t.Helper()
	var s Spending
	seq := uint64(0)
	end := func(run string) {
		for _, r := range s.Rows {
			r.Run = run
			all = append(all, r)
		}
		s = Spending{}
	}
	take := func(after time.Duration, id string, body contract.Body) {
		t.Helper()
		seq++
		at := evening.Add(after)
		line := testkit.Must(contract.EncodeLine(nil, seq, at, contract.Event{ID: id, Body: body}))(t)
		testkit.OK(t, s.Take(at, line[:len(line)-1]))
	}
	ended := func(usd float64, models ...contract.ModelCost) contract.Turn {
		return contract.Turn{CostUSD: usd, Usage: bridge.Usage{Output: 1}, Models: models, Outcome: "done",
			MessageIDs: []string{}}
	}
	take(0, "supervisor", contract.Session{Session: "one"})
	take(0, "arbiter", contract.Cost{CostUSD: 0.4})
	take(0, "arbiter", ended(0.5, contract.ModelCost{Model: "large", CostUSD: 0.4, Usage: bridge.Usage{Output: 4}},
		contract.ModelCost{Model: "small", CostUSD: 0.1, Usage: bridge.Usage{Output: 2}}))
	more := ended(1, contract.ModelCost{Model: "large", CostUSD: 0.75})
	more.Unknown = true
	take(time.Hour, "orch-1", more)
	take(time.Hour, "orch-1", contract.Cost{CostUSD: 0.25, Usage: bridge.Usage{Output: 7}})
	take(time.Hour, "orch-1", contract.Done{Reason: "crash"})
	take(time.Hour, "arbiter", contract.Decision{CostUSD: 0.04})
	take(time.Hour, contract.Supervisor, contract.Cost{CostUSD: 0.01}) // an answer that was not used
	end("one")
	take(2*time.Hour, "supervisor", contract.Session{Session: "two"})
	take(2*time.Hour, "orch-1", contract.Cost{CostUSD: 3})
	testkit.Same(t, "what the running turn has cost", 3, s.Live())
	take(3*time.Hour, "supervisor", contract.Session{Session: "two", Resumed: true}) // it was killed
	end("two")
	return all
}

func TestSums(t *testing.T) {
	output := func(n int) bridge.Usage { return bridge.Usage{Output: n} }
	for by, want := range map[SpendingBy][]Row{
		SpendingDay: {{Day: "2026-03-14", Turns: 1, CostUSD: 0.5, Usage: output(6)},
			{Day: "2026-03-15", Turns: 1, CostUSD: 4.3, Usage: output(7), Unknown: true}},
		SpendingRun: {{Run: "two", CostUSD: 3}, {Run: "one", Turns: 2, CostUSD: 1.8, Usage: output(13),
			Unknown: true}},
		SpendingAgent: {{Run: "two", Agent: "orch-1", CostUSD: 3},
			{Run: "one", Agent: "orch-1", Turns: 1, CostUSD: 1.25, Usage: output(7), Unknown: true},
			{Run: "one", Agent: "arbiter", Turns: 1, CostUSD: 0.5, Usage: output(6)},
			{Run: "one", Agent: "decider", CostUSD: 0.05}},
		SpendingModel: {{Model: SpendingUnknown, CostUSD: 3.55, Usage: output(7)},
			{Model: "large", Turns: 2, CostUSD: 1.15, Usage: output(4), Unknown: true},
			{Model: "small", CostUSD: 0.1, Usage: output(2)}},
	} {
		rows, total := GroupSpending(by, play(t))
		testkit.Same(t, fmt.Sprintf("by %s", by), want, rows)
		testkit.Check(t, total.CostUSD == 4.8 && total.Unknown && total.Turns == 2 && total.Usage.Output == 13,
			"by %s: total %+v", by, total)
	}
}

// TestAgentsAccount: a report counts for an agent what it spent in turns that were lost with its process, or that still
// run, so that the agents' costs make the run's.
func TestAgentsAccount(t *testing.T) {
	c := NewCollector(sanitize.Redact)
	for i, body := range []contract.Body{
		contract.Spawn{Name: "Orchestrator I"}, contract.Turn{CostUSD: 1, Usage: bridge.Usage{Output: 1}},
		contract.Cost{CostUSD: 0.25, Usage: bridge.Usage{Output: 2}}, contract.Done{Reason: "crash"},
		contract.Spawn{Name: "Orchestrator I", Generation: 2}, contract.Cost{CostUSD: 0.5, Usage: bridge.Usage{Output: 4}},
	} {
		line := testkit.Must(contract.EncodeLine(nil, uint64(i+1), began, contract.Event{ID: "orch-1", Body: body}))(t)
		testkit.OK(t, c.TakeLine(line))
	}
	r := c.Report("running")
	a := r.Agents[0]
	testkit.Check(t, a.Turns == 1 && a.CostUSD == 1.75 && a.Usage.Output == 7 && r.CostUSD == a.CostUSD &&
		r.Usage == a.Usage, "agent %+v of a run of $%v, %+v", a, r.CostUSD, r.Usage)
}

// TestAuthors: a report names who changed a file, with a mark until it is known, also beside the snapshots.
func TestAuthors(t *testing.T) {
	c := NewCollector(sanitize.Redact)
	for i, f := range []contract.FileChange{
		{Path: "a", Agents: []string{"orch-1", "orch-2"}, Unsure: true}, {Path: "b", Agents: []string{"orch-1"}},
		{Path: "a", Agents: []string{"orch-2"}}, {Path: "b", Agents: []string{"orch-1"}, Unsure: true},
	} {
		line, err := contract.EncodeLine(nil, uint64(i+1), began, contract.Event{ID: "orch-1",
			Body: contract.Changes{Files: []contract.FileChange{f}}})
		testkit.OK(t, err)
		testkit.OK(t, c.TakeLine(line))
	}
	r := c.Report("complete")
	r.SetChanges([]workspace.Change{{Path: "a"}, {Path: "b"}})
	testkit.Same(t, "authors", "orch-1? orch-2, orch-1", strings.Join(r.Changes.Files[0].Agents, " ")+", "+
		strings.Join(r.Changes.Files[1].Agents, " "))
}
