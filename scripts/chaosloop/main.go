// Command chaosloop plays whole jobs with arbiter. It kills arbiter, its bridge and its agents at random times
// and at named crash points, and resumes the run until the job is complete. Then it checks with ledgers of its
// own that nothing was lost, nothing was delivered twice, and no process is left; that every hand-off document
// arrives with the receipts of its checks; and that there is only one Arbiter at a time. Some rounds are of a
// variety, such as rounds in which the human acts, too. It prints the figures, and exits with 1 if one of them
// that should be zero is not.
//
// The scripted model runs in this process and so survives every kill: the requests to it are a ledger. The players
// are the stand-in and, in fewer rounds, the real CLI. Chaosloop waits for conditions; a missed deadline is a
// failure. The seed printed for each round repeats the round's choices (-seed S -rounds 1, and -points POINT if it
// had its own crash point), as far as processes that race each other can be repeated.
//
// One goroutine starts the rounds and adds up their figures. Each round has a goroutine; the first one waits
// for its end. The round's goroutine waits for the goroutine that reads the stdout of the current process.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/acp/acptest"
	"github.com/arbiter-cli/arbiter/bridge/crashpoint"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

const (
	mostKills    = 4 // in one job
	mostTries    = 8 // of a crash point that did not kill
	mostFailures = 3 // failed rounds; after more of them no new round begins
)

var (
	kills     = flag.Int("kills", 30, "kills in all")
	realOnes  = flag.Int("real", 1, "rounds with the real CLI, of all")
	rounds    = flag.Int("rounds", 0, "end after so many jobs (0: when there were enough kills)")
	parallel  = flag.Int("parallel", 4, "jobs at a time")
	which     = flag.String("points", "some", "crash points: none, some (at random), all (each at least once), or a name")
	firstSeed = flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the first round; each further one adds 1")
	verbose   = flag.Bool("v", false, "report every process of the run")
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == fakeMake {
		os.Exit(acptest.RunFake())
	}
	flag.Parse()
	ok, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// run plays rounds until there were enough kills, and prints the figures.
func run() (bool, error) {
	wanted, err := choosePoints(*which)
	switch {
	case err != nil:
		return false, err
	case flag.NArg() > 0 || *parallel < 1:
		return false, errors.New("takes flags only, and -parallel is at least 1")
	case *realOnes > 0 && os.Getenv("ARBITER_CLAUDE") == "":
		return false, errors.New("no real CLI: scripts/setup installs it, -real 0 does without")
	}
	dir, err := os.MkdirTemp("", "arbiter-chaos-")
	if err != nil {
		return false, err
	}
	bin := filepath.Join(dir, "arbiter")
	build := exec.Command("go", "build", "-ldflags", crashpoint.LinkerFlags, "-o", bin,
		"github.com/arbiter-cli/arbiter/cmd/arbiter")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return false, fmt.Errorf("build arbiter: %w", err)
	}
	f := playAll(bin, wanted)
	missed := f.print(os.Stdout)
	if f.n["failed rounds"] > 0 {
		fmt.Println("kept:", dir)
		return false, nil
	}
	if *which != "all" || *rounds > 0 {
		missed = false
	}
	if missed {
		fmt.Println("not every crash point was died at")
	}
	return !missed, os.RemoveAll(dir)
}

