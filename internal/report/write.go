package report

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"strings"
	"sync"
	"time"

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
	case HTML:
		text, err = r.html()
	case JSON:
		text, err = r.json()
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

func (r *Report) json() (string, error) {
	data, err := json.MarshalIndent(r, "", "  ")
	return inLog(string(data), `$1\u005b`) + "\n", err
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

func short(run string) string {
	if len(run) > 8 {
		return run[:8]
	}
	return run
}

// usd formats an amount of money. That of a rehearsal is marked as simulated.
func (r *Report) usd(x float64) string {
	if r.Rehearsal {
		return fmt.Sprintf("$%.4f simulated", x)
	}
	return fmt.Sprintf("$%.4f", x)
}

// lasted formats the duration in full seconds, or a short one exactly.
func (r *Report) lasted() string {
	d := time.Duration(r.DurationMS) * time.Millisecond
	if d < time.Second {
		return d.String()
	}
	return d.Round(time.Second).String()
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
	count := func(what string, total int, is func(int) string) string {
		if total == 0 {
			return ""
		}
		var passed, failed, open int
		for i := range total {
			switch is(i) {
			case "passed":
				passed++
			case "failed":
				failed++
			default:
				open++
			}
		}
		text := fmt.Sprintf("%d of %d %s passed", passed, total, what)
		if failed > 0 {
			text += fmt.Sprintf(", %d failed", failed)
		}
		if open > 0 {
			text += fmt.Sprintf(", %d unproven", open)
		}
		return text
	}
	var parts []string
	for _, p := range []string{
		count("acceptance criteria", len(r.Acceptance), func(i int) string { return r.Acceptance[i].Status }),
		count("checks", len(r.Checks), func(i int) string { return r.Checks[i].Result }),
	} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if parts == nil {
		return "nothing was checked"
	}
	return strings.Join(parts, "; ")
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

var htmlTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("report").Funcs(template.FuncMap{
		"usd": (*Report).usd, "tokens": func(r *Report) string { return words.Number(tokenCount(r.Usage)) },
		"criterion": Criterion.receipt, "check": Check.receipt, "ruling": Decision.ruling,
		"changed": (*Report).changed, "proved": (*Report).proved, "lasted": (*Report).lasted, "title": (*Report).title,
	}).Parse(htmlText))
})

// lineBegins matches a colon at the beginning of a line, where commands of CI systems have it.
var lineBegins = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(\s*):`)
})

// html returns the report as one page without scripts that loads nothing.
func (r *Report) html() (string, error) {
	var b strings.Builder
	err := htmlTemplate().Execute(&b, r)
	return lineBegins().ReplaceAllString(inLog(b.String(), "$1&#91;"), "$1&#58;"), err
}
