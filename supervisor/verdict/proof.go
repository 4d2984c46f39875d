package verdict

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Receipt is the result of a check when the supervisor ran it itself.
type Receipt struct {
	Command string `json:"command"`
	Expect  string `json:"expect"`
	// Result is one of the Check… constants.
	Result     string `json:"result"`
	Exit       int    `json:"exit"` // -1: ended by a signal, or not run
	SHA256     string `json:"sha256,omitempty"`
	Bytes      int64  `json:"bytes,omitempty"` // of its output
	DurationMS int64  `json:"duration_ms,omitempty"`
	Output     string `json:"output,omitempty"` // its end
	Why        string `json:"why,omitempty"`    // why it was not run, or what was missing
	Before     string `json:"before,omitempty"` // of a passed one: FailedAtFirst or AlreadyTrue; empty: not known
}

// What a check that passes says of the files as they were before the work.
const (
	FailedAtFirst = "failed at first"
	AlreadyTrue   = "already true" // so it proves nothing about the work
)

// Results of a check.
const (
	CheckPassed  = "passed"
	CheckFailed  = "failed"
	CheckUnrun   = "unrun"   // denied, out of time, or could not be started
	CheckUnclear = "unclear" // it ran, but what was expected cannot be determined from the kept output
)

// Proofs of a claim. The author's own statement is not proof.
const (
	Verified   = "verified"   // the check it names passed
	Unverified = "unverified" // it names none, or one that was not run
	Refuted    = "refuted"    // the check it names failed
)

// Outcome is how a command ended, as far as an expectation can refer to it.
type Outcome struct {
	Exit   int
	Output string // the end of its output
	Bytes  int64  // of all of it
}

var (
	exitWord = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\bexit(?:s|ed)?(?: with)?(?: code| status)?[: ]+(\d{1,3})\b`)
	})
	literal = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("`([^`\n]+)`|\"([^\"\n]+)\"")
	})
	nothing = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^\s*(no|empty|without) output\b`)
	})
)

// Meets reports whether a command ended as expected, and what is missing if not. An expectation is prose with
// three parts that can be tested: an exit code (`exit 1`; without one it is 0), texts in backquotes or
// quotation marks that the output must contain, and `no output`.
func (o Outcome) Meets(expect string) (result, why string) {
	want := 0
	if m := exitWord().FindStringSubmatch(expect); m != nil {
		want, _ = strconv.Atoi(m[1]) // three digits at most
	}
	if o.Exit != want {
		return CheckFailed, "exit code " + strconv.Itoa(o.Exit) + ", expected " + strconv.Itoa(want)
	}
	if nothing().MatchString(expect) && o.Bytes > 0 {
		return CheckFailed, "it wrote something"
	}
	for _, m := range literal().FindAllStringSubmatch(expect, -1) {
		text := m[1] + m[2]
		if strings.Contains(o.Output, text) || exitWord().MatchString(text) {
			continue
		}
		if o.Bytes > int64(len(o.Output)) {
			return CheckUnclear, "the end of its output lacks " + strconv.Quote(text)
		}
		return CheckFailed, "its output lacks " + strconv.Quote(text)
	}
	return CheckPassed, ""
}

// Proofs returns for each claim what the receipts prove. receipts are in the order of the document's checks; a
// check without one was not run.
func (d *Document) Proofs(receipts []Receipt) []string {
	if d == nil {
		return nil
	}
	proofs := make([]string, len(d.Claims))
	for i, c := range d.Claims {
		proofs[i] = d.proof(c, receipts)
	}
	return proofs
}

func (d *Document) proof(c Claim, receipts []Receipt) string {
	n := c.Check - 1
	if c.Check == 0 { // it may quote the command
		for i, check := range d.Checks {
			if command := strings.TrimSpace(check.Command); len(command) > 3 && strings.Contains(c.Claim, command) {
				n = i
				break
			}
		}
	}
	if n < 0 || n >= len(receipts) {
		return Unverified
	}
	switch receipts[n].Result {
	case CheckPassed:
		return Verified
	case CheckFailed:
		return Refuted
	}
	return Unverified
}

// Tally counts the results of the document's checks: passed, failed, and without proof, which includes those
// without a receipt.
func (d *Document) Tally(receipts []Receipt) (passed, failed, open int) {
	open = max(len(d.Checks)-len(receipts), 0)
	for _, r := range receipts {
		switch r.Result {
		case CheckPassed:
			passed++
		case CheckFailed:
			failed++
		default:
			open++
		}
	}
	return passed, failed, open
}
