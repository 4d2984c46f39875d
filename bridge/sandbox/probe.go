package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// ProbeCommand is the hidden command that makes arbiter a probe.
const ProbeCommand = "canary"

// attempt is an action that a probe tries.
type attempt struct {
	Does string `json:"does"`
	Path string `json:"path"`
	want want
}

// What a probe does.
const (
	write   = "write"   // the nonce into a new file
	read    = "read"    // something in a file or directory
	connect = "connect" // with a socket: of TCP, if there is a colon, or of unix
)

// want is how an attempt is to end.
type want int

const (
	must    want = iota // what is written is seen outside
	unseen              // it is not
	mustNot             // it fails
)

// probeTask is what a probe has to do.
type probeTask struct {
	Nonce string    `json:"word"` // of another name than in the report, which is thus no copy
	Tries []attempt `json:"tries"`
	Proxy string    `json:"proxy"` // where a proxy should be; empty: there is none
}

// probeReport holds the results of a probe's actions.
type probeReport struct {
	Nonce        string            `json:"nonce"`
	Did          []bool            `json:"did"`          // whether each attempt succeeded
	Proxied      int               `json:"proxied"`      // the proxy's answer to a request for a host without a name
	Namespaces   map[string]string `json:"namespaces"`   // its own, by their kind
	Kernel       bool              `json:"kernel"`       // settings of the kernel could be written
	Pids         string            `json:"pids"`         // its own numbers, in each namespace that /proc shows
	Capabilities string            `json:"capabilities"` // effective, in hexadecimal
	NoNewPrivs   string            `json:"no_new_privs"`
}

const connectTimeout = time.Second

// RunProbe reads a task, tries all its actions and reports the results. It does no harm outside of a
// sandbox: the files it writes are new.
func RunProbe(in io.Reader, out io.Writer) error {
	var e probeTask
	if err := json.NewDecoder(in).Decode(&e); err != nil {
		return fmt.Errorf("read the task: %w", err)
	}
	f := probeReport{Nonce: e.Nonce, Namespaces: map[string]string{}}
	for _, a := range e.Tries {
		f.Did = append(f.Did, a.succeeds(e.Nonce))
	}
	for _, path := range []string{"/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger"} {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if f.Kernel = f.Kernel || err == nil; err == nil {
			file.Close()
		}
	}
	if e.Proxy != "" {
		f.Proxied = askProxy(e.Proxy)
	}
	for _, kind := range namespaces {
		f.Namespaces[kind], _ = os.Readlink("/proc/self/ns/" + kind) // an empty value proves nothing
	}
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); name {
		case "CapEff":
			f.Capabilities = value
		case "NoNewPrivs":
			f.NoNewPrivs = value
		case "NSpid":
			f.Pids = value
		}
	}
	return json.NewEncoder(out).Encode(f)
}

func (a attempt) succeeds(nonce string) bool {
	switch a.Does {
	case write:
		return writeNew(a.Path, nonce) == nil
	case read:
		return hasContent(a.Path)
	}
	network := "unix"
	if strings.Contains(a.Path, ":") {
		network = "tcp"
	}
	conn, err := net.DialTimeout(network, a.Path, connectTimeout)
	if err == nil {
		conn.Close()
	}
	return err == nil
}

// namespaces are the kinds that a sandbox has of its own; the last one only without an open network.
var namespaces = []string{"mnt", "user", "pid", "ipc", "net"}

// askProxy asks a proxy for a host that cannot exist, and returns the status of its answer; 0: there is none.
func askProxy(address string) int {
	client := http.Client{Timeout: connectTimeout, Transport: &http.Transport{DisableKeepAlives: true,
		Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: address})}}
	r, err := client.Get("http://arbiter.invalid/")
	if err != nil {
		return 0
	}
	r.Body.Close()
	return r.StatusCode
}

func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// hasContent reports whether a file or directory has something in it that can be read.
func hasContent(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	names, _ := f.Readdirnames(1) // one of the two fails
	n, _ := f.Read(make([]byte, 1))
	return len(names)+n > 0
}
