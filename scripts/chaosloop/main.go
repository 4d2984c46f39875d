// Command chaosloop plays whole jobs with arbiter. It kills arbiter, its bridge and its agents at random times
// and at named crash points, and resumes the run until the job is complete. Then it checks with ledgers of its
// own that nothing was lost, nothing was delivered twice, and no process is left; that every hand-off document
// arrives with the receipts of its checks; and that there is only one Arbiter at a time. In some rounds
// (-actions) the human also acts: takes sessions over, halts, pauses, steers, edits and withdraws messages, and
// changes the workspace's settings; in others (-transcripts) transcripts of agents are damaged between the
// processes, or (-refusals) the API refuses a session for good, or (-makes)
// an Orchestrator is an agent of another make, or (-user-hooks) the user's own hooks refuse messages
// and rewrite calls. It prints the figures, and exits with 1 if one of them that should be zero is not.
//
// The scripted model runs in this process and so survives every kill. The players are the stand-in, which keeps
// a ledger, and, in fewer rounds, the real CLI, whose requests to the scripted model are the ledger. Chaosloop
// waits for conditions; a missed deadline is a failure. The seed printed for each round repeats the round's
// choices (-seed S -rounds 1, and -at POINT:N:RUN if it had its own crash point), as far as processes that race
// each other can be repeated.
//
// One goroutine starts the rounds and adds up their figures. Each round has a goroutine; the first one waits
// for its end. The round's goroutine waits for the goroutine that reads the stdout of the current process.
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
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

// waitTimeout is the time limit for something that must happen.
const waitTimeout = 60 * time.Second

// longestProcess is the time limit for one process of arbiter, whatever happens in it: a job takes seconds.
const longestProcess = 10 * time.Minute

const (
	mostTries    = 8 // of a crash point that did not kill
	mostFailures = 3 // failed rounds; after more of them no new round begins
)

type options struct {
	kills, real, perJob, rounds, parallel int
	actions, transcripts, refusals, makes uint64
	clients, hosts                        int
	userHooks                             bool
	points, at, claude                    string
	seed                                  uint64
	verbose                               bool
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == fakeMake {
		os.Exit(acptest.RunFake())
	}
	var o options
	flag.IntVar(&o.kills, "kills", 30, "kills in all")
	flag.IntVar(&o.real, "real", 1, "rounds with the real CLI, of all")
	flag.IntVar(&o.perJob, "per-job", 4, "kills in one job at most")
	flag.IntVar(&o.rounds, "rounds", 0, "end after so many jobs (0: when there were enough kills)")
	flag.IntVar(&o.parallel, "parallel", 4, "jobs at a time")
	flag.StringVar(&o.points, "points", "some",
		"crash points: none, some (at random), all (each once at least), or one's name")
	flag.StringVar(&o.at, "at", "",
		"the first round's crash point, as `POINT:N:RUN`: the Nth time it is passed, in that process (both from 1)")
	flag.StringVar(&o.claude, "claude", os.Getenv("ARBITER_CLAUDE"), "the real CLI")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "of the first round; each further one adds 1")
	flag.Uint64Var(&o.actions, "actions", 5,
		"in one of so many rounds the human takes sessions over, halts, pauses, steers, changes words and settings, "+
			"too (0: in none)")
	flag.Uint64Var(&o.transcripts, "transcripts", 5,
		"in one of so many rounds transcripts are shortened, emptied and zero-filled between the processes (0: in none)")
	flag.Uint64Var(&o.refusals, "refusals", 5,
		"in one of so many rounds the API refuses a session for good whose history has a certain message (0: in none)")
	flag.Uint64Var(&o.makes, "makes", 5,
		"in one of so many rounds an Orchestrator is an agent of another make (0: in none)")
	flag.IntVar(&o.clients, "clients", 4, "in one of so many processes clients connect, follow, hang and die (0: in none)")
	flag.IntVar(&o.hosts, "hosts", 0, "in one of so many rounds Orchestrators live on another host (0: in none)")
	flag.BoolVar(&o.userHooks, "user-hooks", true,
		"in rounds with the real CLI, hooks of the user's settings refuse messages, and refuse or rewrite calls")
	flag.BoolVar(&o.verbose, "v", false, "report every process of the run")
	flag.Parse()
	switch {
	case flag.NArg() > 0:
		usage("takes flags only")
	case o.parallel < 1:
		usage("-parallel is at least 1")
	case o.real > 0 && o.claude == "":
		usage("no real CLI: scripts/setup installs it, -real 0 does without")
	}
	ok, err := run(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
	if !ok {
		os.Exit(1)
	}
}

