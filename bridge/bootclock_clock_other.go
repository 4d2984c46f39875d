//go:build !linux && !darwin

package bridge

import "time"

var began = time.Now()

// Now is the time since an arbitrary moment, such as the process's start.
func Now() time.Duration { return time.Since(began) }
