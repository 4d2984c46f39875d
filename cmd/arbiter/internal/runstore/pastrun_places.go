package runstore

import (
	"os"

	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// ImagesDir is the directory for the images of messages, in the run's directory.
const ImagesDir = "images"

// ClaudeConfig returns the directory where the agents of a run store their sessions.
func ClaudeConfig(o runconfig.Options) string {
	var environ []string
	for _, name := range []string{"CLAUDE_CONFIG_DIR", "HOME"} {
		if value, ok := o.Env[name]; ok {
			environ = append(environ, name+"="+value)
		}
	}
	return proctree.ConfigDir(append(environ, os.Environ()...), o.CWD)
}