// playAll plays rounds, -parallel at a time, until there were enough kills. Each round has its own figures;
// only this goroutine adds them up.
func playAll(bin string, wanted []string) *figures {
	f, tries := newFigures(), map[string]int{}
	done := make(chan *round, *parallel) // buffered, so that a round that ends does not wait
	for n, playing := 0, 0; ; {
		enough := f.count(killed) >= *kills && n >= *realOnes && len(wanted) == 0
		if *rounds > 0 {
			enough = n >= *rounds
		}
		if playing < *parallel && !enough && f.n["failed rounds"] <= mostFailures {
			r := &round{bin: bin, seed: *firstSeed + uint64(n), enough: f.count(killed) >= *kills}
			if len(wanted) > 0 {
				r.must, wanted = wanted[0], wanted[1:]
			}
			if r.must != "" && n > 0 { // it is tried in one way after the other
				r.seed = r.seed&^3 + uint64(tries[r.must]%4)
			}
			r.dir = filepath.Join(filepath.Dir(bin), fmt.Sprintf("round-%03d", n+1))
			if n < *realOnes {
				r.claude = os.Getenv("ARBITER_CLAUDE")
			}
			r.choose()
			n, playing = n+1, playing+1
			go func() {
				r.play()
				done <- r
			}()
			continue
		}
		if playing == 0 {
			return f
		}
		r := <-done
		playing--
		for name, n := range r.f.n {
			f.n[name] += n
		}
		f.gone = max(f.gone, r.f.gone)
		r.report()
		if tries[r.must]++; r.must != "" && f.n[died+r.must] == 0 && tries[r.must] < mostTries {
			wanted = append(wanted, r.must)
		}
	}
}

// elsewhere are the beginnings of the names of crash points that no job passes of itself: those of a fork, of a disk
// that is full, of files that are damaged, littered or large, and of a removal. TestForkKilled of cmd/arbiter and
// TestKilledAtEachPoint of the journal kill at each.
var elsewhere = []string{"fork.", "journal.commit.truncate.", "journal.damage.", "journal.events.cut.",
	"journal.events.pack.", "journal.events.free.", "journal.open.tidy.", "journal.remove.", "journal.segment.unlink."}

// points are the crash points that a run passes, including those of the journal.
var points = func() (names []string) {
	names = slices.Clone(journal.CrashPoints)
	for _, p := range crashpoint.Points {
		names = append(names, p.Name)
	}
	return slices.DeleteFunc(names, func(name string) bool { return beginsWith(name, elsewhere) })
}()

func beginsWith(name string, beginnings []string) bool {
	return slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(name, b) })
}

func choosePoints(name string) ([]string, error) {
	switch {
	case name == "none" || name == "some":
		return nil, nil
	case name == "all":
		return slices.Clone(points), nil
	case slices.Contains(points, name):
		return []string{name}, nil
	}
	return nil, fmt.Errorf("no crash point %q: %s", name, strings.Join(points, " "))
}

// figures are the results of the rounds.
type figures struct {
	n    map[string]int // by the name that is printed
	gone time.Duration  // the longest from the end of arbiter to that of its last process
}

func newFigures() *figures { return &figures{n: map[string]int{}} }

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
	{"messages accepted", "seen by their session", "still queued at the end", "transcripts damaged"},
	{"documents passed on", "without a reader", "checks run", "renewals of the Arbiter", "histories of it lost"},
	{"rounds with another make", "messages written to it"},
	{"failed rounds", "lost", "doubled", "orphans", "two on one session", "failed resumes", "untrue ends",
		"wrong files", "deadlines missed", "receipts unkept", "documents undelivered", "Arbiters at the same time"},
}

// names returns those that begin with a word.
func (f *figures) names(word string) []string {
	all := slices.Sorted(maps.Keys(f.n))
	return slices.DeleteFunc(all, func(name string) bool { return !strings.HasPrefix(name, word) })
}

// count adds up the counts whose names begin with a word.
func (f *figures) count(word string) (n int) {
	for _, name := range f.names(word) {
		n += f.n[name]
	}
	return n
}

// print prints the figures, and reports whether there are crash points that were never reached, or that were reached
// and killed no process.
func (f *figures) print(w io.Writer) (missed bool) {
	list := func(names []string, without string) string {
		var b []string
		for _, name := range names {
			b = append(b, fmt.Sprintf("%s %d", strings.TrimPrefix(name, without), f.n[name]))
		}
		return strings.Join(b, ", ")
	}
	var never, spared []string
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
	fmt.Fprintf(w, "all gone after arbiter's end: within %s\n", f.gone.Round(time.Millisecond))
	for _, names := range countLines {
		fmt.Fprintln(w, list(names, ""))
	}
	return len(never)+len(spared) > 0
}
