package host

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// DoctorStyle is how a report is printed for a person.
type DoctorStyle struct {
	ASCII  bool
	Colour bool
}

// maxLine bounds found and fixes; only an unusually long path exceeds it.
const maxLine = 1000

var (
	signs = map[DoctorState][2]string{
		DoctorOK:   {"✓", "+"},
		DoctorNote: {"·", "-"},
		DoctorWarn: {"!", "!"},
		DoctorFail: {"✗", "x"},
	}
	// colours are from the terminal's own palette, so that they fit its background.
	colours = map[DoctorState]string{DoctorOK: "32", DoctorNote: "36", DoctorWarn: "33", DoctorFail: "31"}
)

// Print writes the report as lines for a person.
func (r DoctorReport) Print(w io.Writer, s DoctorStyle) error {
	var b strings.Builder
	area, width := "", 0
	for _, f := range r.Findings {
		width = max(width, len([]rune(f.Name)))
	}
	for _, f := range r.Findings {
		if f.Area != area {
			if area != "" {
				b.WriteString("\n")
			}
			area = f.Area
			fmt.Fprintln(&b, s.painted("1", area))
		}
		fmt.Fprintf(&b, "%s %-*s  %s\n", s.sign(f.State), width, f.Name, sanitize.Line(sanitize.Redact(f.Found), maxLine))
		if f.Fix != "" {
			arrow := "→"
			if s.ASCII {
				arrow = "->"
			}
			fmt.Fprintf(&b, "  %-*s  %s %s\n", width, "", arrow, sanitize.Line(f.Fix, maxLine))
		}
	}
	over := r.State
	if over == DoctorNote {
		over = DoctorOK
	}
	fmt.Fprintf(&b, "\n%s %s\n", s.sign(over), r.verdict())
	_, err := io.WriteString(w, b.String())
	return err
}

// verdict returns the last line.
func (r DoctorReport) verdict() string {
	warnings := ""
	if n := r.Counts[DoctorWarn]; n > 0 {
		warnings = ", " + words.Count(n, "warning")
	}
	if n := r.Counts[DoctorFail]; n > 0 {
		text := "A run cannot start here, or would fail: " + words.Count(n, "failure") + warnings + "."
		if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.State == DoctorFail && f.Area != AreaClaude }) {
			text += " A rehearsal can: arbiter --rehearse"
		}
		return text
	}
	return "A run can start here" + warnings + "."
}

func (s DoctorStyle) sign(state DoctorState) string {
	if s.ASCII {
		return s.painted(colours[state], signs[state][1])
	}
	return s.painted(colours[state], signs[state][0])
}

func (s DoctorStyle) painted(colour, text string) string {
	if !s.Colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}
