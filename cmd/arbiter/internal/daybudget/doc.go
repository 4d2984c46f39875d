// Package daybudget reads from the event logs of all runs what they have cost today, for a run that has a limit for it.
package daybudget
