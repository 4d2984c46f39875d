package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

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
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return f, err
		}
		switch second, err := readFile(filepath.Join(dir, s.again()), s.subtests); {
		case err == nil:
			o.takeOver(second)
		case !errors.Is(err, fs.ErrNotExist):
			return f, err
		}
		f.cells[s.title] = o.cells
		for _, text := range o.oddities {
			f.wire[text] = true
		}
	}
	if len(f.cells) == 0 {
		return f, errors.New("nothing was tried")
	}
	if err := recorded(dir, f); err != nil {
		return f, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.wire"))
	if err != nil {
		return f, err
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return f, err
		}
		recordObservations(raw, f.wire)
	}
	return f, nil
}

// recorded reads the results of the recorded plays, if there are any.
func recorded(dir string, f findings) error {
	o, err := readFile(filepath.Join(dir, capturesFile), false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	plays := map[string]cell{"every frame is known": o.cells["TestCaptures"]}
	for _, s := range scenarios {
		plays[s] = cell{State: ok}
		switch why, err := os.ReadFile(filepath.Join(dir, s+".err")); {
		case err == nil:
			plays[s] = cell{State: differs, Reason: scrub(string(why))}
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	f.cells[recording] = plays
	return nil
}

func readFile(file string, subtests bool) (*outcome, error) {
	r, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return read(r, subtests)
}
