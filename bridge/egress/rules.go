package egress

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Rule is an entry of a list: a name, all names below a domain (*.example.com), or an address. Without a port it
// holds for those of HTTP and HTTPS.
type Rule struct {
	host    string // lower case
	below   bool   // the names below host, and not host itself
	port    int    // 0: 80 and 443
	trusted bool   // may resolve to any address: the user's own API
}

// Rules is a list of hosts.
type Rules []Rule

// ParseRule reads HOST, *.DOMAIN or ADDRESS, with an optional :PORT. The host's own loopback needs a port.
func ParseRule(text string) (Rule, error) {
	host, port, err := splitPort(text)
	if err != nil {
		return Rule{}, err
	}
	r := Rule{port: port}
	r.host, r.below = strings.CutPrefix(strings.ToLower(host), "*.")
	if r.host, err = cleanHost(r.host); err != nil {
		return Rule{}, err
	}
	addr, isAddr := address(r.host)
	switch {
	case r.below && isAddr:
		return Rule{}, fmt.Errorf("*. stands before a name, not before an address")
	case r.below && !strings.Contains(r.host, "."):
		return Rule{}, fmt.Errorf("*.%s is too much: name a domain", r.host)
	case isAddr && addr.IsUnspecified():
		return Rule{}, fmt.Errorf("%s is no address to connect to", addr)
	case r.loopback() && port < minForward:
		return Rule{}, fmt.Errorf("this computer's own address needs a port above %d, such as %s:8080", minForward-1, host)
	}
	return r, nil
}

// minForward is the first port at which a process without privileges can listen.
const minForward = 1024

// splitPort splits HOST or HOST:PORT; an address of IPv6 is in brackets if a port follows. 0: there is none.
func splitPort(text string) (host string, port int, err error) {
	if addr, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return addr.String(), 0, nil
	}
	if !strings.Contains(text, ":") {
		return text, 0, nil
	}
	host, number, err := net.SplitHostPort(text)
	if err != nil || strings.Contains(text, "/") {
		return "", 0, fmt.Errorf("%q: use HOST or HOST:PORT, without http:// and a path", text)
	}
	port, err = portOf(number)
	return host, port, err
}

func portOf(number string) (int, error) {
	port, err := strconv.ParseUint(number, 10, 16)
	if err != nil || port == 0 {
		return 0, fmt.Errorf("%.20q is not a port", number)
	}
	return int(port), nil
}

// cleanHost returns the one spelling of a host: an address, or a name in lower case without a final dot. It refuses
// what other programs may read as an address (127.1, 0x7f000001).
func cleanHost(host string) (string, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Zone() != "" {
			return "", fmt.Errorf("an address with a zone")
		}
		return addr.Unmap().String(), nil
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	bad := strings.IndexFunc(host, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_'
	})
	labels := strings.Split(host, ".")
	last := labels[len(labels)-1]
	switch {
	case host == "" || len(host) > 253 || bad >= 0 || slices.Contains(labels, ""):
		return "", fmt.Errorf("%.100q is not a host name", host)
	case last[0] >= '0' && last[0] <= '9':
		return "", fmt.Errorf("%.100q is neither a name nor an address as it is usually written", host)
	}
	return host, nil
}

// address returns the address that a clean host is, if it is one.
func address(host string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(host)
	return addr, err == nil
}

// loopback reports whether the rule names this computer.
func (r Rule) loopback() bool {
	addr, ok := address(r.host)
	return ok && addr.IsLoopback() || r.host == "localhost" && !r.below
}

// String is the rule as it is written.
func (r Rule) String() string {
	host := r.host
	if r.below {
		host = "*." + host
	}
	if r.port == 0 {
		return host
	}
	return net.JoinHostPort(host, strconv.Itoa(r.port))
}

func (r Rule) covers(t target) bool {
	if r.port != t.port && (r.port != 0 || t.port != 80 && t.port != 443) {
		return false
	}
	return !r.below && r.host == t.host || r.below && strings.HasSuffix(t.host, "."+r.host)
}

// find returns the first rule that covers a target.
func (l Rules) find(t target) (Rule, bool) {
	if i := slices.IndexFunc(l, func(r Rule) bool { return r.covers(t) }); i >= 0 {
		return l[i], true
	}
	return Rule{}, false
}

// Forwards are the addresses of this computer's loopback that a sandbox gets as its own.
func (l Rules) Forwards() (list []string) {
	for _, r := range l {
		if !r.loopback() || r.port == 0 {
			continue
		}
		host := r.host
		if host == "localhost" {
			host = "127.0.0.1"
		}
		if at := net.JoinHostPort(host, strconv.Itoa(r.port)); !slices.Contains(list, at) {
			list = append(list, at)
		}
	}
	return list
}

// APIHosts are the hosts that the CLI needs with an environment: those of the base URLs that it names, otherwise
// Anthropic's API and the server that renews a login; with Bedrock or Vertex, those of the region.
func APIHosts(env func(string) string) (list Rules) {
	for _, name := range []string{"ANTHROPIC_BASE_URL", "ANTHROPIC_BEDROCK_BASE_URL", "ANTHROPIC_VERTEX_BASE_URL",
		"ANTHROPIC_FOUNDRY_BASE_URL"} {
		if r, ok := ruleOfURL(env(name)); ok {
			list = append(list, r)
		}
	}
	var names []string
	switch region := env("AWS_REGION"); {
	case env("CLAUDE_CODE_USE_BEDROCK") != "":
		for _, service := range []string{"bedrock-runtime", "bedrock", "sts"} {
			names = append(names, service+"."+region+".amazonaws.com")
		}
	case env("CLAUDE_CODE_USE_VERTEX") != "":
		names = []string{env("CLOUD_ML_REGION") + "-aiplatform.googleapis.com", "aiplatform.googleapis.com",
			"oauth2.googleapis.com"}
	case len(list) == 0:
		names = []string{"api.anthropic.com", "platform.claude.com"}
	}
	for _, name := range names {
		if r, err := ParseRule(name + ":443"); err == nil { // a missing region makes no name
			list = append(list, r)
		}
	}
	return list
}

func ruleOfURL(text string) (Rule, bool) {
	u, err := url.Parse(text)
	if text == "" || err != nil || u.Host == "" {
		return Rule{}, false
	}
	host, err := cleanHost(u.Hostname())
	if err != nil {
		return Rule{}, false
	}
	r := Rule{host: host, trusted: true, port: 443}
	if u.Scheme == "http" {
		r.port = 80
	}
	if u.Port() != "" {
		if r.port, err = portOf(u.Port()); err != nil {
			return Rule{}, false
		}
	}
	return r, true
}

// special are the ranges, besides those that netip knows, whose addresses are not the public network, or embed
// another address.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // a provider's own network
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"), // relays to IPv6
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("::/96"),
	netip.MustParsePrefix("64:ff9b::/96"), // IPv4 in IPv6
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("2001::/32"), // Teredo
	netip.MustParsePrefix("2002::/16"), // 6to4
	netip.MustParsePrefix("fec0::/10"),
}

// public reports whether an address belongs to the public network.
func public(addr netip.Addr) bool {
	addr = addr.Unmap()
	if !addr.IsGlobalUnicast() || addr.IsPrivate() || addr.Zone() != "" {
		return false
	}
	for _, p := range special {
		if p.Contains(addr) {
			return false
		}
	}
	return true
}
