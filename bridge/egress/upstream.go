package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Upstream is the user's own proxy, which outgoing connections take.
type Upstream struct {
	plain, secure *url.URL // nil: none
	direct        []string // the entries of NO_PROXY
}

// UpstreamOf reads the usual variables of an environment. A proxy that is not an HTTP proxy is an error.
func UpstreamOf(env func(string) string) (u Upstream, err error) {
	either := func(name string) string {
		if value := env(strings.ToLower(name)); value != "" {
			return value
		}
		return env(name)
	}
	for _, v := range []struct {
		name string
		to   **url.URL
	}{{"HTTP_PROXY", &u.plain}, {"HTTPS_PROXY", &u.secure}} {
		text := either(v.name)
		if text == "" {
			text = either("ALL_PROXY")
		}
		if text == "" {
			continue
		}
		if !strings.Contains(text, "://") {
			text = "http://" + text
		}
		at, err := url.Parse(text)
		if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
			return u, fmt.Errorf("%s names no HTTP proxy: the sandbox cannot use it", v.name)
		}
		*v.to = at
	}
	for entry := range strings.FieldsFuncSeq(either("NO_PROXY"), func(c rune) bool { return c == ',' || c == ' ' }) {
		u.direct = append(u.direct, strings.ToLower(entry))
	}
	return u, nil
}

// of returns the proxy for a target; nil: none.
func (u Upstream) of(t target, secure bool) *url.URL {
	addr, isAddr := address(t.host)
	if isAddr && addr.IsLoopback() || t.host == "localhost" {
		return nil
	}
	for _, entry := range u.direct {
		name := strings.TrimPrefix(strings.TrimPrefix(entry, "*"), ".")
		prefix, err := netip.ParsePrefix(entry)
		switch {
		case entry == "*", name == t.host, entry == t.String(), name != "" && strings.HasSuffix(t.host, "."+name),
			err == nil && isAddr && prefix.Contains(addr):
			return nil
		}
	}
	if secure {
		return u.secure
	}
	return u.plain
}

// through opens a tunnel through the user's proxy.
func through(ctx context.Context, d dialer, at *url.URL, t target) (net.Conn, error) {
	plain, err := d(ctx, "tcp", hostPort(at))
	if err != nil {
		return nil, fmt.Errorf("your proxy %s: %w", at.Host, err)
	}
	stop := context.AfterFunc(ctx, func() { plain.Close() })
	defer stop()
	conn := plain
	if at.Scheme == "https" {
		conn = tls.Client(conn, &tls.Config{ServerName: at.Hostname()})
	}
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: t.String()}, Host: t.String(),
		Header: http.Header{}}
	if user := at.User; user != nil {
		password, _ := user.Password()
		request.Header.Set("Proxy-Authorization",
			"Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	in := bufio.NewReader(conn)
	err = request.Write(conn)
	var answer *http.Response
	if err == nil {
		answer, err = http.ReadResponse(in, request)
	}
	switch {
	case err != nil:
		conn.Close()
		return nil, fmt.Errorf("your proxy %s: %w", at.Host, err)
	case answer.StatusCode != http.StatusOK:
		conn.Close()
		return nil, fmt.Errorf("your proxy %s answers %s", at.Host, answer.Status)
	}
	return buffered{conn, in}, nil
}

func hostPort(at *url.URL) string {
	if at.Port() != "" {
		return at.Host
	}
	if at.Scheme == "https" {
		return net.JoinHostPort(at.Hostname(), "443")
	}
	return net.JoinHostPort(at.Hostname(), "80")
}

// buffered is a connection of which some bytes were read already.
type buffered struct {
	net.Conn
	in *bufio.Reader
}

func (b buffered) Read(p []byte) (int, error) { return b.in.Read(p) }

func (b buffered) CloseWrite() error { return closeWrite(b.Conn) }
