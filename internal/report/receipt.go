package report

import (
	"fmt"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// receiptColumns is the width of a receipt.
const receiptColumns = 80

// Receipt returns the run in at most eight lines of 80 columns: the task, the work, the proofs, and the
// cost. next is the last line, which says how to continue; it is not cut, because half a command is
// useless. Empty: there is none.
func (r *Report) Receipt(next string) []string {
	var lines []string
	add := func(name, text string) {
		if text = sanitize.Line(text, 0); text != "" {
			lines = append(lines, fit(fmt.Sprintf("%-8s %s", name, text)))
		}
	}
	if n := len(r.Tasks); n > 0 {
		add("asked", words.Title(r.Tasks[n-1]))
	}
	did := r.Status
	if r.Summary != "" {
		did += ": " + r.Summary
	}
	add("done", did)
	add("proved", r.proved())
	add("files", r.changed())
	add("cost", fmt.Sprintf("%s, %s tokens, %s", r.usd(r.CostUSD), words.Tokens(tokenCount(r.Usage)), r.lasted()))
	if n := len(r.Open); n > 0 {
		add("open", words.Count(n, "point")+", first "+r.Open[0].Kind+": "+r.Open[0].Text)
	}
	if next != "" {
		lines = append(lines, next)
	}
	return lines
}

// fit cuts a line to the columns of a receipt.
func fit(line string) string {
	if uniseg.StringWidth(line) <= receiptColumns {
		return line
	}
	var b strings.Builder
	width := 0
	for clusters := uniseg.NewGraphemes(line); clusters.Next(); {
		if width += clusters.Width(); width >= receiptColumns {
			break
		}
		b.WriteString(clusters.Str())
	}
	return b.String() + "…"
}
