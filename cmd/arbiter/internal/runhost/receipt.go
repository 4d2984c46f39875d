package runhost

import (
	"context"
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/pastrun"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// receiptPatience bounds how long a person waits for the receipt of a run. The record of a long run takes longer to
// read: arbiter report prints it.
const receiptPatience = 2 * time.Second

// receipt returns what a person reads when a run is over, with the line that leads on at its end. With --json, and if
// the record of the run cannot be read in time, it is that line alone.
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
	info.Live = false // it is over, though processes of it may still be ending
	ctx, cancel := context.WithTimeout(context.Background(), receiptPatience)
	defer cancel()
	told, _, err := pastrun.Report(ctx, &runstore.Runs{Store: store, Root: r.choices.StateDir}, info)
	if err != nil {
		return alone
	}
	return append(slices.Clone(r.files.leftover), told.Receipt(next)...)
}
