// Package stage is where a rehearsal plays: a scripted model, a scratch workspace and a private home.
package stage
