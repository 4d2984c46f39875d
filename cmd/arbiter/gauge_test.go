package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	_ "net/http/pprof" // on http.DefaultServeMux, which only the gauge serves
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// gaugeVariable names a directory in which the test's arbiter and its bridge each listen on a socket and report
// the resources they use: see [reading]. The sockets also serve the profiles of net/http/pprof:
//
//	curl --unix-socket DIR/bridge -o cpu http://gauge/debug/pprof/profile?seconds=10
const gaugeVariable = "ARBITER_TEST_GAUGE"

// gauge is called in the test's arbiter before it starts.
func gauge() {
	dir := os.Getenv(gaugeVariable)
	if dir == "" || len(os.Args) < 2 {
		return
	}
	name := "arbiter"
	switch os.Args[1] {
	case "bridge":
		name = "bridge"
	case "hook", "stand-in":
		return
	}
	place := filepath.Join(dir, name)
	_ = os.Remove(place) // left by the process that entered the namespace before this one
	l, err := net.Listen("unix", place)
	if err != nil {
		panic(err)
	}
	http.HandleFunc("/reading", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(read()) })
	go func() { _ = http.Serve(l, nil) }() // ends with the process
}

// reading is one measurement of a process.
type reading struct {
	Heap       float64 // MB of live objects
	Goroutines int
	Files      int // open file descriptors
	Watches    int // inotify watches of directories and files
}

func read() reading {
	runtime.GC()
	runtime.GC() // frees what finalizers and pools release
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	r := reading{Heap: float64(m.HeapAlloc) / (1 << 20), Goroutines: runtime.NumGoroutine()}
	files, _ := os.ReadDir("/proc/self/fd")
	r.Files = len(files)
	for _, f := range files {
		if info, err := os.ReadFile("/proc/self/fdinfo/" + f.Name()); err == nil {
			r.Watches += strings.Count(string(info), "\ninotify ")
		}
	}
	return r
}

// readings gets the measurements that a process reports.
func readings(t testing.TB, dir, name string) reading {
	t.Helper()
	client := http.Client{Timeout: waitTimeout, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(dir, name))
		},
	}}
	answer, err := client.Get("http://gauge/reading")
	for deadline := time.Now().Add(waitTimeout); err != nil; answer, err = client.Get("http://gauge/reading") {
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		<-time.After(20 * time.Millisecond) // it has not started yet
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var r reading
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return r
}
