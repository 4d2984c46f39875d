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
	n    map[string]int // by the name that is printed
	gone []time.Duration
}

// The names of some counts begin with these words: of kills by victim, of actions of the human, and of crash points
// that were reached, and that killed.
const (
	killed = "killed "
	acted  = "action "
	hit    = "hit "
	died   = "died "
)

// countLines are the names of the other counts, as they are printed; those of the last line should be zero.
var countLines = [][]string{
	{"rounds", "with the real CLI", "processes of arbiter", "resumes"},
	{"messages accepted", "seen by their session", "still queued at the end"},
	{"journals flipped", "transcripts damaged", "requests refused", "calls changed by hooks", "harmed by them"},
	{"documents passed on", "without a reader", "checks run", "renewals of the Arbiter", "histories of it lost"},
	{"rounds with another make", "messages written to it", "clients that connected", "lines that they followed"},
	{"failed rounds", "lost", "doubled", "orphans", "two on one session", "failed resumes", "untrue ends",
		"wrong files", "deadlines missed", "receipts unkept", "documents undelivered", "Arbiters at the same time",
		"clients that saw other events"},
}

func newFigures() *figures { return &figures{n: map[string]int{}} }

// add adds the figures of a finished round.
func (f *figures) add(g *figures) {
	for name, n := range g.n {
		f.n[name] += n
	}
	f.gone = append(f.gone, g.gone...)
}

// names returns those that begin with a word.
func (f *figures) names(word string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(f.n)), func(name string) bool { return !strings.HasPrefix(name, word) })
}

// count adds up the counts whose names begin with a word.
func (f *figures) count(word string) (n int) {
	for _, name := range f.names(word) {
		n += f.n[name]
	}
	return n
}

// print prints the figures, and returns the crash points that were never reached, and those that were reached and
// killed no process.
func (f *figures) print(w io.Writer, points []string) (never, spared []string) {
	list := func(names []string, without string) string {
		var b []string
		for _, name := range names {
			b = append(b, fmt.Sprintf("%s %d", strings.TrimPrefix(name, without), f.n[name]))
		}
		return strings.Join(b, ", ")
	}
	for _, p := range points {
		if f.n[hit+p] == 0 {
			never = append(never, p)
		} else if f.n[died+p] == 0 {
			spared = append(spared, p)
		}
	}
	fmt.Fprintf(w, "killed %d: %s\n", f.count(killed), list(f.names(killed), killed))
	fmt.Fprintf(w, "actions of the human: %s\n", list(f.names(acted), acted))
	fmt.Fprintf(w, "crash points reached: %d of %d, never: %s; not died at: %s\n", len(points)-len(never), len(points),
		strings.Join(never, " "), strings.Join(spared, " "))
	fmt.Fprintf(w, "all gone after arbiter's end: p50 %s, p99 %s\n", f.quantile(0.5), f.quantile(0.99))
	for _, names := range countLines {
		fmt.Fprintln(w, list(names, ""))
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
