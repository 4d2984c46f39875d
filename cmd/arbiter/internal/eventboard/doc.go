// Package eventboard passes the events of a run to listeners in its process. It never delays the run.
package eventboard
