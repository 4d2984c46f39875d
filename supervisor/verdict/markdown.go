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

// Empty says whether the document says nothing: it is nil, or all of its texts
// are blank.
func (d *Document) Empty() bool { return d == nil || d.Markdown() == "" }

// Markdown renders the document for a brief; sections without content are left out.
func (d *Document) Markdown() string {
	if d == nil {
		return ""
	}
	var b strings.Builder
	list(&b, "Accomplished", d.Accomplished)
	list(&b, "Remaining", d.Remaining)
	if text := strings.TrimSpace(d.KeyContext); text != "" {
		heading(&b, "Key context")
		b.WriteString(text + "\n")
	}
	list(&b, "Decisions", lines(d.Decisions, func(x Decision) string {
		return phrase(x.Choice, " — rejected: ", x.Rejected, " — why: ", x.Why)
	}))
	list(&b, "Constraints", d.Constraints)
	list(&b, "Files", d.Files)
	list(&b, "Checks", lines(d.Checks, func(x Check) string {
		return phrase(x.Command, " — expect: ", x.Expect)
	}))
	list(&b, "Open questions", d.OpenQuestions)
	list(&b, "Claims (the author's word)", lines(d.Claims, func(x Claim) string {
		mark := "not verified"
		if x.Verified {
			mark = "said to be verified"
		}
		if strings.TrimSpace(x.Claim) == "" {
			return ""
		}
		return fmt.Sprintf("%s (%s)", strings.TrimSpace(x.Claim), mark)
	}))
	return b.String()
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
		// Indented, a line of an item cannot pass for an item of its own.
		b.WriteString("- " + strings.ReplaceAll(item, "\n", "\n  ") + "\n")
	}
}
