// Package slash is what all faces share of what a person can ask for with a slash:
// commands for a run, and answers that are read off its state. It is pure.
package slash
