// Command driftloop tests what is known of the Claude CLI's protocol with several versions of it, one after the
// other, and writes a table of the differences:
//
//	go run ./scripts/driftloop -out testdata/drift.md -pinned 2.1.329 2.1.300=PATH 2.1.329=PATH …
//
// For each version it runs the driver's live tests, the conversations that the stand-in must pass too, and a
// few whole plays, and it records the protocol of three more plays. A test that fails is tried once more alone,
// so that a busy machine is not mistaken for drift; -again repeats only the tests that failed before. The
// output of the tests and the recordings are kept in a directory for each version, from which -show makes the
// table again.
//
// It exits with 1 if it could not run, and with 0 otherwise: differences are in the table.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	out := flag.String("out", "testdata/drift.md", "the table")
	keep := flag.String("keep", "", "directory of what the tests said and what was recorded, by version")
	pinned := flag.String("pinned", "", "the version that everything else is tested with")
	show := flag.Bool("show", false, "run nothing: make the table from what was kept")
	again := flag.Bool("again", false, "run only what failed before")
	short := flag.Bool("short", false, "run the core of each part only")
	flag.Parse()
	if err := run(*out, *keep, *pinned, *show, trial{short: *short, again: *again}, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "drift:", err)
		os.Exit(1)
	}
}

func run(out, keep, pinned string, show bool, a trial, clis []string) error {
	if len(clis) == 0 || keep == "" {
		return errors.New("needs -keep DIR and VERSION=PATH of each CLI, the oldest first")
	}
	if !show {
		var err error
		a.programs, err = build()
		defer os.RemoveAll(a.programs.dir)
		if err != nil {
			return err
		}
	}
	t := table{pinned: pinned, short: a.short}
	for _, cli := range clis {
		version, path, ok := strings.Cut(cli, "=")
		if !ok {
			return fmt.Errorf("%q is not VERSION=PATH", cli)
		}
		a.version, a.claude, a.dir = version, path, filepath.Join(keep, version)
		if !show {
			began := time.Now()
			if err := a.run(); err != nil {
				return fmt.Errorf("%s: %w", version, err)
			}
			fmt.Fprintf(os.Stderr, "%s: %v\n", version, time.Since(began).Round(time.Second))
		}
		found, err := gather(a.dir)
		if err != nil {
			return fmt.Errorf("%s: %w", version, err)
		}
		t.versions, t.found = append(t.versions, version), append(t.found, found)
	}
	return os.WriteFile(out, []byte(t.render()), 0o644)
}

// findings are the results of one version.
type findings struct {
	cells map[string]map[string]cell // by suite and row
	wire  map[string]bool            // what the CLI's lines showed
}

// gather reads the files that a trial has kept. It leaves out parts that were not run.
func gather(dir string) (findings, error) {
	f := findings{cells: map[string]map[string]cell{}, wire: map[string]bool{}}
	for _, s := range suites {
		o, err := readFile(filepath.Join(dir, s.file()), s.subtests)
		again, bad := readFile(filepath.Join(dir, s.again()), s.subtests)
		if err := errors.Join(err, bad); err != nil {
			return f, err
		}
		if len(o.cells) == 0 {
			continue
		}
		o.takeOver(again)
		f.cells[s.title] = o.cells
		for _, text := range o.oddities {
			f.wire[text] = true
		}
	}
	if len(f.cells) == 0 {
		return f, errors.New("nothing was tried")
	}
	o, err := readFile(filepath.Join(dir, capturesFile), false)
	if err != nil {
		return f, err
	}
	if len(o.cells) > 0 {
		f.cells[recording] = map[string]cell{"every frame is known": o.cells["TestCaptures"]}
		for _, s := range scenarios {
			f.cells[recording][s] = cell{State: ok}
			if why, err := os.ReadFile(filepath.Join(dir, s+".err")); err == nil {
				f.cells[recording][s] = cell{State: differs, Reason: scrub(string(why))}
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.wire"))
	for _, file := range files {
		raw, bad := os.ReadFile(file)
		err = errors.Join(err, bad)
		recordObservations(raw, f.wire)
	}
	return f, err
}

// readFile reads the outcome of tests: of none, if the file does not exist.
func readFile(file string, subtests bool) (*outcome, error) {
	r, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return &outcome{cells: map[string]cell{}}, nil
	} else if err != nil {
		return nil, err
	}
	defer r.Close()
	return read(r, subtests)
}
