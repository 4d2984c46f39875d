//go:build !linux && !darwin

package settings

func machineMemory() int64 { return 0 }
