package transcript

import (
	"context"
	"path/filepath"
	"strings"
)

// ReadMeter folds a whole transcript into the account that a process which
// resumes the session begins with: along the branch that it remembers, with a mark
// at the end of each turn. The end of the file counts as the end of a turn, as
// nobody goes on with one after a resume. ReadNewest is the quick way to the
// figure alone.
func ReadMeter(ctx context.Context, path string) (Meter, error) {
	f, err := open(path)
	if err != nil {
		return Meter{}, err
	}
	defer f.Close()
	h := newHistory(strings.TrimSuffix(filepath.Base(path), extension))
	if err := h.read(ctx, f); err != nil {
		return Meter{}, err
	}
	return h.meter(), nil
}

func (h *history) meter() Meter {
	var m Meter
	for _, n := range h.remembered() {
		switch {
		case n.compacts:
			m.Compacted()
		case n.kind == prompt:
			m.TurnEnded()
		case n.kind == answer:
			m.Sample(n.sample)
		}
	}
	m.TurnEnded()
	return m
}
