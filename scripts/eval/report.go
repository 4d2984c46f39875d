package main

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/arbiter-cli/arbiter/bridge"
)

// graded is a trial with its grade.
type graded struct {
	Trial
	Grade
}

// report prints a row for each arm, and the difference of each pair of arms over the tasks and seeds that both have.
func report(w io.Writer, dir string) error {
	paths, err := filepath.Glob(filepath.Join(dir, "*", "grade.json"))
	if err != nil {
		return err
	}
	arms := map[string][]graded{}
	for _, path := range paths {
		var g graded
		if err := readJSON(path, &g.Grade); err != nil {
			return err
		}
		if err := readJSON(filepath.Join(filepath.Dir(path), "trial.json"), &g.Trial); err != nil {
			return err
		}
		arms[g.Arm] = append(arms[g.Arm], g)
	}
	if len(arms) == 0 {
		return fmt.Errorf("%s has no graded trials", dir)
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "arm\ttrials\tall pass\tpass rate\tfalse done\thonest open\ttests changed\tfailed\tUSD\tminutes\t"+
		"sessions\thand-offs\tinterventions\tArbiter's tokens")
	names := slices.Sorted(maps.Keys(arms))
	for _, name := range names {
		var all, falseDone, honest, changed, failed, sessions, handOffs, interventions, tokens, arbiters int
		var share, usd, seconds float64
		for _, g := range arms[name] {
			all, falseDone, honest = all+count(g.All()), falseDone+count(g.FalseDone), honest+count(g.Honest)
			changed, failed = changed+count(len(g.TestsChanged) > 0), failed+count(g.Failure != "")
			share, usd = share+float64(g.Passed)/float64(g.Total), usd+g.CostUSD
			seconds, sessions = seconds+g.Seconds, sessions+g.Sessions
			handOffs, interventions = handOffs+g.HandOffs, interventions+g.Interventions
			tokens, arbiters = tokens+sum(g.Usage), arbiters+sum(g.ArbiterUsage)
		}
		n := float64(len(arms[name]))
		fmt.Fprintf(out, "%s\t%.0f\t%d\t%.0f %%\t%d\t%d\t%d\t%d\t%.2f\t%.1f\t%.1f\t%.1f\t%.1f\t%.0f %%\n", name, n, all,
			100*share/n, falseDone, honest, changed, failed, usd/n, seconds/n/60, float64(sessions)/n, float64(handOffs)/n,
			float64(interventions)/n, 100*float64(arbiters)/float64(max(tokens, 1)))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	for i, a := range names {
		for _, b := range names[i+1:] {
			if low, high, n := compare(arms[a], arms[b]); n > 0 {
				said := "no difference seen"
				if low > 0 || high < 0 {
					said = "a difference"
				}
				fmt.Fprintf(w, "%s − %s: all pass differs by %+.0f to %+.0f points (90 %%, %d pairs): %s\n", b, a, 100*low,
					100*high, n, said)
			}
		}
	}
	return nil
}

// compare returns the bounds within which the share of b's trials that pass all tests is above that of a's, by a
// bootstrap over the pairs of the same task and seed.
func compare(a, b []graded) (low, high float64, pairs int) {
	var diffs []float64
	for _, x := range a {
		for _, y := range b {
			if x.Task == y.Task && x.Seed == y.Seed {
				diffs = append(diffs, float64(count(y.All())-count(x.All())))
			}
		}
	}
	if len(diffs) == 0 {
		return 0, 0, 0
	}
	const times = 2000
	means, r := make([]float64, times), rand.New(rand.NewPCG(1, 2))
	for i := range means {
		for range diffs {
			means[i] += diffs[r.IntN(len(diffs))] / float64(len(diffs))
		}
	}
	slices.Sort(means)
	return means[times/20], means[times-times/20-1], len(diffs)
}

func sum(u bridge.Usage) int { return u.Input + u.Output + u.CacheRead + u.CacheCreation }

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
