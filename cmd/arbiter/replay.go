package main

import (
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/supervisor/journal/eventlog"
)

// replay prints what the run's frontends were told, line for line.
func (e env) replay(c *cli.Context) error {
	if c.Bool("decisions") && c.Bool("screen") {
		return command.Usagef("replay: use either --screen or --decisions")
	}
	if c.Bool("decisions") {
		return e.replayDecisions(c)
	}
	if c.Bool("json") || c.IsSet("only") {
		return command.Usagef("replay: --json and --only need --decisions; without it, replay always prints JSON lines")
	}
	pace := c.Float64("pace")
	if c.Bool("screen") && pace > 0 {
		return command.Usagef("replay: --pace is for printed events; the keys + and - change the pace of the screen")
	}
	if c.NArg() != 1 {
		return command.Usagef("replay: give one RUN; arbiter sessions lists the runs")
	}
	if pace < 0 {
		return command.Usagef("--pace %g: must not be negative", pace)
	}
	store, info, err := runstore.OpenOne(c)
	if err != nil {
		return err
	}
	defer store.Close()
	log, err := store.OpenEventLog(info.Run)
	if err != nil {
		return err
	}
	defer log.Close()
	if c.Bool("screen") {
		return e.replayScreen(c, store, info, log)
	}
	p := eventPlayer{w: e.Stdout, pace: pace}
	health, err := log.Each(c.Context, eventlog.Position{}, p.take)
	if err != nil {
		return command.Environmentf("replay run %s: %v", command.ShortID(info.Run), err)
	}
	runstore.TellDamage(e.Stderr, health)
	return nil
}

// longestPause bounds the pause between two events of a replay: nobody watches a
// night go by.
const longestPause = 10 * time.Second

// eventPlayer plays a run's events again.
type eventPlayer struct {
	w    io.Writer
	pace float64 // 0: without pauses
	last time.Time
}

// take prints an event.
func (p *eventPlayer) take(e eventlog.Entry) error {
	if e.Line == nil {
		return nil
	}
	p.pause(e.At)
	_, err := p.w.Write(append(e.Line, '\n'))
	return err
}

func (p *eventPlayer) pause(at time.Time) {
	if p.pace > 0 && !p.last.IsZero() {
		if d := time.Duration(float64(at.Sub(p.last)) / p.pace); d > 0 {
			time.Sleep(min(d, longestPause))
		}
	}
	p.last = at
}
