// Package bridgenote records in the directory of a run which process its bridge is. `arbiter halt` uses the note to
// stop the agents when the host process of the run does not answer.
package bridgenote
