package budget

import "time"

// Runtime says since when a run is played, and for how long. What passes between two of its processes does not count.
type Runtime struct {
	Began        time.Time
	ProcessBegan time.Time     // of the process that plays it
	LastAt       time.Time     // of the last input that counts
	Earlier      time.Duration // of earlier processes
	Processes    int           // so far
}

// Begin begins a run.
func (r *Runtime) Begin(at time.Time) { r.Began, r.ProcessBegan, r.Processes = at, at, 1 }

// Resume begins with another process.
func (r *Runtime) Resume(at time.Time) {
	r.Close(at)
	r.Processes++
}

// Close ends the time of a process at its last input. Another one, if it counts at all, begins now.
func (r *Runtime) Close(at time.Time) {
	r.Earlier += max(r.LastAt.Sub(r.ProcessBegan), 0)
	r.ProcessBegan = at
}

// Slept leaves time out in which the machine slept.
func (r *Runtime) Slept(d time.Duration) { r.ProcessBegan = r.ProcessBegan.Add(d) }

// Elapsed returns for how long the run has been played, over all its processes.
func (r *Runtime) Elapsed(at time.Time) time.Duration {
	return r.Earlier + max(at.Sub(r.ProcessBegan), 0)
}
