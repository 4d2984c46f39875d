package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
)

// maxHello bounds the first line of a client.
const maxHello = 1 << 20

// hello holds what the keeper needs from the first line.
type hello struct {
	run, bridge string
	lease       time.Duration
}

// safeName matches valid names of run and bridge: they are part of a file's name.
var safeName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
})

// readHello reads up to the first line end, and possibly more: the caller must pass all that was read to
// the bridge. A line that is not an initialize of a remote bridge is not an error here: the hello is empty
// then, and the bridge answers.
func readHello(r io.Reader) (read []byte, h hello, err error) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		read = append(read, buf[:n]...)
		line, _, whole := bytes.Cut(read, []byte("\n"))
		if whole || len(bytes.TrimSpace(read)) > 0 && errors.Is(err, io.EOF) {
			return read, parseHello(line), nil
		}
		if len(read) > maxHello {
			return nil, hello{}, fmt.Errorf("the first line of the client is longer than %d bytes", maxHello)
		}
		if err != nil {
			return nil, hello{}, err
		}
	}
}

func parseHello(line []byte) hello {
	var m struct {
		Method string
		Params bridge.InitializeParams
	}
	if json.Unmarshal(line, &m) != nil || m.Method != bridge.MethodInitialize || m.Params.Remote == nil {
		return hello{}
	}
	p := m.Params
	if !safeName().MatchString(p.Run) || !safeName().MatchString(p.Bridge) || p.Remote.LeaseMS <= 0 {
		return hello{}
	}
	return hello{run: p.Run, bridge: p.Bridge, lease: time.Duration(p.Remote.LeaseMS) * time.Millisecond}
}
