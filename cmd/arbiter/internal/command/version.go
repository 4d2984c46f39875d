package command

import (
	"runtime/debug"
	"strings"
)

// stamp is set by the linker (-X …/internal/command.stamp=…) in builds of scripts/setup.
var stamp string

// Version returns the stamp, or else the module version that `go install …@vX` records, or else the commit that `go
// build` records.
func Version() string {
	if stamp != "" {
		return stamp
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return strings.TrimPrefix(v, "v")
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel-" + s.Value[:12]
		}
	}
	return "devel"
}
