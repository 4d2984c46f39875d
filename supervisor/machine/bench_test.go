package machine

import (
	"testing"
	"time"
)

// BenchmarkTable asks the table for every trigger in every state. The baseline is a map of
// moves by state and trigger, which could have no guards.
func BenchmarkTable(b *testing.B) {
	triggers := []Trigger{
		StartTask, AgentSelected, SelectionFailed, AgentMessage, AgentToolCall, AgentToolResult, AgentComplete, AgentError,
		Decision, ArbiterError, Cancel, Reset, ForceAgent, SkipStep, Retry, AgentStopped, LimitReached, GiveUp, Resume, Always,
	}
	type key struct {
		from State
		on   Trigger
	}
	moves := map[key]Move{}
	s := Situation{Decision: "CONTINUE", AgentKnown: true, AgentLives: true, HasTask: true, MaxIterations: 50, MaxFailures: 3, RulesLeft: true}
	for _, from := range all {
		for _, on := range triggers {
			if m, ok := Next(from, on, s); ok {
				moves[key{from, on}] = m
			}
		}
	}
	var next, plain time.Duration
	asked, found := 0, 0
	b.ReportAllocs()
	for b.Loop() {
		began := time.Now()
		for range 100 {
			for _, from := range all {
				for _, on := range triggers {
					if _, ok := Next(from, on, s); ok {
						found++
					}
				}
			}
		}
		next += time.Since(began)
		began = time.Now()
		for range 100 {
			for _, from := range all {
				for _, on := range triggers {
					asked++
					if _, ok := moves[key{from, on}]; ok {
						found--
					}
				}
			}
		}
		plain += time.Since(began)
	}
	if found != 0 {
		b.Fatal("the map has other moves")
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(next.Nanoseconds())/float64(asked), "ns/move")
	b.ReportMetric(float64(plain.Nanoseconds())/float64(asked), "map-ns/move")
	b.ReportMetric(float64(next)/float64(plain), "×map")
}
