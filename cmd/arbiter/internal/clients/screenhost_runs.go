package clients

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	"github.com/arbiter-cli/arbiter/internal/report"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/tui"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

// reports are the statuses of finished runs, for which the screen offers the report.
var reports = []string{contract.StatusComplete, contract.StatusIncomplete, contract.StatusFailed,
	contract.StatusCancelled, contract.StatusInterrupted}

// costLines is how many of the last lines of an event log are searched for the cost of a run.
const costLines = 400

func (h *ScreenHost) Runs(ctx context.Context) ([]tui.RunInfo, error) {
	store, err := runstore.OpenIn(h.choices.StateDir)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	list, err := store.List()
	if err != nil {
		return nil, command.Environmentf("list the runs: %v", err)
	}
	infos := make([]tui.RunInfo, 0, len(list))
	for _, i := range list {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		info := h.runInfo(i)
		if info.CostUSD == 0 {
			info.CostUSD = costOf(ctx, store, i.Run)
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// runInfo returns what a screen shows of a run, except its cost while no process has ended it.
func (h *ScreenHost) runInfo(i journal.Info) tui.RunInfo {
	line := runstore.LineOf(i)
	return tui.RunInfo{
		ID: i.Run, Title: i.Title, Status: line.Status, LastActive: i.LastActive, Bytes: i.Bytes,
		CostUSD: i.CostUSD, Rehearsal: i.Rehearsal, CWD: i.CWD, Here: command.SameDir(i.CWD, h.choices.Place), Live: i.Live,
		Finished: slices.Contains(reports, line.Status), Resumable: line.Resumable,
	}
}

// costOf returns the cost of a run, as far as the end of its event log has it.
func costOf(ctx context.Context, store *runstore.Runs, run string) (usd float64) {
	log, err := store.EventLog(run)
	if err != nil {
		return 0
	}
	defer log.Close()
	lines := 0
	err = log.Backward(ctx, journal.LogPosition{}, func(e journal.LogEntry) bool {
		lines++
		if e.Line == nil {
			return lines < costLines
		}
		event, err := contract.DecodeWritten(e.Line)
		if err != nil {
			return lines < costLines
		}
		switch b := event.Body.(type) {
		case contract.Result:
			usd = b.CostUSD
		case contract.Cost:
			usd = b.RunCostUSD
		}
		return usd == 0 && lines < costLines
	})
	if err != nil {
		return 0
	}
	return usd
}

// Report implements tui.Host.
func (h *ScreenHost) Report(ctx context.Context, run string) (string, error) {
	store, info, err := runstore.FindIn(h.choices.StateDir, run)
	if err != nil {
		return "", err
	}
	defer store.Close()
	r, _, err := runstore.PastReport(ctx, store, info)
	if err != nil {
		return "", command.Environmentf("report on run %s: %v", command.ShortID(info.Run), err)
	}
	var text bytes.Buffer
	if err := report.Write(&text, r, report.Markdown); err != nil {
		return "", err
	}
	return text.String(), nil
}

// Explain implements tui.Host.
func (h *ScreenHost) Explain(ctx context.Context, run string, number int) (string, error) {
	store, info, err := runstore.FindIn(h.choices.StateDir, run)
	if err != nil {
		return "", err
	}
	defer store.Close()
	log, err := store.EventLog(run)
	if err != nil {
		return "", command.Environmentf("read run %s: %v", command.ShortID(run), err)
	}
	defer log.Close()
	list, _, err := runstore.ReadDecisions(ctx, log)
	if err != nil {
		return "", command.Environmentf("read run %s: %v", command.ShortID(run), err)
	}
	for _, r := range slices.Backward(list) {
		if number == 0 || r.Number == number && !r.Unused {
			var text bytes.Buffer
			subcommands.WriteExplanation(&text, subcommands.ExplainDecision(run, info.Rehearsal, r, nil))
			return text.String(), nil
		}
	}
	if number == 0 {
		return "", command.Usagef("no decision has been recorded in this run yet")
	}
	return "", command.Usagef("run %s has no decision %d: it has %d", command.ShortID(run), number, len(list))
}

// RunsText lists the runs as text.
func RunsText(list []tui.RunInfo, now time.Time) string {
	if len(list) == 0 {
		return "There are no runs yet."
	}
	var b strings.Builder
	for _, r := range list {
		fmt.Fprintf(&b, "%s %s", command.ShortID(r.ID), sanitize.Line(r.Status, 40))
		if r.CostUSD > 0 {
			b.WriteString(", " + eventtext.Dollars(r.CostUSD) + eventtext.Simulated(r.Rehearsal))
		}
		if d := now.Sub(r.LastActive); !r.Live && d > 0 {
			b.WriteString(", " + eventtext.Span(d) + " ago")
		}
		fmt.Fprintf(&b, ", in %s: %s\n", sanitize.Line(r.CWD, 100), sanitize.Line(r.Title, 100))
	}
	b.WriteString("To show a live one: arbiter attach RUN. To resume one: arbiter --resume --session RUN. " +
		"To read its report: arbiter report RUN.")
	return b.String()
}
