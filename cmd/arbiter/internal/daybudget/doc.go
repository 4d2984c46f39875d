// Package daybudget computes from the event logs of all runs what they have cost today, for a run with a daily
// limit.
package daybudget
