// Package main runs the benchmarks of what a user would notice and prints one table of their results: our
// figure, a baseline that was measured in the same run, and the ratio of the two. Only this ratio can be
// compared between two machines. Nothing in the table is typed by hand: plan.go says which figure of which
// benchmark goes into which cell. Benchmarks that only help to change a package are not in the plan.
//
// scripts/bench starts it.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
)

func main() {
	short := flag.Bool("short", false, "a quick look: fewer rounds, and nothing that takes long")
	only := flag.String("only", "", "only what `REGEXP` matches: the package and the name of a benchmark")
	flag.Parse()
	if err := figures(os.Stdout, *short, *only); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

// figures runs the plan and prints its table. A benchmark that fails, or that does not report the figures of
// its row, gives an error with its name; the table is printed all the same.
func figures(w io.Writer, short bool, only string) error {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	var lines []line
	var wrong []string
	for _, r := range plan {
		if !wanted.MatchString(r.pkg+" "+r.bench) || short && r.brief == "" {
			continue
		}
		for _, row := range r.rows {
			fmt.Fprintf(os.Stderr, "%s\n", row.what)
		}
		results, err := r.run(short)
		if err != nil {
			wrong = append(wrong, err.Error())
			continue
		}
		for _, row := range r.rows {
			l, err := row.read(results)
			if err != nil {
				wrong = append(wrong, fmt.Sprintf("%s: %v", r.pkg, err))
				continue
			}
			lines = append(lines, l)
		}
	}
	head := fmt.Sprintf("%d processors, %s, %s/%s, %s", runtime.NumCPU(), runtime.Version(), runtime.GOOS,
		runtime.GOARCH, commit())
	if short {
		head += ", a quick look"
	}
	if err := table(w, head, lines); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%d without figures:\n%s", len(wrong), strings.Join(wrong, "\n"))
	}
	return nil
}

func commit() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty", "--exclude=*").Output()
	if err != nil {
		return "outside Git"
	}
	return "commit " + strings.TrimSpace(string(out))
}

// run runs one group of benchmarks with go test.
func (r run) run(short bool) ([]result, error) {
	rounds := r.rounds
	args := []string{"test", "-run", "^$", "-bench", "^Benchmark(" + r.bench + ")$", "-timeout", "20m"}
	if short {
		rounds, args = r.brief, append(args, "-short")
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command("go", append(args, "-benchtime", rounds, "./"+r.pkg)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s%s", r.pkg, r.bench, err, tail(stdout.String()), tail(stderr.String()))
	}
	return parse(stdout.String())
}

func tail(text string) string { return text[max(0, len(text)-2000):] }
