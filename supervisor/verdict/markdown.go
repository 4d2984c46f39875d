package verdict

import (
	"fmt"
	"strings"
)

// Normalize makes every list non-nil, so that it is [] in JSON and never null. A
// nil document stays nil.
func (d *Document) Normalize() {
	if d == nil {
		return
	}
	for _, list := range []*[]string{&d.Accomplished, &d.Remaining, &d.Constraints, &d.Files, &d.OpenQuestions} {
		if *list == nil {
			*list = []string{}
		}
	}
	if d.Decisions == nil {
		d.Decisions = []Decision{}
	}
	if d.Checks == nil {
		d.Checks = []Check{}
	}
	if d.Claims == nil {
		d.Claims = []Claim{}
	}
}

// Empty reports whether the document has no content: it is nil, or all of its texts are blank.
func (d *Document) Empty() bool { return d == nil || d.Markdown() == "" }

// Markdown renders the document for a brief, as its author gave it; sections
// without content are left out.
func (d *Document) Markdown() string {
	return d.render("Claims (the author's word)", func(i int) string { return requirement(d.Checks[i]) },
		func(i int) string {
			return strings.TrimSpace(d.Claims[i].Claim) + " (" + word(d.Claims[i]) + ")"
		})
}

// Proven renders the document with the result of each check beside it, and what that proves about each claim.
// receipts are in the order of the checks; a check without one was not run.
func (d *Document) Proven(receipts []Receipt) string {
	proofs := d.Proofs(receipts)
	return d.render("Claims", func(i int) string {
		text := requirement(d.Checks[i])
		if i < len(receipts) && text != "" {
			text += " — " + receipts[i].line()
		}
		return text
	}, func(i int) string {
		return strings.TrimSpace(d.Claims[i].Claim) + " — " + strings.ToUpper(proofs[i]) + " (" + word(d.Claims[i]) +
			")"
	})
}

// render joins the sections. A check or claim without content is left out.
func (d *Document) render(claims string, check, claim func(int) string) string {
	if d == nil {
		return ""
	}
	var b strings.Builder
	list(&b, "Accomplished", d.Accomplished)
	list(&b, "Remaining", d.Remaining)
	list(&b, "Steps", lines(d.Steps, Step.String))
	if text := strings.TrimSpace(d.KeyContext); text != "" {
		heading(&b, "Key context")
		b.WriteString(text + "\n")
	}
	list(&b, "Decisions", lines(d.Decisions, Decision.Text))
	list(&b, "Constraints", d.Constraints)
	list(&b, "Files", d.Files)
	ran := make([]string, len(d.Checks))
	for i := range d.Checks {
		ran[i] = check(i)
	}
	list(&b, "Checks", ran)
	list(&b, "Open questions", d.OpenQuestions)
	said := make([]string, 0, len(d.Claims))
	for i, c := range d.Claims {
		if strings.TrimSpace(c.Claim) != "" {
			said = append(said, claim(i))
		}
	}
	list(&b, claims, said)
	return b.String()
}

// Text is a decision on one line.
func (x Decision) Text() string {
	return phrase(x.Choice, " — rejected: ", x.Rejected, " — why: ", x.Why)
}

// String is a step on one line.
func (s Step) String() string {
	text, mode := strings.TrimSpace(s.Text), strings.TrimSpace(s.Mode)
	if text == "" || mode == "" {
		return text
	}
	return text + " (for " + mode + ")"
}

func requirement(c Check) string { return phrase(c.Command, " — expect: ", c.Expect) }

// word is what the author says about a claim.
func word(c Claim) string {
	if c.Verified {
		return "said to be verified"
	}
	return "not verified"
}

// line reports the result of a check in one line.
func (r Receipt) line() string {
	text := strings.ToUpper(r.Result)
	if r.SHA256 != "" {
		text += fmt.Sprintf(": exit code %d, %d bytes, sha256 %.12s", r.Exit, r.Bytes, r.SHA256)
	}
	return phrase(text, "; ", r.Why, "; ", r.Before)
}

func lines[T any](items []T, render func(T) string) []string {
	out := make([]string, 0, len(items))
	for _, item := range items {
		out = append(out, render(item))
	}
	return out
}

// phrase joins a text with labelled others, leaving out what is blank.
func phrase(first string, labelled ...string) string {
	out := strings.TrimSpace(first)
	for i := 0; i+1 < len(labelled); i += 2 {
		if text := strings.TrimSpace(labelled[i+1]); text != "" {
			out += labelled[i] + text
		}
	}
	return strings.TrimPrefix(out, " — ")
}

func heading(b *strings.Builder, title string) {
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	b.WriteString("## " + title + "\n")
}

func list(b *strings.Builder, title string, items []string) {
	headed := false
	for _, item := range items {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		if !headed {
			heading(b, title)
			headed = true
		}
		// Indented, so that a line of an item does not look like another item.
		b.WriteString("- " + strings.ReplaceAll(item, "\n", "\n  ") + "\n")
	}
}
