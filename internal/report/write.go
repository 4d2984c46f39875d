package report

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"encoding/xml"
	"fmt"
	htmltemplate "html/template"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"text/template"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// Format is a format in which a report is printed.
type Format string

// Formats of reports.
const (
	Markdown Format = "markdown"
	HTML     Format = "html"
	JSON     Format = "json"
	JUnit    Format = "junit"
	GitHub   Format = "github"
)

// Formats lists all formats.
func Formats() []Format { return []Format{Markdown, HTML, JSON, JUnit, GitHub} }

// Write prints a report.
func Write(w io.Writer, r *Report, f Format) error {
	var text string
	var err error
	switch f {
	case Markdown:
		text = r.Markdown()
	case HTML: // one page without scripts that loads nothing
		var b strings.Builder
		err = htmlTemplate().Execute(&b, r)
		text = lineBegins().ReplaceAllString(inLog(b.String(), "$1&#91;"), "$1&#58;")
	case JSON:
		var data []byte
		data, err = json.MarshalIndent(r, "", "  ")
		text = inLog(string(data), `$1\u005b`) + "\n"
	case JUnit:
		text, err = r.junit()
	case GitHub:
		text = r.annotations()
	default:
		err = fmt.Errorf("there is no format %q", f)
	}
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	return err
}

// logCommand matches commands of CI systems that are recognized anywhere in a line: ##[group], ##vso[…],
// ##teamcity[…]. The formats themselves handle commands at the beginning of a line (::error::).
var logCommand = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(##[A-Za-z]*)\[`)
})

// inLog makes a text safe to print to the log of a CI system, which reads commands from it.
func inLog(text, replacement string) string {
	return logCommand().ReplaceAllString(text, replacement)
}

// Texts that several formats show.

func (r *Report) title() string { return "Report of run " + short(r.Run) }

func short(run string) string { return run[:min(len(run), 8)] }

// usd formats an amount of money. That of a rehearsal is marked as simulated.
func (r *Report) usd(x float64) string {
	text := fmt.Sprintf("$%.4f", x)
	if r.Rehearsal {
		text += " simulated"
	}
	if r.incomplete {
		text += " + ?"
	}
	return text
}

// lasted formats the duration in full seconds, as the screen counts them, or a short one exactly.
func (r *Report) lasted() string {
	d := time.Duration(r.DurationMS) * time.Millisecond
	if d < time.Second {
		return d.String()
	}
	return d.Truncate(time.Second).String()
}

func (r *Report) changed() string {
	c := r.Changes
	if c.Missing != "" {
		return c.Missing
	}
	return fmt.Sprintf("%s, +%d -%d", words.Count(c.Count, "file"), c.Added, c.Deleted)
}

// proved counts the receipts.
func (r *Report) proved() string {
	var acceptance, checks, parts []string
	for _, c := range r.Acceptance {
		acceptance = append(acceptance, c.Status)
	}
	for _, c := range r.Checks {
		checks = append(checks, c.Result)
	}
	count := func(what string, results []string) {
		n := map[string]int{}
		for _, result := range results {
			n[result]++
		}
		text := fmt.Sprintf("%d of %d %s passed", n["passed"], len(results), what)
		if n["failed"] > 0 {
			text += fmt.Sprintf(", %d failed", n["failed"])
		}
		if open := len(results) - n["passed"] - n["failed"]; open > 0 {
			text += fmt.Sprintf(", %d unproven", open)
		}
		if len(results) > 0 {
			parts = append(parts, text)
		}
	}
	count("acceptance criteria", acceptance)
	count("checks", checks)
	return cmp.Or(strings.Join(parts, "; "), "nothing was checked")
}

// receipt describes the proof of a result.
func receipt(exit int, why, sha, tree string) string {
	text := fmt.Sprintf("exit code %d", exit)
	if exit < 0 {
		text = "did not run to its end"
	}
	for _, part := range []struct{ name, value string }{{"", why}, {"sha256 ", sha}, {"tree ", tree}} {
		if part.value != "" {
			text += ", " + part.name + part.value
		}
	}
	return text
}

