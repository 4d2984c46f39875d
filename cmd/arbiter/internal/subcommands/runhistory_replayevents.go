package subcommands

import (
	"io"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/urfave/cli/v2"
)

// PrintEvents prints the events that the frontends of a run received, line by line.
func PrintEvents(e command.Env, c *cli.Context) error {
	store, info, log, err := runstore.OpenLogOf(c)
	if err != nil {
		return err
	}
	defer store.Close()
	defer log.Close()
	p := eventPlayer{w: e.Stdout, pace: c.Float64("pace")}
	health, err := log.Each(c.Context, journal.LogPosition{}, p.take)
	if err != nil {
		return command.Environmentf("replay run %s: %v", command.ShortID(info.Run), err)
	}
	runstore.PrintDamage(e.Stderr, health)
	return nil
}

// longestPause bounds the pause between two events of a replay, so that it does not wait through a night.
const longestPause = 10 * time.Second

// eventPlayer replays a run's events.
type eventPlayer struct {
	w    io.Writer
	pace float64 // 0: without pauses
	last time.Time
}

// take prints an event.
func (p *eventPlayer) take(e journal.LogEntry) error {
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
