// Package explaining explains the decisions of a run from its event log: the question, the prompt, who decided, and
// the result.
package explaining
