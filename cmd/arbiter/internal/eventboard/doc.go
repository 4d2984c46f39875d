// Package eventboard passes the events of a run on to those in its process who wait for one. It never holds the run up.
package eventboard
