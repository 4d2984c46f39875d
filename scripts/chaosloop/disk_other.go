//go:build !linux

package main

import "errors"

func limitFiles(int, uint64) error { return errors.ErrUnsupported }
