package main

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/words"
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

// figures are what benchmarks have printed, by "Name/sub unit": the name is without "Benchmark" and the number of
// processors.
type figures map[string]float64

var procs = regexp.MustCompile(`-\d+$`)

// parse reads the output of `go test -bench`.
func parse(text string) figures {
	list := figures{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := procs.ReplaceAllString(strings.TrimPrefix(fields[0], "Benchmark"), "")
		for i := 2; i+1 < len(fields); i += 2 {
			if n, err := strconv.ParseFloat(fields[i], 64); err == nil {
				list[name+" "+fields[i+1]] = n
			}
		}
	}
	return list
}

// markdown returns the row with its figures, as a line of the table.
func (r row) markdown(list figures) (string, error) {
	ours, known := list[r.ours]
	base, compared := list[r.base]
	if !known || !compared {
		return "", fmt.Errorf("no figure %q, or no %q", r.ours, r.base)
	}
	_, unit, _ := strings.Cut(r.ours, " ")
	_, baseUnit, _ := strings.Cut(r.base, " ")
	times := ours * units[measure(unit)] / (base * units[measure(baseUnit)])
	ratio, aim, held := "", "", true
	if base > 0 { // an idle program may use nothing at all
		ratio = digits(times) + " ×"
	}
	if r.times > 0 {
		aim, held = fmt.Sprintf("≤ %v ×", r.times), times <= r.times
	}
	if r.most > 0 {
		aim, held = "≤ "+show(r.most, unit), ours <= r.most
	}
	if !held {
		aim += " **missed**"
	}
	return fmt.Sprintf("| %s | %s | %s: %s | %s | %s |\n", r.what, show(ours, unit), r.than, show(base, baseUnit),
		ratio, aim), nil
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
	return words.Number(int(math.Round(n)))
}
