// Package stage is the environment of a rehearsal: a scripted model, a scratch workspace and a private home
// directory.
package stage
