//go:build !unix

package corpus

import (
	"errors"
	"os"
)

var signals map[string]os.Signal // none

func sendSignal(*os.Process, string) error { return errors.New("no signals on this system") }
