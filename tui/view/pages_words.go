package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// elapsedPage returns a duration in few characters: "8s", "12m", "3h 05m", "2d 4h".
func elapsedPage(d time.Duration) string {
	d = max(d, 0)
	switch s := int(d / time.Second); {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm", s/60)
	case s < 86400:
		return fmt.Sprintf("%dh %02dm", s/3600, s/60%60)
	default:
		return fmt.Sprintf("%dd %dh", s/86400, s/3600%24)
	}
}

// PageRunning returns a growing duration in few characters: "8s", "2m 05s", "1h 05m".
func PageRunning(d time.Duration) string {
	if s := int(d / time.Second); s >= 60 && s < 3600 {
		return fmt.Sprintf("%dm %02ds", s/60, s%60)
	}
	return elapsedPage(d)
}

// PageClock returns a growing duration: "0:42", "1:02:03".
func PageClock(d time.Duration) string {
	s := int(max(d, 0) / time.Second)
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// Age returns how long ago something was, in few characters; empty: it is unknown.
func Age(then, now time.Time) string {
	switch d := now.Sub(then); {
	case then.IsZero():
		return ""
	case d < 14*24*time.Hour:
		return elapsedPage(d)
	}
	return then.Format("2 Jan 2006")
}

// percent returns a percentage with at most three digits.
func percent(pct float64) string { return fmt.Sprintf("%d%%", int(max(min(pct, 999), 0)+0.5)) }

// shortPage returns an agent's name for little room: "Orch. II".
func shortPage(name string) string {
	if number, ok := strings.CutPrefix(name, "Orchestrator "); ok {
		return "Orch. " + number
	}
	return name
}

// spaced puts spaces between the letters of a word.
func spaced(s string) string {
	words := strings.Fields(s)
	for i, w := range words {
		words[i] = strings.Join(strings.Split(w, ""), " ")
	}
	return strings.Join(words, "   ")
}

func stepMark(g *render.Glyphs, status string) (string, render.Role) {
	switch status {
	case "done":
		return g.Done, render.Good
	case "active":
		return g.Current, render.Active
	case "failed":
		return g.Failed, render.Bad
	case "skipped":
		return g.Skipped, render.Pending
	}
	return g.Pending, render.Pending
}

func stepText(status string) render.Role {
	switch status {
	case "active":
		return render.Strong
	case "done", "skipped":
		return render.Dim
	}
	return render.Base
}

// padPage returns s in exactly so many columns.
func padPage(s string, columns int, ellipsis string) string {
	s = render.Shorten(s, columns, ellipsis)
	return s + spaces(columns-render.Width(s))
}

// padLeft returns s at the right end of so many columns.
func padLeft(s string, columns int, ellipsis string) string {
	s = render.Shorten(s, columns, ellipsis)
	return spaces(columns-render.Width(s)) + s
}
