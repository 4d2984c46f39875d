package fakecli

import (
	"os"
	"testing"
)

// asStandIn makes the test binary behave as the stand-in.
const asStandIn = "ARBITER_TEST_STANDIN"

func TestMain(m *testing.M) {
	if os.Getenv(asStandIn) != "" {
		os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}
