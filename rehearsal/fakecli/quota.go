package fakecli

import (
	"net/http"
	"strconv"
)

// quotaFrame is the frame about the usage windows of a plan that an answer of the API tells of; nil if it tells none.
// The CLI writes one only with a login, not with an API key.
func quotaFrame(h http.Header) obj {
	const prefix = "Anthropic-Ratelimit-Unified-"
	windows := obj{}
	for name, short := range map[string]string{"five_hour": "5h", "seven_day": "7d"} {
		used, err := strconv.ParseFloat(h.Get(prefix+short+"-Utilization"), 64)
		if err != nil {
			continue
		}
		resets, _ := strconv.ParseInt(h.Get(prefix+short+"-Reset"), 10, 64) // 0: not told
		windows[name] = obj{"utilization": used, "resetsAt": resets, "status": h.Get(prefix + short + "-Status")}
	}
	if len(windows) == 0 {
		return nil
	}
	return obj{"type": "rate_limit_event", "rate_limit_info": obj{
		"status": h.Get(prefix + "Status"), "isUsingOverage": false, "unifiedWindows": windows,
	}}
}
