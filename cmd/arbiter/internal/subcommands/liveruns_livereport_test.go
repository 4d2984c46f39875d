package subcommands

import (
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// TestReportOfARunThatBegins: before the first input is recorded, a run's own record says since when it exists.
func TestReportOfARunThatBegins(t *testing.T) {
	info := journal.Info{Meta: journal.Meta{Run: "r", Began: time.Unix(1, 0), Title: "Build it"}}
	r := liveReportOf(info, runstore.LiveStatus{})
	testkit.Check(t, r.Began.Equal(info.Began) && r.Title == info.Title, "%+v", r)
}
