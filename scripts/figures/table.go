package main

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// row describes a row of the table. Figures are named "Name/sub unit".
type row struct {
	what string
	ours string
	// base is the figure to compare with, and than its name; both are empty if there is nothing to compare
	// with.
	base, than string
	most       float64 // aim: at most that much, in the row's unit; 0: none
	times      float64 // aim: at most that many times the baseline; 0: none
}

// line is a row with its figures.
type line struct{ what, ours, base, ratio, aim string }

func (r row) read(list []result) (line, error) {
	n, unit, err := figure(list, r.ours)
	if err != nil {
		return line{}, err
	}
	l := line{what: r.what, ours: show(n, unit)}
	held := true
	if r.base != "" {
		base, baseUnit, err := figure(list, r.base)
		if err != nil {
			return line{}, err
		}
		n, base := n*scale(unit), base*scale(baseUnit)
		l.base = r.than + ": " + show(base/scale(baseUnit), baseUnit)
		if base > 0 { // an idle program may use nothing at all
			l.ratio = digits(n/base) + " ×"
		}
		if r.times > 0 {
			l.aim, held = fmt.Sprintf("≤ %v ×", r.times), n/base <= r.times
		}
	}
	if r.most > 0 {
		l.aim, held = "≤ "+show(r.most, unit), n <= r.most
	}
	if !held {
		l.aim += " **missed**"
	}
	return l, nil
}

// scale returns a unit in nanoseconds, bytes or ones, so that figures in two units can be compared.
func scale(unit string) float64 {
	switch size(unit) {
	case "µs":
		return 1e3
	case "ms":
		return 1e6
	case "kB":
		return 1e3
	case "MB", "MB/s":
		return 1e6
	}
	return 1
}

// size returns the measure in a benchmark's unit: ms for "plain-p99-ms", ns for "ns/op".
func size(unit string) string {
	for part := range strings.FieldsFuncSeq(unit, func(r rune) bool { return r == '-' || r == '_' }) {
		of, by, _ := strings.Cut(part, "/")
		switch {
		case part == "MB/s":
			return part
		case of == "ns" || of == "µs" || of == "ms" || of == "kB" || of == "MB" || of == "%":
			return of
		case by == "s":
			return "/s"
		}
	}
	return ""
}

// show formats a figure for people.
func show(n float64, unit string) string {
	switch s := size(unit); s {
	case "ns", "µs", "ms":
		n *= scale(unit)
		for _, step := range []struct {
			of   float64
			name string
		}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
			if n >= step.of {
				return digits(n/step.of) + " " + step.name
			}
		}
		return digits(n) + " ns"
	case "MB/s":
		if n >= 1000 {
			return digits(n/1000) + " GB/s"
		}
		return digits(n) + " MB/s"
	case "/s":
		return digits(n) + "/s"
	case "%":
		return digits(n) + " %"
	case "":
		return digits(n)
	default:
		return digits(n) + " " + s
	}
}

// digits formats a number with three significant digits and with separators of thousands.
func digits(n float64) string {
	if n == 0 {
		return "0"
	}
	if n < 100 {
		places := max(0, 2-int(math.Floor(math.Log10(n))))
		text := fmt.Sprintf("%.*f", min(places, 6), n)
		if strings.Contains(text, ".") {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
		return text
	}
	whole := fmt.Sprintf("%.0f", n)
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return whole
}

// table prints lines as Markdown.
func table(w io.Writer, head string, lines []line) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Figures\n\nPrinted by `scripts/bench` on %s. The ratio is ours to the baseline of the same "+
		"run; figures of two machines compare by it alone.\n\n", head)
	b.WriteString("| what | ours | baseline | ratio | aim |\n|---|---|---|---|---|\n")
	for _, l := range lines {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", l.what, l.ours, l.base, l.ratio, l.aim)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
