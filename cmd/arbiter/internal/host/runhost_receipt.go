package host

import (
	"context"
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// receiptTimeout bounds how long a person waits for the receipt of a run. For a long run, reading the record takes
// longer: arbiter report prints it.
const receiptTimeout = 2 * time.Second

// receipt returns the lines for a person at the end of a run; the last one is next, the command that continues.
// With --json, or if the record of the run cannot be read in time, the receipt itself is left out.
func (r *hostedRun) receipt(next string) []string {
	alone := append(slices.Clone(r.files.leftover), next)
	if r.choices.JSON {
		return alone
	}
	store, err := journal.OpenStore(r.choices.StateDir)
	if err != nil {
		return alone
	}
	defer store.Close()
	info, err := store.Find(r.choices.Options.Run)
	if err != nil {
		return alone
	}
	info.Live = false // the run is over, though its processes may still be ending
	ctx, cancel := context.WithTimeout(context.Background(), receiptTimeout)
	defer cancel()
	report, _, err := runstore.PastReport(ctx, &runstore.Runs{Store: store, Root: r.choices.StateDir}, info)
	if err != nil {
		return alone
	}
	return append(slices.Clone(r.files.leftover), report.Receipt(next)...)
}
