// Package halting stops all agents of a run, even if the run's loop or its bridge does not answer: it asks the
// loop, then the bridges, and finally kills the processes that have the mark of the run.
package halting
