package policy

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// BenchmarkDecide compares a decision with 20 rules, none of which is about the request, with the minimal work:
// comparing the request's text with each rule's.
func BenchmarkDecide(b *testing.B) {
	var texts []string
	for i := range 6 {
		texts = append(texts, fmt.Sprintf("Bash(danger%d run *)", i), fmt.Sprintf("Edit(secret%d/**)", i),
			fmt.Sprintf("Read(~/.config%d/**)", i))
	}
	texts = append(texts, "Bash(git push *)", "Read(.env)")
	p := Policy{CWD: b.TempDir(), Home: b.TempDir(), Deny: mustRules(b, texts[:10]...), Ask: mustRules(b, texts[10:]...)}
	for name, r := range map[string]Request{
		"Bash":    {Tool: "Bash", Input: bashInput("cd src && go test ./... 2>&1 | grep -n 'FAIL' main_test.go | tail -20")},
		"Holes":   {Tool: "Bash", Input: bashInput(`for f in $(git ls-files "*.go"); do wc -l "$f"; done`)},
		"Edit":    {Tool: "Edit", Input: input("file_path", "src/main.go")},
		"Hostile": {Tool: "Bash", Input: bashInput(strings.Repeat("sudo $X 'x;", 2000))},
		"Nested":  {Tool: "Bash", Input: bashInput(strings.Repeat("$(", 900) + "x" + strings.Repeat(")", 900))},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Decide(r)
			}
			own := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
			const repeats = 200
			start := time.Now()
			for range repeats {
				for _, text := range texts {
					wildcard("*"+text+"*", string(r.Input))
				}
			}
			b.ReportMetric(own*repeats/float64(time.Since(start).Nanoseconds()), "x-plain")
		})
	}
}
