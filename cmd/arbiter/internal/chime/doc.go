// Package chime computes short sounds for a person who looks elsewhere (one when a run waits for a word, one for each
// way a run can end) and has them played, one at a time. A [Chime] never blocks who plays it.
package chime
