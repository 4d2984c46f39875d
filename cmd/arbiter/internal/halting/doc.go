// Package halting stops all agents of a run, even if the run's loop or its bridge does not answer: it asks the loop,
// then the bridges, and at last kills the processes that bear the mark of the run.
package halting