func (c Criterion) receipt() string {
	if c.Status != "passed" && c.Status != "failed" {
		return "nothing proves it"
	}
	return receipt(c.ExitCode, "", c.SHA256, c.Tree)
}

func (c Check) receipt() string {
	text := receipt(c.Exit, c.Why, c.SHA256, "")
	if c.Final {
		text += ", repeated at the end"
	}
	return text
}

// ruling describes a decision without its reason.
func (d Decision) ruling() string {
	text := d.Decision
	if d.Mode != "" {
		text += " " + d.Mode
	}
	if d.To != "" {
		text += " to " + d.To
	}
	if d.Number > 0 {
		return fmt.Sprintf("%s (%s, number %d)", text, d.Source, d.Number)
	}
	return text + " (" + d.Source + ")"
}

//go:embed report.html
var htmlText string

//go:embed markdown.tmpl
var markdownText string

// shown are what both templates call.
var shown = map[string]any{
	"usd": (*Report).usd, "tokens": func(r *Report) string { return words.Number(tokenCount(r.Usage)) },
	"criterion": Criterion.receipt, "check": Check.receipt, "ruling": Decision.ruling,
	"changed": (*Report).changed, "proved": (*Report).proved, "lasted": (*Report).lasted, "title": (*Report).title,
	"inline": inline, "code": code, "quote": quote, "fence": fence, "upperFirst": upperFirst,
	"join": func(list []string) string { return strings.Join(list, ", ") },
	"more": func(c Changes) int { return max(c.Count-len(c.Files), 0) },
	"next": func(i int) int { return i + 1 },
	"name": func(a Agent) string { return strings.TrimSpace(a.Name + prefixed(" @", a.Host) + " " + a.Mode) },
}

var htmlTemplate = sync.OnceValue(func() *htmltemplate.Template {
	return htmltemplate.Must(htmltemplate.New("report").Funcs(shown).Parse(htmlText))
})

var markdownTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("report").Funcs(shown).Parse(markdownText))
})

// lineBegins matches a colon at the beginning of a line, where commands of CI systems have it.
var lineBegins = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(\s*):`)
})

// blankLines matches several blank lines: texts of agents have none, because each of their lines is quoted.
var blankLines = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\n{3,}`)
})

// Markdown returns the report as GitHub Flavored Markdown. Texts of agents are escaped lines, code spans, or quoted
// blocks.
func (r *Report) Markdown() string {
	var b strings.Builder
	if err := markdownTemplate().Execute(&b, r); err != nil {
		panic(err) // no function of the template fails
	}
	return inLog(blankLines().ReplaceAllString(b.String(), "\n\n"), "$1\u200b[")
}

// quote returns text of several lines as a quoted block.
func quote(indent, text string) string {
	if text == "" {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, l := range lines {
		lines[i] = inline(l)
	}
	for i, l := range lines {
		end := ""
		if i+1 < len(lines) && l != "" && lines[i+1] != "" {
			end = "\\" // the line ends here
		}
		lines[i] = strings.TrimRight(indent+"> "+l+end, " ")
	}
	return "\n" + strings.Join(lines, "\n") + "\n\n"
}

// fence returns text of several lines unchanged, in a fence within a quoted block, so that no line of the
// log begins with it.
func fence(indent, text string) string {
	mark := strings.Repeat("`", max(3, longest(text, '`')+1))
	b := "\n" + indent + "> " + mark + "text\n"
	for l := range strings.Lines(text) {
		b += indent + "> " + strings.TrimRight(l, "\n") + "\n"
	}
	return b + indent + "> " + mark + "\n\n"
}

// code returns text of one line as a code span.
func code(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return "(empty)"
	}
	mark := strings.Repeat("`", longest(text, '`')+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return mark + text + mark
}

// longest returns the length of the longest run of a character.
func longest(text string, char rune) int {
	most, n := 0, 0
	for _, r := range text {
		n++
		if r != char {
			n = 0
		}
		most = max(most, n)
	}
	return most
}

// inline returns text of one line in which no character has a meaning in Markdown, and no name or number
// becomes a mention or a link on GitHub. It may be used at the beginning of a line and in a table.
func inline(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	var b strings.Builder
	begins := true // only digits so far
	var last rune
	for i, r := range text {
		next, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(r):])
		if escaped(r, last, next, i == 0, begins && i > 0) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
		if r == '@' || r == '#' && unicode.IsDigit(next) {
			b.WriteRune('\u200b')
		}
		begins = begins && r >= '0' && r <= '9'
		last = r
	}
	return b.String()
}

