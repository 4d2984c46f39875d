package claude

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
)

// priorErrors holds what a reader has noted since the last result that explains the next one.
type priorErrors struct {
	kind     string // `error` of the last synthetic assistant frame
	status   int
	rejected bool  // a rate_limit_event said that the plan's limit is reached
	resetsAt int64 // until when, in Unix seconds, 0 if it did not say
}

// outcome is how a turn ended.
type outcome struct {
	outcome  string
	category bridge.Category
	message  string
	resetsAt int64
}

// judge classifies a result. subtype alone says little: an API failure is subtype "success" with is_error,
// and an interrupt may come with or without is_error.
func judge(f resultFrame, tr priorErrors) outcome {
	if strings.HasPrefix(f.TerminalReason, "aborted_") {
		return outcome{outcome: bridge.TurnInterrupted}
	}
	category := byReason(f)
	if f.APIStatus == 413 { // too large; the CLI names several reasons for this status
		category = bridge.CatPromptTooLong
	}
	if category == "" && !f.IsError {
		return outcome{outcome: bridge.TurnDone}
	}
	var limited bridge.Category
	if tr.rejected && (f.APIStatus == 429 || tr.kind == "rate_limit") {
		limited = bridge.CatUsageLimit
	}
	// connection trouble has no category of its own
	category = cmp.Or(category, byText(f.Text), limited, byStatus(f.APIStatus), byStatus(tr.status), byKind[tr.kind],
		bridge.CatServer)
	o := outcome{outcome: bridge.TurnFailed, category: category, message: failureText(f)}
	if category == bridge.CatUsageLimit {
		if o.resetsAt = tr.resetsAt; o.resetsAt == 0 {
			o.resetsAt = resetTime(f.Text, time.Now())
		}
	}
	return o
}

// categories are those of failures, by terminal_reason or else by subtype.
var categories = map[string]bridge.Category{
	"prompt_too_long": bridge.CatPromptTooLong, "blocking_limit": bridge.CatPromptTooLong,
	"budget_exhausted": bridge.CatBudget, "error_max_budget_usd": bridge.CatBudget,
	"structured_output_retry_exhausted":   bridge.CatVerdict,
	"error_max_structured_output_retries": bridge.CatVerdict,
	"rapid_refill_breaker":                bridge.CatCompaction, "image_error": bridge.CatInvalidRequest,
}

func byReason(f resultFrame) bridge.Category {
	category := cmp.Or(categories[f.TerminalReason], categories[f.Subtype])
	if category == "" && f.StopReason == "refusal" && f.IsError {
		return bridge.CatRefusal
	}
	return category
}

func byText(text string) bridge.Category {
	low := strings.ToLower(text)
	switch {
	case strings.Contains(low, "not logged in"), strings.Contains(low, "run /login"):
		return bridge.CatAuth
	case strings.Contains(low, "credit balance is too low"):
		return bridge.CatCredit
	case strings.Contains(low, "usage limit reached"),
		strings.Contains(low, "limit") && strings.Contains(low, "resets"):
		return bridge.CatUsageLimit
	case strings.HasPrefix(low, "prompt is too long"):
		return bridge.CatPromptTooLong
	case strings.Contains(low, "tool use concurrency issues"), strings.Contains(low, "orphaned tool_result"),
		strings.Contains(low, "tool_use") && strings.Contains(low, "tool_result") && strings.Contains(low, "400"):
		// The API refuses the history itself, and will refuse it each time: these are the texts of CLI
		// 2.1.329 for the API's error that calls and results do not match.
		return bridge.CatResume
	}
	return ""
}

func byStatus(status int) bridge.Category {
	switch {
	case status == 401, status == 403:
		return bridge.CatAuth
	case status == 402:
		return bridge.CatCredit
	case status == 429:
		return bridge.CatRateLimit
	case status == 529:
		return bridge.CatOverloaded
	case status >= 500:
		return bridge.CatServer
	case status >= 400:
		return bridge.CatInvalidRequest
	}
	return ""
}

var byKind = map[string]bridge.Category{
	"authentication_failed": bridge.CatAuth, "oauth_org_not_allowed": bridge.CatAuth, "billing_error": bridge.CatCredit,
	"rate_limit": bridge.CatRateLimit, "overloaded": bridge.CatOverloaded,
	"invalid_request": bridge.CatInvalidRequest, "model_not_found": bridge.CatInvalidRequest,
}

func failureText(f resultFrame) string {
	return cmp.Or(f.Text, strings.Join(f.Errors, "; "), f.Subtype)
}

// promptLimit matches what the API says of a prompt that is too long, "140000 tokens > 131072 maximum", and what the
// CLI (2.1.329) makes of it, "the request is ~140000 tokens (limit 131072)".
var promptLimit = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`tokens(?: >| \(limit) (\d{4,9})\b`)
})

// longestPrompt reads from a refusal how many tokens a prompt may have; 0: it does not say.
func longestPrompt(text string) int {
	m := promptLimit().FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // the pattern allows only digits
	return n
}

var (
	resetEpoch = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`limit reached\|(\d{9,13})\b`)
	})
	resetClock = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(
			`(?i)resets(?: at| on)?(?: (jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? (\d{1,2}),?(?: at)?)?` +
				` (\d{1,2})(?::(\d\d))? ?(am|pm)?(?: \(([A-Za-z0-9_+/-]+)\))?`)
	})
	months = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
)

// unixSeconds accepts a time in seconds or milliseconds.
func unixSeconds(n int64) int64 {
	if n > 1e11 {
		return n / 1000
	}
	return n
}

// resetTime reads from the CLI's text when a usage limit ends: "…limit reached|<unix time>", "… resets 3pm
// (Europe/Berlin)" or "… resets Nov 24, 3pm". It returns 0 if the text does not say.
func resetTime(text string, now time.Time) int64 {
	if m := resetEpoch().FindStringSubmatch(text); m != nil {
		n, _ := strconv.ParseInt(m[1], 10, 64) // the pattern allows only digits
		return unixSeconds(n)
	}
	m := resetClock().FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	hour, minute, ok := clock(m[3], m[4], m[5])
	if !ok {
		return 0
	}
	zone := now.Location()
	if m[6] != "" {
		if z, err := time.LoadLocation(m[6]); err == nil {
			zone = z
		}
	}
	now = now.In(zone)
	if m[1] == "" {
		at := time.Date(now.Year(), now.Month(), now.Day(), hour, minute, 0, 0, zone)
		if !at.After(now) {
			at = at.AddDate(0, 0, 1)
		}
		return at.Unix()
	}
	month := time.Month(slices.Index(months, strings.ToLower(m[1])) + 1)
	day, _ := strconv.Atoi(m[2])
	if day < 1 || day > 31 {
		return 0
	}
	at := time.Date(now.Year(), month, day, hour, minute, 0, 0, zone)
	if at.Before(now.AddDate(0, -6, 0)) { // the turn of the year lies between
		at = at.AddDate(1, 0, 0)
	}
	return at.Unix()
}

// clock reads a time of day: with am or pm, or in 24-hour form with minutes.
func clock(h, m, meridiem string) (hour, minute int, ok bool) {
	hour, _ = strconv.Atoi(h)
	minute, _ = strconv.Atoi(m)
	switch {
	case meridiem == "" && (m == "" || hour > 23), meridiem != "" && (hour < 1 || hour > 12), minute > 59:
		return 0, 0, false
	case meridiem == "":
		return hour, minute, true
	}
	hour %= 12
	if strings.EqualFold(meridiem, "pm") {
		hour += 12
	}
	return hour, minute, true
}
