// Package askmodel sends the questions of a decider to a model: through a bridge, or over HTTP to a provider,
// within the budget of a run.
package askmodel
