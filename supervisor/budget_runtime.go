package supervisor

import "time"

// BudgetRuntime records since when a run has been running, and for how long. The time between two of its processes
// does not count.
type BudgetRuntime struct {
	Began        time.Time
	ProcessBegan time.Time     // of the process that runs it
	LastAt       time.Time     // of the last input that counts
	Earlier      time.Duration // of earlier processes
	Processes    int           // so far
}

// Begin begins a run.
func (r *BudgetRuntime) Begin(at time.Time) { r.Began, r.ProcessBegan, r.Processes = at, at, 1 }

// Resume begins with another process.
func (r *BudgetRuntime) Resume(at time.Time) {
	r.Close(at)
	r.Processes++
}

// Close ends the time of a process at its last input. The time of the next one, if any, begins now.
func (r *BudgetRuntime) Close(at time.Time) {
	r.Earlier += max(r.LastAt.Sub(r.ProcessBegan), 0)
	r.ProcessBegan = at
}

// Slept excludes the time during which the machine slept.
func (r *BudgetRuntime) Slept(d time.Duration) { r.ProcessBegan = r.ProcessBegan.Add(d) }

// Elapsed returns for how long the run has been running, in all its processes.
func (r *BudgetRuntime) Elapsed(at time.Time) time.Duration {
	return r.Earlier + max(at.Sub(r.ProcessBegan), 0)
}
