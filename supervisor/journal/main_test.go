package journal

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs a child's role if a test asks for one; otherwise it runs the tests, and looks for goroutines
// that outlive their test.
func TestMain(m *testing.M) {
	packBlock = 64 // so that the tests' logs are packed
	if role := os.Getenv(childRole); role != "" {
		os.Exit(playChild(role))
	}
	goleak.VerifyTestMain(m)
}
