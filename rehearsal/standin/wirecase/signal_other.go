//go:build !unix

package wirecase

import (
	"errors"
	"os"
)

func sendSignal(*os.Process, string) error { return errors.New("no signals on this system") }
