package supervisor

import (
	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// receiptOutput is how much of a check's output its receipt quotes, in bytes.
const receiptOutput = 1000

// Receipt is the receipt of a run of a check. failed says why it was not run.
func Receipt(c verdict.Check, x bridge.CheckResult, failed string) verdict.Receipt {
	r := verdict.Receipt{Command: c.Command, Expect: c.Expect, Exit: -1, Result: verdict.CheckUnrun, Why: failed}
	if failed != "" {
		return r
	}
	r.Exit, r.SHA256, r.Bytes, r.DurationMS = x.Exit, x.SHA256, x.Bytes, x.DurationMS
	r.Output = words.Tail(x.Output, receiptOutput)
	switch {
	case x.TimedOut:
		r.Result, r.Why = verdict.CheckUnrun, "it was ended: out of time"
	case x.Signal != "":
		r.Result, r.Why = verdict.CheckFailed, "signal: "+x.Signal
	default:
		r.Result, r.Why = verdict.Outcome{Exit: x.Exit, Output: x.Output, Bytes: x.Bytes}.Meets(c.Expect)
	}
	return r
}
