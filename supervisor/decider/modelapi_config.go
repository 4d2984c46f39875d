package decider

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// The providers, by the API of their servers.
const (
	OpenAI       = "openai"    // Chat Completions
	APIAnthropic = "anthropic" // Messages
)

// Addresses of the providers themselves.
const (
	openAIURL    = "https://api.openai.com/v1"
	anthropicURL = "https://api.anthropic.com"
)

// DefaultMaxTokens is the default bound of an answer: a decision with a long message fits into it.
const DefaultMaxTokens = 4096

// APIConfig says which model a client asks, and how.
type APIConfig struct {
	Provider    string   // OpenAI or Anthropic
	BaseURL     string   // empty: the provider's own
	Key         APIKey   // empty: none is sent
	KeyName     string   // the variable that the key came from, for errors; may be empty
	Model       string   // required
	MaxTokens   int      // of an answer; 0: DefaultMaxTokens
	Temperature *float64 // nil: the model's own
	Effort      string   // empty: the model's own
}

// CheckBaseURL checks the address of a server; empty is the provider's own. One that contains a password or a
// query is refused, because it is recorded; withKey refuses an address to which a key would be sent over the
// network without encryption.
func CheckBaseURL(address string, withKey bool) error {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil {
		var e *url.Error // contains the address
		if errors.As(err, &e) {
			err = e.Err
		}
		return fmt.Errorf("is not a URL: %w", err)
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.Opaque != "":
		return errors.New("must begin with https:// or http:// and a host, such as http://127.0.0.1:11434/v1")
	case u.User != nil:
		return errors.New("contains a user or a password, and is recorded with the run: put the secret into an " +
			"environment variable")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("must end with its path: leave out what begins with ? or #")
	case withKey && u.Scheme == "http" && !local(u.Hostname()):
		return fmt.Errorf("would send the API key to %s without encryption: use https", u.Hostname())
	}
	return nil
}

// local reports whether a host is this machine or one of a private network.
func local(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	if !strings.Contains(host, ".") {
		return true
	}
	return slices.ContainsFunc([]string{".localhost", ".local", ".internal", ".lan", ".home.arpa"},
		func(suffix string) bool { return strings.HasSuffix(strings.ToLower(host), suffix) })
}

// endpoint is the URL to which questions are posted. The address of a Chat Completions server includes the
// version; that of a Messages server need not.
func (c APIConfig) endpoint() string {
	base := strings.TrimRight(c.BaseURL, "/")
	if c.Provider == OpenAI {
		if base == "" {
			base = openAIURL
		}
		return base + "/chat/completions"
	}
	if base == "" {
		base = anthropicURL
	}
	return strings.TrimSuffix(base, "/v1") + "/v1/messages"
}

func (c APIConfig) check() error {
	switch {
	case c.Provider != OpenAI && c.Provider != APIAnthropic:
		return fmt.Errorf("there is no provider %q: use openai or anthropic", c.Provider)
	case c.Model == "":
		return errors.New("no model is named")
	case !c.Key.valid():
		return fmt.Errorf("the key in %s has characters that no key has: set it again, without quotes and line breaks",
			c.keySource())
	}
	if err := CheckBaseURL(c.BaseURL, !c.Key.Empty()); err != nil {
		return fmt.Errorf("the base URL %w", err)
	}
	return nil
}

// keySource describes where the key is set.
func (c APIConfig) keySource() string {
	if c.KeyName == "" {
		return "its environment variable"
	}
	return c.KeyName
}

// hostOf is the host of an address, for messages.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the server"
	}
	if host, port, err := net.SplitHostPort(u.Host); err == nil && (port == "443" || port == "80") {
		return host
	}
	return u.Host
}

// Default models of the providers themselves: small ones.
const (
	OpenAIModel    = "gpt-4.1-mini"
	AnthropicModel = "claude-haiku-4-5"
)

// DefaultModel is the default model of a provider; empty: only its owner knows the models of a server at its
// own address.
func DefaultModel(provider, baseURL string) string {
	switch {
	case provider == APIAnthropic:
		return AnthropicModel
	case baseURL == "":
		return OpenAIModel
	}
	return ""
}
