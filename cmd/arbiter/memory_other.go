//go:build !linux && !darwin

package main

func machineMemory() int64 { return 0 }
