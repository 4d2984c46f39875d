package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	"github.com/arbiter-cli/arbiter/internal/report"
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
	out, _ := s.output(0, "report", s.run(), "--format", "json")
	var r report.Report
	testkit.OK(t, json.Unmarshal([]byte(out), &r))
	if r.Run != s.run() || r.Status != contract.StatusComplete || r.CostUSD != result.CostUSD ||
		r.Usage != result.Usage || r.Summary != result.Summary {
		t.Errorf("%+v", r)
	}
	if len(r.Checks) != 2 || !r.Checks[0].Final || r.Checks[0].SHA256 == "" || len(r.Agents) != 3 ||
		len(r.Decisions) == 0 || len(r.Open) != 0 {
		t.Errorf("%+v", r)
	}
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
		if out, _ := s.output(0, "report", s.run(), "--format", format); !strings.Contains(out, want) ||
			strings.Contains(out, "\n::error") {
			t.Errorf("%s lacks %q:\n%s", format, want, out)
		}
	}
	var events bytes.Buffer
	for i, l := range s.lines {
		line := testkit.Must(contract.EncodeLine(nil, uint64(i+1), l.Time, l.Event))(t)
		events.Write(line)
	}
	var streamed, stderr bytes.Buffer
	if code := run([]string{"arbiter", "report", "-", "--format", "junit"}, &events, &streamed, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	if err := xml.Unmarshal(streamed.Bytes(), new(struct{})); err != nil || !strings.Contains(streamed.String(),
		`<testsuite name="checks" tests="2"`) {
		t.Errorf("%v: %s", err, streamed.String())
	}
}

// TestReportOfWork: the report takes changes from the run's snapshots, and writes files as a whole.
func TestReportOfWork(t *testing.T) {
	w := newWorked(t)
	t.Setenv(subcommands.StepSummary, "")
	if out, _ := w.arbiter(contract.ExitComplete, "report"); !strings.Contains(out,
		"Not known: the run has no snapshot") {
		t.Errorf("without a snapshot: %s", out)
	}
	w.snapshot(workspaces.Base)
	w.Write("a", "2\n")
	w.Write("new <b>", "1\n")
	w.snapshot(workspaces.End)
	if out, _ := w.arbiter(contract.ExitComplete, "report"); !strings.Contains(out, "- added `new <b>` (+1 -0)") {
		t.Errorf("%s", out)
	}
	file := filepath.Join(w.Path, "report.html")
	for range 2 {
		w.prints("", contract.ExitComplete, "report", "--format", "html", "--output", file)
	}
	text, err := os.ReadFile(file)
	w.Must(err)
	if !strings.Contains(string(text), "<code>new &lt;b&gt;</code>") || !strings.HasSuffix(string(text), "</html>\n") {
		t.Errorf("%s", text)
	}
	outputs := filepath.Join(w.Path, "outputs")
	t.Setenv(subcommands.StepOutput, outputs)
	summary := filepath.Join(w.Path, "summary.md")
	t.Setenv(subcommands.StepSummary, summary)
	w.Write("summary.md", "before\n")
	if out, _ := w.arbiter(contract.ExitComplete, "report", "--format", "github"); !strings.HasPrefix(out,
		"::error title=Run") {
		t.Errorf("%s", out)
	}
	if text, err := os.ReadFile(summary); err != nil || !strings.HasPrefix(string(text), "before\n# Report of run") {
		t.Errorf("%v: %s", err, text)
	}
	if text, err := os.ReadFile(outputs); err != nil ||
		!strings.HasPrefix(string(text), "run="+gittest.Run+"\nstatus=") {
		t.Errorf("%v: %s", err, text)
	}
	left, err := filepath.Glob(filepath.Join(w.Path, "*.tmp"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v, left behind: %v", err, left)
	}
}

// TestReportRefuses: each error has its exit code, and no file is changed.
func TestReportRefuses(t *testing.T) {
	w := newWorked(t)
	w.prints("--format pdf: use markdown, html, json, junit or github", contract.ExitUsage, "report", "--format", "pdf")
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
		var out, errs bytes.Buffer
		code := run([]string{"arbiter", "report", "-"}, strings.NewReader(text), &out, &errs)
		if code != int(want) || strings.Contains(out.String(),
			"in the middle of a line") != (want == contract.ExitComplete) {
			t.Errorf("%q: exit code %d: %s%s", text, code, out.String(), errs.String())
		}
	}
	var out, errs bytes.Buffer
	if code := run([]string{"arbiter", "report", "-"}, strings.NewReader("{}\n"), &out,
		&errs); code != int(contract.ExitUsage) ||
		!strings.Contains(errs.String(), "line 1 is not an event of arbiter --json") || out.Len() > 0 {
		t.Errorf("exit code %d: %s%s", code, out.String(), errs.String())
	}
	t.Chdir(t.TempDir())
	w.prints("no run has worked in", contract.ExitUsage, "report")
}
