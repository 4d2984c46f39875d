package main

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// row describes a row of the table. Figures are named "Name/sub unit".
type row struct {
	what  string
	ours  string
	base  string  // the figure to compare with
	than  string  // its name
	most  float64 // aim: at most that much, in the row's unit; 0: none
	times float64 // aim: at most that many times the baseline; 0: none
}

// line is a row with its figures.
type line struct{ what, ours, base, ratio, aim string }

func (r row) read(list []result) (line, error) {
	ours, unit, err := figure(list, r.ours)
	if err != nil {
		return line{}, err
	}
	base, baseUnit, err := figure(list, r.base)
	if err != nil {
		return line{}, err
	}
	l := line{what: r.what, ours: show(ours, unit), base: r.than + ": " + show(base, baseUnit)}
	ratio := ours * units[measure(unit)] / (base * units[measure(baseUnit)])
	if base > 0 { // an idle program may use nothing at all
		l.ratio = digits(ratio) + " ×"
	}
	held := true
	if r.times > 0 {
		l.aim, held = fmt.Sprintf("≤ %v ×", r.times), ratio <= r.times
	}
	if r.most > 0 {
		l.aim, held = "≤ "+show(r.most, unit), ours <= r.most
	}
	if !held {
		l.aim += " **missed**"
	}
	return l, nil
}

// units are the measures that benchmarks report, in nanoseconds, bytes or ones, so that figures in two of them can be
// compared.
var units = map[string]float64{"ns": 1, "µs": 1e3, "ms": 1e6, "MB": 1e6, "%": 1, "": 1}

var unitForm = regexp.MustCompile(`(?:^|-)(ns|µs|ms|MB|%)(?:$|[-/])`)

// measure returns the measure in a benchmark's unit: ms for "plain-p99-ms", ns for "ns/op".
func measure(unit string) string {
	if m := unitForm.FindStringSubmatch(unit); m != nil {
		return m[1]
	}
	return ""
}

// show formats a figure for people.
func show(n float64, unit string) string {
	m := measure(unit)
	if strings.HasSuffix(m, "s") {
		n *= units[m]
		for name, size := range map[string]float64{"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9} {
			if n >= size && (n < 1000*size || name == "s") {
				return digits(n/size) + " " + name
			}
		}
	}
	return strings.TrimSpace(digits(n) + " " + m)
}

// digits formats a number with three significant digits and with separators of thousands.
func digits(n float64) string {
	if n < 100 {
		return strconv.FormatFloat(n, 'g', 3, 64)
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

// result is a line of `go test -bench`: the benchmark's name, without "Benchmark" and the number of processors,
// and its figures by unit.
type result struct {
	name    string
	figures map[string]float64
}

var procs = regexp.MustCompile(`-\d+$`)

// parse reads the output of `go test -bench`.
func parse(text string) ([]result, error) {
	var list []result
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		r := result{procs.ReplaceAllString(strings.TrimPrefix(fields[0], "Benchmark"), ""), map[string]float64{}}
		for i := 2; i+1 < len(fields); i += 2 {
			n, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %q is not a figure", fields[0], fields[i])
			}
			r.figures[fields[i+1]] = n
		}
		list = append(list, r)
	}
	return list, nil
}

// figure finds a figure by "Name/sub unit".
func figure(list []result, of string) (n float64, unit string, err error) {
	name, unit, _ := strings.Cut(of, " ")
	for _, r := range list {
		if r.name == name {
			if n, ok := r.figures[unit]; ok {
				return n, unit, nil
			}
			return 0, "", fmt.Errorf("no %s told by Benchmark%s", unit, name)
		}
	}
	return 0, "", fmt.Errorf("no run of Benchmark%s", name)
}
