package audit

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/journal/eventlog"
)

// Folded makes the event log of a run from its journal, in memory, as long as a run does not
// write it itself. Of a journal that somebody tampered with it has what is before that.
func Folded(store *journal.Store, run string) (*eventlog.Log, journal.Recovery, error) {
	var (
		fold    supervisor.Fold
		telling supervisor.Telling
		chain   eventlog.Chain
		raw     []byte
	)
	recovery, err := store.Read(run, func(r journal.Record) error {
		before := fold.State
		step, err := fold.Replay(r)
		if err != nil {
			return err
		}
		for _, told := range Told(&before, step, &fold.State) {
			content, err := telling.Content(r.Seq, step.Input.At, told)
			if err != nil {
				return err
			}
			if raw, err = chain.Append(raw, content); err != nil {
				return err
			}
		}
		return nil
	})
	if _, tampered := errors.AsType[*journal.TamperedError](err); err != nil && !tampered {
		return nil, recovery, err
	}
	return eventlog.New(folded{bytes.NewReader(raw)}), recovery, err
}

type folded struct{ *bytes.Reader }

func (m folded) Size() (int64, error) { return m.Reader.Size(), nil }
func (m folded) Close() error         { return nil }

// JournalDamage describes what of a journal a crash does not explain.
func JournalDamage(r journal.Recovery) []string {
	list := []string{}
	for _, d := range r.Damage {
		if d.Torn && !d.Unsealed || d.Mended {
			continue
		}
		list = append(list, sanitize.Line(fmt.Sprintf("%s at %d: %s", d.Segment, d.Offset, d.Reason), 300))
	}
	return list
}
