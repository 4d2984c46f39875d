package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/audit"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// replay prints what the run's faces were told, line for line.
func (e env) replay(c *cli.Context) error {
	if c.Bool("decisions") {
		return e.replayDecisions(c)
	}
	if c.Bool("json") || c.IsSet("only") {
		return usagef("replay: --json and --only go with --decisions; events are JSON lines anyway")
	}
	pace := c.Float64("pace")
	if c.NArg() != 1 || pace < 0 {
		return usagef("replay: name one run, and a --pace that is not negative")
	}
	store, info, err := openRun(c)
	if err != nil {
		return err
	}
	defer store.Close()
	p := replayer{w: e.stdout, pace: pace}
	recovery, err := store.Read(info.Run, p.take)
	var tampered *journal.TamperedError
	if errors.As(err, &tampered) {
		return tamperedf(tampered, store.root)
	}
	if err != nil {
		return environmentf("replay run %s: %v", short(info.Run), err)
	}
	e.tellDamage(recovery)
	return nil
}

// tellDamage says on stderr what a crash does not explain.
func (e env) tellDamage(r journal.Recovery) {
	if list := audit.Damage(r); len(list) > 0 {
		fmt.Fprintln(e.stderr, "arbiter: the journal is damaged; this is what can be read: "+strings.Join(list, "; "))
	}
}

// longestPause bounds the pause between two events of a replay: nobody watches a
// night go by.
const longestPause = 10 * time.Second

// replayer plays a run's events again.
type replayer struct {
	w    io.Writer
	pace float64 // 0: without pauses

	fold supervisor.Fold
	seq  uint64
	last time.Time
	line []byte
}

// take plays one record of the journal.
func (p *replayer) take(r journal.Record) error {
	step, err := p.fold.Replay(r)
	if err != nil {
		return err
	}
	for _, e := range step.Effects {
		emit, ok := e.(supervisor.Emit)
		if !ok {
			continue
		}
		if _, life := emit.Event.Body.(contract.Session); life {
			p.seq = 0 // each life of the run counts its own lines
		}
		p.seq++
		p.pause(step.Input.At)
		if p.line, err = contract.EncodeLine(p.line[:0], p.seq, step.Input.At, emit.Event); err != nil {
			return err
		}
		if _, err := p.w.Write(p.line); err != nil {
			return err
		}
	}
	return nil
}

func (p *replayer) pause(at time.Time) {
	if p.pace > 0 && !p.last.IsZero() {
		if d := time.Duration(float64(at.Sub(p.last)) / p.pace); d > 0 {
			time.Sleep(min(d, longestPause))
		}
	}
	p.last = at
}
