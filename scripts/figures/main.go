// Package main runs the benchmarks of what a user would notice and prints one table of their results: our
// figure, a baseline that was measured in the same run, and the ratio of the two. Only this ratio can be
// compared between two machines. Nothing in the table is typed by hand: plan.go says which figure of which
// benchmark goes into which cell. Benchmarks that only help to change a package are not in the plan.
//
// scripts/bench starts it.
package main

import (
	"bytes"
	"errors"
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
	if err := table(os.Stdout, *short, *only); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

const head = `# Figures

Printed by ` + "`scripts/bench`" + ` on %d processors, %s, %s/%s, commit %s. The ratio is ours to the baseline of the ` +
	`same run; figures of two machines compare by it alone.

| what | ours | baseline | ratio | aim |
|---|---|---|---|---|
`

// table runs the plan and prints its table. A benchmark that fails, or that does not report the figures of
// its row, gives an error with its name; the table is printed all the same.
func table(w io.Writer, short bool, only string) error {
	wanted, wrong := regexp.Compile(only)
	if wrong != nil {
		return fmt.Errorf("-only: %w", wrong)
	}
	commit, err := exec.Command("git", "describe", "--always", "--dirty", "--exclude=*").Output()
	if err != nil {
		return fmt.Errorf("git describe: %w", err)
	}
	made := strings.TrimSpace(string(commit))
	if short {
		made += ", a quick look"
	}
	fmt.Fprintf(w, head, runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH, made)
	for _, r := range plan {
		if !wanted.MatchString(r.pkg+" "+r.bench) || short && r.brief == "" {
			continue
		}
		for _, row := range r.rows {
			fmt.Fprintf(os.Stderr, "%s\n", row.what)
		}
		results, err := r.run(short)
		wrong = errors.Join(wrong, err)
		for _, row := range r.rows {
			if line, err := row.markdown(results); err == nil {
				fmt.Fprint(w, line)
			} else {
				wrong = errors.Join(wrong, fmt.Errorf("%s: %w", r.pkg, err))
			}
		}
	}
	return wrong
}

// run runs one group of benchmarks with go test.
func (r run) run(short bool) (figures, error) {
	rounds := r.rounds
	args := []string{"test", "-run", "^$", "-bench", "^Benchmark(" + r.bench + ")$", "-timeout", "20m"}
	if short {
		rounds, args = r.brief, append(args, "-short")
	}
	var out bytes.Buffer
	cmd := exec.Command("go", append(args, "-benchtime", rounds, "./"+r.pkg)...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", r.pkg, r.bench, err, out.Bytes()[max(0, out.Len()-4000):])
	}
	return parse(out.String()), nil
}
