package policy

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkDecide compares decisions with many rules, none of which matches, with the minimal work: comparing
// the request's text with each rule's.
func BenchmarkDecide(b *testing.B) {
	for _, kind := range []string{"mixed", "path", "bash"} {
		for _, n := range []int{1, 100, 1000} {
			p := manyRules(b, kind, n, b.TempDir())
			c := p.Compile()
			texts := make([]string, 0, n)
			for _, rules := range [][]Rule{p.Deny, p.Ask, p.Allow} {
				for _, r := range rules {
					texts = append(texts, r.text)
				}
			}
			for name, r := range askedOfMany() {
				if kind == "path" && name != "Edit" && name != "Grep" ||
					kind == "bash" && name != "Bash" && name != "Holes" {
					continue
				}
				b.Run(fmt.Sprintf("%s/rules=%d/%s", kind, n, name), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						if d := c.Decide(r); d.By != ByMode {
							b.Fatal(d)
						}
					}
					own := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
					plain := plainly(texts, string(r.Input))
					b.ReportMetric(plain, "plain-ns/op")
					b.ReportMetric(own/plain, "x-plain")
				})
			}
		}
	}
}

func BenchmarkDecideBash(b *testing.B) {
	var allow, deny []string
	for i := range 500 {
		allow = append(allow, fmt.Sprintf("Bash(tool%d run *)", i))
		deny = append(deny, fmt.Sprintf("Bash(danger%d:*)", i))
	}
	p := Policy{Mode: ModeAsk, CWD: "/w", Allow: mustRules(b, allow...), Deny: mustRules(b, deny...)}
	for name, command := range map[string]string{
		"plain":   "tool499 run --all ./... 2>&1 | tool498 run -c",
		"holes":   `sudo env A=1 tool499 run "$X" $(tool1 run $Y) *.go`,
		"hostile": "sudo " + strings.Repeat("$X x*y ", 2000),
		"nested":  strings.Repeat("$(", 900) + "x" + strings.Repeat(")", 900),
		"ifs":     strings.Repeat("if ", 20000),
		"holes60": strings.Repeat("x $X;", 12000),
		"100KB":   strings.Repeat("sudo $X 'x;", 9000),
	} {
		input := bashInput(command)
		b.Run(name, func(b *testing.B) {
			c := p.Compile()
			b.ReportAllocs()
			for b.Loop() {
				c.Decide(Request{Tool: "Bash", Input: input})
			}
		})
	}
}
