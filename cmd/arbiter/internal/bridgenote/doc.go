// Package bridgenote notes in the directory of a run which process its bridge is. When the process that hosts the run
// does not answer, its agents are stopped by that note.
package bridgenote
