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
	n         map[string]int // by the name that is printed
	killed    map[string]int // by victim
	actions   map[string]int // actions of the human, by name
	hit, died map[string]int // crash points that were reached, and that killed, by name
	gone      []time.Duration
}

// countLines are the names of the counts, as they are printed; those of the last line should be zero.
var countLines = [][]string{
	{"rounds", "with the real CLI", "processes of arbiter", "resumes"},
	{"messages accepted", "seen by their session", "still queued at the end"},
	{"journals flipped", "transcripts damaged", "requests refused",
		"calls changed by hooks", "harmed by them"},
	{"documents passed on", "without a reader", "checks run", "renewals of the Arbiter", "histories of it lost"},
	{"rounds with another make", "messages written to it", "clients that connected", "lines that they followed"},
	{"failed rounds", "lost", "doubled", "orphans", "two on one session", "failed resumes", "untrue ends",
		"wrong files", "deadlines missed", "receipts unkept", "documents undelivered", "Arbiters at the same time",
		"clients that saw other events"},
}

func newFigures() *figures {
	return &figures{n: map[string]int{}, killed: map[string]int{}, actions: map[string]int{}, hit: map[string]int{},
		died: map[string]int{}}
}

// add adds the figures of a finished round.
func (f *figures) add(g *figures) {
	for _, pair := range [][2]map[string]int{{f.n, g.n}, {f.killed, g.killed}, {f.actions, g.actions}, {f.hit, g.hit},
		{f.died, g.died}} {
		for name, n := range pair[1] {
			pair[0][name] += n
		}
	}
	f.gone = append(f.gone, g.gone...)
}

func (f *figures) kills() (n int) {
	for _, k := range f.killed {
		n += k
	}
	return n
}

func (f *figures) print(w io.Writer, points []string) {
	list := func(names []string, of map[string]int) string {
		var b []string
		for _, name := range names {
			b = append(b, fmt.Sprintf("%s %d", name, of[name]))
		}
		return strings.Join(b, ", ")
	}
	never, spared := f.unmet(points)
	fmt.Fprintf(w, "killed %d: %s\n", f.kills(), list(slices.Sorted(maps.Keys(f.killed)), f.killed))
	fmt.Fprintf(w, "actions of the human: %s\n", list(slices.Sorted(maps.Keys(f.actions)), f.actions))
	fmt.Fprintf(w, "crash points reached: %d of %d, never: %s; not died at: %s\n", len(points)-len(never), len(points),
		strings.Join(never, " "), strings.Join(spared, " "))
	fmt.Fprintf(w, "all gone after arbiter's end: p50 %s, p99 %s\n", f.quantile(0.5), f.quantile(0.99))
	for _, names := range countLines {
		fmt.Fprintln(w, list(names, f.n))
	}
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
