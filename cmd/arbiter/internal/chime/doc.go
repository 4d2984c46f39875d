// Package chime computes short sounds for a person who is not watching the screen (one when a run waits for an answer,
// one for each way a run can end) and plays them one at a time. A [Chime] never blocks its caller.
package chime
