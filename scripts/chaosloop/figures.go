package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// figures are the results of the rounds.
type figures struct {
	counts
	killed    map[string]int // by victim
	actions   map[string]int // actions of the human, by name
	hit, died map[string]int // crash points that were reached, and that killed, by name
	gone      []time.Duration
}

type counts struct {
	rounds, real, failed               int // failed: failed rounds
	processRuns, resumes               int
	accepted, seen, queued             int // messages
	lost, doubled, orphans, twice      int
	failedResumes, untrue, wrong, late int
	unkept, undelivered, overlaps      int // wrong receipts and events, documents, simultaneous Arbiters
	clients, followed, otherwise       int // clients, lines that they received, and wrong streams
	checks, documents, returned        int // checks of documents, documents, and those without a reader
	renewals, lostHistories            int // of the Arbiter
	// bits of journals that were flipped on purpose, and messages or work lost or repeated because of that
	flipped, harmed int
	damaged         int // transcripts that were damaged on purpose
	refused         int // requests that the API refused on purpose
	interfered      int // messages and calls that a hook refused, or rewrote, on purpose
	mixed, written  int // rounds with an agent of another make, and messages that were written to it
}

// all returns pointers to the counts, in a fixed order.
func (c *counts) all() []*int {
	return []*int{&c.rounds, &c.real, &c.failed, &c.processRuns, &c.resumes, &c.accepted, &c.seen, &c.queued, &c.lost,
		&c.doubled, &c.orphans, &c.twice, &c.failedResumes, &c.untrue, &c.wrong, &c.late, &c.unkept, &c.undelivered,
		&c.overlaps, &c.clients, &c.followed, &c.otherwise, &c.checks, &c.documents, &c.returned, &c.renewals,
		&c.lostHistories, &c.flipped, &c.harmed, &c.damaged, &c.refused, &c.interfered, &c.mixed, &c.written}
}

func newFigures() *figures {
	return &figures{killed: map[string]int{}, actions: map[string]int{}, hit: map[string]int{}, died: map[string]int{}}
}

// add adds the figures of a finished round.
func (f *figures) add(g *figures) {
	more := g.all()
	for i, n := range f.all() {
		*n += *more[i]
	}
	for _, pair := range [][2]map[string]int{{f.killed, g.killed}, {f.actions, g.actions}, {f.hit, g.hit},
		{f.died, g.died}} {
		for name, n := range pair[1] {
			pair[0][name] += n
		}
	}
	f.gone = append(f.gone, g.gone...)
}

func (f *figures) kill(victim string) { f.killed[victim]++ }

func (f *figures) kills() int {
	n := 0
	for _, k := range f.killed {
		n += k
	}
	return n
}

func (f *figures) print(w io.Writer, points []string) {
	fmt.Fprintf(w, "rounds %d (%d with the real CLI), processes of arbiter %d, resumes %d\n", f.rounds, f.real,
		f.processRuns, f.resumes)
	var by []string
	for v, n := range f.killed {
		by = append(by, fmt.Sprintf("%s %d", v, n))
	}
	slices.Sort(by)
	fmt.Fprintf(w, "killed %d: %s\n", f.kills(), strings.Join(by, ", "))
	var done []string
	for _, d := range slices.Sorted(maps.Keys(f.actions)) {
		done = append(done, fmt.Sprintf("%s %d", d, f.actions[d]))
	}
	fmt.Fprintf(w, "actions of the human beside them: %s\n", strings.Join(done, ", "))
	never, spared := f.unmet(points)
	fmt.Fprintf(w, "crash points reached: %d of %d, died at: %d\n", len(points)-len(never), len(points),
		len(points)-len(never)-len(spared))
	if len(spared) > 0 {
		fmt.Fprintf(w, "  reached, not died at: %s\n", strings.Join(spared, " "))
	}
	if len(never) > 0 && len(f.hit) > 0 {
		fmt.Fprintf(w, "  never: %s\n", strings.Join(never, " "))
	}
	fmt.Fprintf(w, "messages accepted %d, seen by their session %d, still queued at the end %d\n", f.accepted, f.seen,
		f.queued)
	fmt.Fprintf(w, "bits of journals flipped on purpose %d, transcripts damaged on purpose %d, requests refused on "+
		"purpose %d, messages and calls refused or rewritten by hooks %d, messages lost or given again over that %d\n",
		f.flipped, f.damaged, f.refused, f.interfered, f.harmed)
	fmt.Fprintf(w, "documents passed on %d (%d had no reader any more), checks run for them %d; renewals of the "+
		"Arbiter %d, histories of it lost %d\n",
		f.documents, f.returned, f.checks, f.renewals, f.lostHistories)
	fmt.Fprintf(w, "all gone after arbiter's end: p50 %s, p99 %s\n", f.quantile(0.5), f.quantile(0.99))
	fmt.Fprintf(w, "rounds with an agent of another make %d, messages written to it %d\n", f.mixed, f.written)
	fmt.Fprintf(w, "clients that connected %d, lines that they followed %d\n", f.clients, f.followed)
	fmt.Fprintf(w, "lost %d, doubled %d, orphans %d, two on one session %d, failed resumes %d, untrue ends %d, wrong "+
		"files %d, deadlines missed %d, receipts unkept %d, documents undelivered %d, Arbiters at the same "+
		"time %d, clients that saw other events %d\n",
		f.lost, f.doubled, f.orphans, f.twice, f.failedResumes, f.untrue, f.wrong, f.late, f.unkept, f.undelivered,
		f.overlaps, f.otherwise)
}

// unmet returns the crash points that were never reached, and those that were reached and killed no process.
func (f *figures) unmet(points []string) (never, spared []string) {
	for _, p := range points {
		if f.hit[p] == 0 {
			never = append(never, p)
		} else if f.died[p] == 0 {
			spared = append(spared, p)
		}
	}
	return never, spared
}

func (f *figures) quantile(q float64) time.Duration {
	if len(f.gone) == 0 {
		return 0
	}
	slices.Sort(f.gone)
	return f.gone[min(len(f.gone)-1, int(q*float64(len(f.gone))))].Round(time.Millisecond)
}