func usage(problem string) {
	fmt.Fprintln(os.Stderr, "chaos:", problem)
	os.Exit(2)
}

// run plays rounds until there were enough kills, and prints the figures.
func run(o options) (bool, error) {
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
	all := allPoints()
	wanted, err := choosePoints(o.points, all)
	if err == nil && o.at != "" {
		_, _, _, err = parseAt(o.at, all)
	}
	if err != nil {
		return false, err
	}
	f, err := playAll(o, dir, bin, all, wanted)
	if err != nil {
		return false, err
	}
	f.print(os.Stdout, all)
	if never, spared := f.unmet(all); o.points == "all" && o.rounds == 0 && f.n["failed rounds"] == 0 &&
		len(never)+len(spared) > 0 {
		fmt.Println("not every crash point was died at")
		return false, os.RemoveAll(dir)
	}
	if f.n["failed rounds"] > 0 {
		fmt.Println("kept:", dir)
		return false, nil
	}
	return true, os.RemoveAll(dir)
}

// playAll plays rounds, -parallel at a time, until there were enough kills. Each round has its own figures;
// only this goroutine adds them up.
func playAll(o options, dir, bin string, all, wanted []string) (*figures, error) {
	f, tries := newFigures(), map[string]int{}
	done := make(chan *round, o.parallel) // buffered, so that a round that ends does not wait
	for n, playing := 0, 0; ; {
		enough := f.kills() >= o.kills && n >= o.real && len(wanted) == 0
		if o.rounds > 0 {
			enough = n >= o.rounds
		}
		if playing < o.parallel && !enough && f.n["failed rounds"] <= mostFailures {
			r := &round{
				o: o, f: newFigures(), bin: bin, seed: o.seed + uint64(n), points: all,
				dir: filepath.Join(dir, fmt.Sprintf("round-%03d", n+1)),
			}
			r.rnd = rand.New(rand.NewPCG(r.seed, 17))
			r.enough = f.kills() >= o.kills
			if n < o.real {
				r.claude = o.claude
			}
			switch {
			case n == 0 && o.at != "":
				r.must, r.mustN, r.mustAt, _ = parseAt(o.at, all) // run has checked it
				r.mustAt--
			case len(wanted) > 0:
				// Some points are passed only in a run's first process, others only after a resume.
				r.must, wanted = wanted[0], wanted[1:]
				r.mustAt, r.mustN = tries[r.must]%2, 1+tries[r.must]/2%2
				if help := helpFor(r.must); help != "" && help != byDecider && help != byIsolation {
					r.mustN = 1 // its cause occurs once
				}
			}
			r.isolated = helpFor(r.must) == byIsolation || r.must == "" && r.seed%4 == 2
			r.asks = helpFor(r.must) == byDecider || r.must == "" && r.seed%4 == 3
			r.hosted = o.hosts > 0 && r.must == "" && r.claude == "" && !r.isolated && !r.asks &&
				r.seed%uint64(o.hosts) == 0
			n, playing = n+1, playing+1
			go func() {
				r.play()
				done <- r
			}()
			continue
		}
		if playing == 0 {
			return f, nil
		}
		r := <-done
		playing--
		f.add(r.f)
		r.report()
		if tries[r.must]++; r.must != "" && f.died[r.must] == 0 && tries[r.must] < mostTries {
			wanted = append(wanted, r.must)
		}
	}
}

// allPoints returns the names of all crash points, including those of the journal.
func allPoints() []string {
	names := slices.Clone(journal.CrashPoints)
	for _, p := range crashpoint.Points {
		names = append(names, p.Name)
	}
	return names
}

// randomPoints returns the value of -points with which a round makes the same choices again.
func (o options) randomPoints() string {
	if o.points == "some" {
		return "some"
	}
	return "none"
}

func choosePoints(which string, all []string) ([]string, error) {
	switch {
	case which == "none" || which == "some":
		return nil, nil
	case which == "all":
		return slices.Clone(all), nil
	case slices.Contains(all, which):
		return []string{which}, nil
	}
	return nil, fmt.Errorf("no crash point %q: %s", which, strings.Join(all, " "))
}
