package jsonl

import (
	"testing"
	"time"
)

// BenchmarkMembers splits the last frame of a turn. The baseline is the decoder that is used for damaged
// objects.
func BenchmarkMembers(b *testing.B) {
	line := []byte(`{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"","structured_output":` +
		`{"expects_response":false,"kind":"progress","message":"on"},"total_cost_usd":0,` +
		`"usage":{"input_tokens":1,"output_tokens":1},"session_id":"3121e69e-433f-5732-9eb6-a6025c65dbf5"}`)
	var ours, baseline time.Duration
	b.ReportAllocs()
	for b.Loop() {
		began := time.Now()
		if _, err := Members(line); err != nil {
			b.Fatal(err)
		}
		ours += time.Since(began)
		began = time.Now()
		if _, err := damagedMembers(line); err == nil {
			b.Fatal("the baseline found no fault behind the object")
		}
		baseline += time.Since(began)
	}
	b.ReportMetric(float64(ours)/float64(baseline), "of-a-decoder")
}