// escaped reports whether a character needs a backslash between last and next. first: it begins the text;
// numbered: only digits precede it.
func escaped(r, last, next rune, first, numbered bool) bool {
	switch r {
	case '\\', '`', '*', '[', ']', '<', '>', '|', '~', '$':
		return true
	case '_':
		return !word(last) || !word(next)
	case '&':
		return next == '#' || unicode.IsLetter(next)
	case '#', '-', '+', '=', ':':
		return first
	case '.', ')':
		return numbered || r == '.' && (last == 'w' || last == 'W')
	case '/':
		return last == ':' || last == '/'
	}
	return false
}

func word(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

func upperFirst(text string) string {
	r, n := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(r)) + text[n:]
}

// maxSummary is the maximum size that GitHub accepts for the summary of a step, in bytes.
const maxSummary = 1 << 20

// maxAnnotations is how many annotations of a kind GitHub shows for a step.
const maxAnnotations = 10

// annotations returns workflow commands of GitHub Actions: an error for each thing that failed, a warning for each
// other open point, and a notice that says how the run ended.
func (r *Report) annotations() string {
	var b strings.Builder
	counts := map[string]int{}
	// The runner reverses both.
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	annotate := func(level, title, text string) {
		if counts[level]++; counts[level] <= maxAnnotations {
			fmt.Fprintf(&b, "::%s title=%s::%s\n", level, property.Replace(title), data.Replace(words.Head(text, 2000)))
		}
	}
	if r.Status != contract.StatusComplete {
		annotate("error", "Run "+short(r.Run)+" is not complete: "+r.Status, r.Summary)
	}
	for _, c := range r.Acceptance {
		if c.Status == "failed" {
			annotate("error", "An acceptance criterion failed", c.Text+"\n"+c.Command+"\n"+c.receipt())
		}
	}
	for _, c := range r.Checks {
		if c.Result == "failed" {
			annotate("error", "A check of "+c.Agent+" failed", c.Command+"\n"+c.receipt()+"\n"+c.Output)
		}
	}
	for _, o := range r.Open {
		if o.Kind != "check" && !(o.Kind == "criterion" && strings.HasPrefix(o.Text, "failed")) {
			annotate("warning", "Open: "+o.Kind, o.Text)
		}
	}
	text := fmt.Sprintf("%s\n%s. Changed: %s. Cost: %s, %s.", r.Summary, upperFirst(r.proved()), r.changed(),
		r.usd(r.CostUSD), r.lasted())
	annotate("notice", "Run "+short(r.Run)+": "+r.Status, text)
	return inLog(b.String(), "$1%5B")
}

// StepSummary returns the report for the file that GITHUB_STEP_SUMMARY names. If the report is too long, it
// returns a short form.
func (r *Report) StepSummary() string {
	text := r.Markdown()
	if len(text) <= maxSummary {
		return text
	}
	brief := *r
	brief.Milestones, brief.Decisions, brief.Answers, brief.Messages, brief.Checks = nil, nil, nil, nil, nil
	brief.Changes.Files = brief.Changes.Files[:min(len(brief.Changes.Files), 100)]
	brief.Tasks = brief.Tasks[max(0, len(brief.Tasks)-1):]
	brief.Notes = []string{"The report is too long for this place: use arbiter report --format markdown."}
	return brief.Markdown()
}

