package claude

import (
	"maps"
	"math"
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
)

// quotas reads, by name, how much of the plan's usage windows is used. The CLI reports it with a login, not
// with an API key: each window under its name, and separately a window that is nearly used up (observed
// with CLI 2.1.329).
func quotas(info *fieldReader) (list []bridge.Quota) {
	windows := info.object("unifiedWindows")
	defer info.join(windows)
	for _, name := range slices.Sorted(maps.Keys(windows.obj)) {
		w := windows.object(name)
		if w.raw("utilization") != nil {
			list = append(list, quotaOf(name, w))
		}
		windows.join(w)
	}
	if name := info.str("rateLimitType"); len(list) == 0 && name != "" && info.raw("utilization") != nil {
		list = append(list, quotaOf(name, info))
	}
	return list
}

func quotaOf(name string, r *fieldReader) bridge.Quota {
	return bridge.Quota{Window: name, UsedPct: math.Round(r.number("utilization")*1e4) / 100,
		ResetsAt: unixSeconds(int64(r.number("resetsAt")))}
}

// reportQuotas reports the usage windows that have changed.
func (r *reader) reportQuotas(list []bridge.Quota) {
	for _, q := range list {
		if r.quotas[q.Window] != q {
			r.quotas[q.Window] = q
			r.a.emit(q)
		}
	}
}
