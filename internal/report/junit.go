package report

import (
	"cmp"
	"encoding/xml"
	"fmt"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// The elements of JUnit's XML that a report uses.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		At       string      `xml:"timestamp,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Time    string        `xml:"time,attr"`
		Skipped *junitProblem `xml:"skipped"`
		Failure *junitProblem `xml:"failure"`
		Output  string        `xml:"system-out,omitempty"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// junit returns the report as test results: the run, its acceptance criteria and its checks are test cases.
// Unproven ones are skipped.
func (r *Report) junit() (string, error) {
	run := junitSuite{Name: "run"}
	result := junitCase{Name: "run " + short(r.Run), Class: "run", Time: seconds(r.DurationMS), Output: r.Summary}
	if r.Status != contract.StatusComplete {
		result.Failure = &junitProblem{Message: "the run is not complete: " + r.Status, Text: r.Summary}
	}
	run.add(result)
	acceptance, checks := junitSuite{Name: "acceptance"}, junitSuite{Name: "checks"}
	for _, c := range r.Acceptance {
		x := junitCase{Name: sanitize.Line(c.Text, maxReason), Class: "acceptance." + cmp.Or(c.By, "unknown"),
			Time: "0.000"}
		x.judge(c.Status, c.receipt(), c.Command)
		acceptance.add(x)
	}
	for _, c := range r.Checks {
		x := junitCase{Name: sanitize.Line(c.Command, maxReason), Class: "checks." + c.Agent,
			Time: seconds(c.DurationMS)}
		x.judge(c.Result, c.receipt(), "expected: "+c.Expect+"\n"+c.Output)
		checks.add(x)
	}
	all := junitSuites{Name: r.title(), Time: seconds(r.DurationMS)}
	for _, s := range []junitSuite{run, acceptance, checks} {
		if s.Time, s.At = "0.000", r.Began.Format("2006-01-02T15:04:05"); s.Name == "run" {
			s.Time = seconds(r.DurationMS)
		}
		all.Tests, all.Failures, all.Skipped = all.Tests+s.Tests, all.Failures+s.Failures, all.Skipped+s.Skipped
		all.Suites = append(all.Suites, s)
	}
	data, err := xml.MarshalIndent(all, "", "  ")
	return xml.Header + inLog(string(data), "$1&#91;") + "\n", err
}

func seconds(ms int64) string { return fmt.Sprintf("%.3f", float64(ms)/1000) }

func (c *junitCase) judge(result, receipt, text string) {
	switch result {
	case "passed":
		c.Output = receipt
	case "failed":
		c.Failure = &junitProblem{Message: receipt, Text: text}
	default:
		c.Skipped = &junitProblem{Message: result + ": " + receipt}
	}
}

func (s *junitSuite) add(c junitCase) {
	s.Tests++
	if c.Failure != nil {
		s.Failures++
	}
	if c.Skipped != nil {
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}
