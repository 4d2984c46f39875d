package ptyproxy

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// The variables that select what the test binary does when it is started again.
const (
	roleEnv    = "ARBITER_TEST_ROLE"
	partEnv    = "ARBITER_TEST_PART"
	resultEnv  = "ARBITER_TEST_RESULT"
	graceEnv   = "ARBITER_TEST_GRACE"
	keyEnv     = "ARBITER_TEST_KEY"
	timeoutEnv = "ARBITER_TEST_TIMEOUT"
)

// floodLines is the number of lines of 14 bytes in a flood: 420 kB. That is more than all buffers on its
// way hold together, so that some of it is still in transit when the child ends: 128 KiB in the kernel's
// two terminals, 96 KiB in the pump, 64 KiB in the emulated terminal.
const floodLines = 30_000

func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "proxy":
		os.Exit(proxyMain())
	case "borrower":
		os.Exit(runProxyChild(os.Getenv(partEnv)))
	}
	goleak.VerifyTestMain(m)
}

// proxyMain runs a program in its terminal, writes the result to a file, and reads a line.
func proxyMain() int {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // it is to outlive its terminal, to report
	ctx := context.Background()
	if d, err := time.ParseDuration(os.Getenv(timeoutEnv)); err == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	var l Proxy
	if d, err := time.ParseDuration(os.Getenv(graceEnv)); err == nil {
		grace = d
	}
	if key := os.Getenv(keyEnv); key != "" {
		l.Detach = key[0]
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{roleEnv + "=borrower", partEnv + "=" + os.Getenv(partEnv), "PATH=" + os.Getenv("PATH"),
		"GORACE=atexit_sleep_ms=0", "TERM=" + os.Getenv("TERM")}
	var exit int
	var err error
	if strings.HasPrefix(os.Getenv(partEnv), "far ") {
		err = joiner(ctx, l)
	} else {
		exit, err = l.Run(ctx, cmd, os.Stdin)
	}
	if leak := goleak.Find(); leak != nil {
		err = fmt.Errorf("%w, %w", err, leak)
	}
	if err := os.WriteFile(os.Getenv(resultEnv), fmt.Appendf(nil, "exit %d %v", exit, err), 0o600); err != nil {
		return 1
	}
	fmt.Println("proxy: listens")
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return 1
	}
	fmt.Println("proxy was told", strings.TrimSpace(line))
	return 0
}

func runProxyChild(part string) int {
	switch part {
	case "line":
		reportSize()
		fmt.Print("name? ")
		line, err := bufio.NewReader(os.Stdin).ReadString('\n')
		if err != nil {
			return 1
		}
		fmt.Println("hail", strings.TrimSpace(line))
		return 7
	case "raw":
		return echo()
	case "sizes":
		return sizes()
	case "hang":
		signal.Ignore(syscall.SIGHUP, syscall.SIGTERM)
		makeRaw()
		fmt.Print("\x1b[?1049h\x1b[?25l\x1b[?1000;1006h\x1b[?2004h\x1b[>1u\x1b=\x1b[5 q\x1b[1;31mI stay\x1b]2;cut")
		return count(0)
	case "farewell":
		hup := make(chan os.Signal, 1)
		signal.Notify(hup, syscall.SIGHUP)
		fmt.Println("ready")
		<-hup
		fmt.Println("farewell")
		return 3
	case "flood":
		out := bufio.NewWriter(os.Stdout)
		for i := range floodLines {
			fmt.Fprintf(out, "line %06d.\n", i)
		}
		if out.Flush() != nil {
			return 1
		}
		return 0
	case "count":
		makeRaw()
		fmt.Print("ready\r\n")
		return count('q')
	case "deaf":
		signal.Ignore(syscall.SIGHUP, syscall.SIGTERM)
		makeRaw()
		fmt.Print("ready\r\n")
		hang()
	case "leave":
		cmd := exec.Command("sleep", "2")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			return 1
		}
		fmt.Println("gone")
		return 0
	case "endless":
		if err := os.WriteFile(os.Getenv(resultEnv), nil, 0o600); err != nil {
			return 1
		}
		for range floodLines {
			if _, err := fmt.Println("on and on and on"); err != nil {
				return 1
			}
		}
	}
	return 1
}

// hang waits for a signal that is never sent.
func hang() {
	never := make(chan os.Signal, 1)
	signal.Notify(never, syscall.SIGUSR1)
	<-never
}

func makeRaw() {
	t, err := unix.IoctlGetTermios(0, getTermios)
	if err != nil {
		panic(err)
	}
	t.Lflag &^= unix.ICANON | unix.ECHO | unix.ISIG | unix.IEXTEN
	t.Iflag &^= unix.IXON | unix.ICRNL
	if err := unix.IoctlSetTermios(0, setTermios, t); err != nil {
		panic(err)
	}
}

func reportSize() {
	ws, err := unix.IoctlGetWinsize(0, unix.TIOCGWINSZ)
	if err != nil {
		panic(err)
	}
	fmt.Printf("size %dx%d\r\n", ws.Col, ws.Row)
}

// echo prints the bytes that it reads, until q.
func echo() int {
	makeRaw()
	fmt.Print("ready\r\n")
	buf := make([]byte, 64)
	for {
		n, err := os.Stdin.Read(buf)
		if err != nil {
			return 1
		}
		if string(buf[:n]) == "q" {
			return 0
		}
		fmt.Printf("got %x\r\n", buf[:n])
	}
}

// count prints how many bytes it has read so far.
func count(last byte) int {
	buf := make([]byte, 1<<10)
	for total := 0; ; {
		n, err := os.Stdin.Read(buf)
		if err != nil && last != 0 {
			return 1
		}
		if err != nil {
			hang() // not even that ends the process
		}
		total += n
		if last == 0 {
			fmt.Printf("\x1b\\\rheard %d\x1b]2;cut", total)
		} else if buf[n-1] == last {
			fmt.Printf("read %d\r\n", total)
			return 0
		}
	}
}

// sizes prints each new size, until it reads a line.
func sizes() int {
	changes := make(chan os.Signal, 1)
	signal.Notify(changes, syscall.SIGWINCH)
	lines := make(chan struct{})
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		close(lines)
	}()
	for {
		reportSize()
		select {
		case <-changes:
		case <-lines:
			return 0
		}
	}
}
