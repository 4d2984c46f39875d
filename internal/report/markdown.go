package report

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// Markdown returns the report as GitHub Flavored Markdown. Texts of agents are escaped lines, code spans, or quoted
// blocks.
func (r *Report) Markdown() string {
	var b page
	b.line("# %s", inline(r.title()))
	b.line("")
	b.item("Status: %s", inline(r.Status))
	if r.Rehearsal {
		b.item("This was a rehearsal: a scripted model played it.")
	}
	b.item("Directory: %s", code(r.Directory))
	if f := r.ForkedFrom; f != nil {
		b.item("Branched off from run %s before decision %d: what came before is that run's, with %s of the cost",
			inline(f.Run), f.At, r.usd(f.CostUSD))
	}
	b.item("Began %s, took %s", r.Began.Format("2006-01-02 15:04:05 MST"), r.lasted())
	b.item("Changed: %s", inline(r.changed()))
	b.item("Proved: %s", r.proved())
	b.item("Cost: %s, %s tokens", r.usd(r.CostUSD), words.Number(tokenCount(r.Usage)))

	b.heading("Asked")
	for _, t := range r.Tasks {
		b.quote("", t)
	}
	for i, t := range r.Messages {
		if i == 0 {
			b.line("The human also said:\n")
		}
		b.item("%s", inline(t))
	}
	b.heading("Done")
	b.quote("", r.Summary)
	for i, s := range r.Plan {
		b.line("%d. %s: %s%s", i+1, inline(s.Status), inline(s.Text), prefixed(" — ", inline(s.Agent)))
	}
	if len(r.Plan) > 0 {
		b.line("")
	}
	for _, m := range r.Milestones {
		b.item("%s %s, %s:", m.At.Format("15:04:05"), inline(m.Agent), inline(m.Kind))
		b.quote("  ", m.Text)
	}
	r.markdownChanges(&b)
	r.markdownProofs(&b)
	b.heading("Decisions and reasons")
	for _, d := range r.Decisions {
		b.item("%s: %s", inline(d.ruling()), inline(d.Reason))
		for _, w := range d.Warnings {
			b.line("  - warning: %s", inline(w))
		}
	}
	for _, a := range r.Answers {
		b.item("%s: %s: %s", inline(a.Agent), inline(a.Text), inline(a.Tool))
	}
	b.heading("Cost and tokens")
	b.line("| Agent | Name | Turns | Restarts | Hand-offs | Input | Output | From cache | To cache | Cost |")
	b.line("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|")
	for _, a := range r.Agents {
		u := a.Usage
		b.line("| %s | %s | %d | %d | %d | %d | %d | %d | %d | %s |", inline(a.ID),
			inline(strings.TrimSpace(a.Name+prefixed(" @", a.Host)+" "+a.Mode)),
			a.Turns, a.Restarts, a.Handoffs, u.Input, u.Output, u.CacheRead, u.CacheCreation, r.usd(a.CostUSD))
	}
	u := r.Usage
	b.line("| all | | | | | %d | %d | %d | %d | %s |", u.Input, u.Output, u.CacheRead, u.CacheCreation, r.usd(r.CostUSD))
	b.heading("Open points")
	for _, o := range r.Open {
		b.item("%s: %s", inline(o.Kind), inline(o.Text))
	}
	if len(r.Open) == 0 {
		b.line("None.")
	}
	for _, n := range r.Notes {
		b.line("\n%s", inline(n))
	}
	return inLog(blankLines().ReplaceAllString(b.String(), "\n\n"), "$1\u200b[")
}

// blankLines matches several blank lines: texts of agents have none, because each of their lines is quoted.
var blankLines = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\n{3,}`)
})

func (r *Report) markdownChanges(b *page) {
	b.heading("Changed")
	b.line("%s\n", inline(upperFirst(r.changed())))
	if r.Changes.Branch != "" {
		b.line("The result is on the branch %s, commit %s.\n", code(r.Changes.Branch), code(r.Changes.Head))
	}
	for _, f := range r.Changes.Files {
		name := code(f.Path)
		if f.Old != "" {
			name = code(f.Old) + " → " + name
		}
		lines := fmt.Sprintf("+%d -%d", f.Added, f.Deleted)
		if f.Binary {
			lines = "binary"
		}
		b.item("%s %s (%s)%s", inline(f.Status), name, lines, prefixed(" by ", inline(strings.Join(f.Agents, ", "))))
	}
	if n := r.Changes.Count - len(r.Changes.Files); n > 0 && r.Changes.Missing == "" {
		b.item("%d more", n)
	}
}

func (r *Report) markdownProofs(b *page) {
	b.heading("Proved")
	if len(r.Acceptance)+len(r.Checks) == 0 {
		b.line("Nothing was checked.")
	}
	for _, c := range r.Acceptance {
		b.item("acceptance, %s: %s (set by: %s)", inline(c.Status), inline(c.Text), inline(c.By))
		if c.Command != "" {
			b.line("  - command: %s", code(c.Command))
		}
		b.line("  - %s", inline(c.receipt()))
	}
	for _, c := range r.Checks {
		b.item("check of %s, %s: %s", inline(c.Agent), inline(c.Result), code(c.Command))
		b.line("  - expected: %s", inline(c.Expect))
		b.line("  - %s", inline(c.receipt()))
		if c.Output != "" {
			b.fence("  ", c.Output)
		}
	}
}

// page collects the Markdown text.
type page struct{ strings.Builder }

func (b *page) line(format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }

func (b *page) item(format string, args ...any) { b.line("- "+format, args...) }

func (b *page) heading(text string) { b.line("\n## %s\n", text) }

// quote writes text of several lines as a quoted block.
func (b *page) quote(indent, text string) {
	if text == "" {
		return
	}
	b.line("")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSpace(l)
	}
	for i, l := range lines {
		end := ""
		if i+1 < len(lines) && l != "" && lines[i+1] != "" {
			end = "\\" // the line ends here
		}
		b.line("%s", strings.TrimRight(indent+"> "+inline(l)+end, " "))
	}
	b.line("")
}

// fence writes text of several lines unchanged, in a fence within a quoted block, so that no line of the
// log begins with it.
func (b *page) fence(indent, text string) {
	mark := strings.Repeat("`", max(3, longest(text, '`')+1))
	b.line("\n%s> %stext", indent, mark)
	for l := range strings.Lines(text) {
		b.line("%s> %s", indent, strings.TrimRight(l, "\n"))
	}
	b.line("%s> %s\n", indent, mark)
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
