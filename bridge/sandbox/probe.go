package sandbox

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

// ProbeCommand is the hidden command that makes arbiter a probe.
const ProbeCommand = "canary"

// probeTask lists the actions that a probe tries.
type probeTask struct {
	Nonce   string   `json:"nonce"`
	Write   []string `json:"write"`   // files to write the nonce into
	Read    []string `json:"read"`    // files and directories to look into
	Connect []string `json:"connect"` // unix sockets
}

// probeReport holds the results of a probe's actions.
type probeReport struct {
	Nonce        string            `json:"nonce"`
	Wrote        map[string]bool   `json:"wrote"`
	Read         map[string]string `json:"read"`   // what was found there; "" for nothing
	Parent       string            `json:"parent"` // what was found in its parent's root
	Connected    map[string]bool   `json:"connected"`
	Mounts       string            `json:"mounts"`       // its mount namespace
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
	f := probeReport{Nonce: e.Nonce, Wrote: map[string]bool{}, Read: map[string]string{}, Connected: map[string]bool{}}
	for _, path := range e.Write {
		f.Wrote[path] = writeNew(path, e.Nonce) == nil
	}
	for _, path := range e.Read {
		f.Read[path] = lookInto(path)
	}
	f.Parent = lookInto(fmt.Sprintf("/proc/%d/root", os.Getppid()))
	for _, path := range e.Connect {
		conn, err := net.DialTimeout("unix", path, connectTimeout)
		if f.Connected[path] = err == nil; err == nil {
			conn.Close()
		}
	}
	f.Mounts, _ = os.Readlink("/proc/self/ns/mnt") // an empty value proves nothing
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); name {
		case "CapEff":
			f.Capabilities = value
		case "NoNewPrivs":
			f.NoNewPrivs = value
		}
	}
	return json.NewEncoder(out).Encode(f)
}

func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// lookInto describes a file or directory without quoting its content.
func lookInto(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	if info.IsDir() {
		names, _ := f.Readdirnames(1)
		if len(names) > 0 {
			return "entries"
		}
		return ""
	}
	if n, _ := f.Read(make([]byte, 1)); n > 0 {
		return "text"
	}
	return ""
}