// Outputs returns the lines for the file that GITHUB_OUTPUT names: what later steps of a job need to know. No value has
// a line end, so none of them can set another output.
func (r *Report) Outputs() string {
	exit := ""
	if code, ok := exitOf[r.Status]; ok {
		exit = strconv.Itoa(int(code))
	}
	var b strings.Builder
	for _, o := range []struct{ name, value string }{
		{"run", r.Run}, {"status", r.Status}, {"exit-code", exit}, {"cost-usd", fmt.Sprintf("%.4f", r.CostUSD)},
		{"branch", r.Changes.Branch}, {"head", r.Changes.Head},
	} {
		fmt.Fprintf(&b, "%s=%s\n", o.name, sanitize.Line(o.value, maxReason))
	}
	return b.String()
}

// exitOf are the exit codes of runs that came to an end. A run without a result has none.
var exitOf = map[string]contract.Exit{
	contract.StatusComplete: contract.ExitComplete, contract.StatusIncomplete: contract.ExitFailed,
	contract.StatusFailed:    contract.ExitFailed,
	contract.StatusCancelled: contract.ExitFailed, contract.StatusNeedsInput: contract.ExitNeedsInput,
	contract.StatusLimit: contract.ExitLimit, contract.StatusInterrupted: contract.ExitInterrupted,
}

// The elements of JUnit's XML that a report uses.
type (
	junitSuite struct { // or all suites
		XMLName  xml.Name
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Time     string       `xml:"time,attr"`
		At       string       `xml:"timestamp,attr,omitempty"`
		Cases    []junitCase  `xml:"testcase"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Time    string        `xml:"time,attr"`
		Skipped *junitProblem `xml:"skipped"`
		Failure *junitProblem `xml:"failure"`
		Output  string        `xml:"system-out,omitempty"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// junit returns the report as test results: the run, its acceptance criteria and its checks are test cases.
// Unproven ones are skipped.
func (r *Report) junit() (string, error) {
	result := junitCase{Name: "run " + short(r.Run), Class: "run", Time: seconds(r.DurationMS), Output: r.Summary}
	if r.Status != contract.StatusComplete {
		result.Failure = &junitProblem{Message: "the run is not complete: " + r.Status, Text: r.Summary}
	}
	var acceptance, checks []junitCase
	for _, c := range r.Acceptance {
		x := junitCase{Name: sanitize.Line(c.Text, maxReason), Class: "acceptance." + cmp.Or(c.By, "unknown"),
			Time: "0.000"}
		x.judge(c.Status, c.receipt(), c.Command)
		acceptance = append(acceptance, x)
	}
	for _, c := range r.Checks {
		x := junitCase{Name: sanitize.Line(c.Command, maxReason), Class: "checks." + c.Agent,
			Time: seconds(c.DurationMS)}
		x.judge(c.Result, c.receipt(), "expected: "+c.Expect+"\n"+c.Output)
		checks = append(checks, x)
	}
	all := junitSuite{XMLName: xml.Name{Local: "testsuites"}, Name: r.title(), Time: seconds(r.DurationMS)}
	add := func(name, time string, cases ...junitCase) {
		s := junitSuite{XMLName: xml.Name{Local: "testsuite"}, Name: name, Time: time, Cases: cases, Tests: len(cases),
			At: r.Began.Format("2006-01-02T15:04:05")}
		for _, c := range cases {
			if c.Failure != nil {
				s.Failures++
			}
			if c.Skipped != nil {
				s.Skipped++
			}
		}
		all.Tests, all.Failures, all.Skipped = all.Tests+s.Tests, all.Failures+s.Failures, all.Skipped+s.Skipped
		all.Suites = append(all.Suites, s)
	}
	add("run", seconds(r.DurationMS), result)
	add("acceptance", "0.000", acceptance...)
	add("checks", "0.000", checks...)
	data, err := xml.MarshalIndent(all, "", "  ")
	return xml.Header + inLog(string(data), "$1&#91;") + "\n", err
}

func seconds(ms int64) string { return fmt.Sprintf("%.3f", float64(ms)/1000) }

func (c *junitCase) judge(result, receipt, text string) {
	switch result {
	case "passed":
		c.Output = receipt
	case "failed":
		c.Failure = &junitProblem{Message: receipt, Text: text}
	default:
		c.Skipped = &junitProblem{Message: result + ": " + receipt}
	}
}
