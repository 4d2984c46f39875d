package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

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
