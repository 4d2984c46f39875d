package acptest

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

//go:embed schema/*.gz
var files embed.FS

// Checker checks the messages of one connection against the protocol's published JSON Schema. Its methods are safe for
// concurrent use.
type Checker struct {
	defs map[string]json.RawMessage
	// methods has the definitions by side, method and kind: "agent session/new Request".
	methods map[string]string

	mu       sync.Mutex
	resolved map[string]*jsonschema.Resolved
	asked    map[string]string // methods of open requests, by receiver and id
}

// NewChecker makes a checker for the stable schema, or for the schema with unstable features.
func NewChecker(unstable bool) (*Checker, error) {
	name := "schema/schema.json.gz"
	if unstable {
		name = "schema/schema.unstable.json.gz"
	}
	packed, err := files.ReadFile(name)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	c := &Checker{methods: map[string]string{}, resolved: map[string]*jsonschema.Resolved{}, asked: map[string]string{}}
	var whole struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(raw, &whole); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	c.defs = whole.Defs
	for def, text := range whole.Defs {
		var about struct {
			Method string `json:"x-method"`
			Side   string `json:"x-side"`
		}
		if err := json.Unmarshal(text, &about); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, def, err)
		}
		if about.Method != "" {
			c.methods[about.Side+" "+about.Method+" "+kindOf(def)] = def
		}
	}
	return c, nil
}

// kindOf distinguishes responses from requests and notifications, by the name of the definition.
func kindOf(def string) string {
	if strings.HasSuffix(def, "Response") {
		return "Response"
	}
	return "Request"
}

// Check checks a message. fromAgent says who sent it.
func (c *Checker) Check(fromAgent bool, line []byte) error {
	var m struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return err
	}
	if m.JSONRPC != "2.0" {
		return fmt.Errorf("jsonrpc is %q: %.200s", m.JSONRPC, line)
	}
	receiver, sender := "agent", "client"
	if fromAgent {
		receiver, sender = sender, receiver
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.Method != "" {
		if m.ID != nil {
			c.asked[receiver+string(m.ID)] = m.Method
		}
		def := c.methods[receiver+" "+m.Method+" Request"]
		if def == "" {
			def = c.methods["protocol "+m.Method+" Request"]
		}
		return c.fits(def, m.Method, m.Params)
	}
	method, asked := c.asked[sender+string(m.ID)]
	if !asked {
		return fmt.Errorf("an answer to nothing: %.200s", line)
	}
	delete(c.asked, sender+string(m.ID))
	if m.Error != nil {
		return c.fits("Error", method, m.Error)
	}
	return c.fits(c.methods[sender+" "+method+" Response"], method, m.Result)
}

// fits validates a value against a definition.
func (c *Checker) fits(def, method string, raw json.RawMessage) error {
	if def == "" {
		return fmt.Errorf("the schema has no %s", method)
	}
	r := c.resolved[def]
	if r == nil {
		defs, err := c.reachable(def)
		if err != nil {
			return err
		}
		s := &jsonschema.Schema{Ref: "#/$defs/" + def, Defs: defs}
		if r, err = s.Resolve(nil); err != nil {
			return fmt.Errorf("%s: %w", def, err)
		}
		c.resolved[def] = r
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if err := r.Validate(value); err != nil {
		return fmt.Errorf("%s is no %s: %w\n%.2000s", method, def, err, raw)
	}
	return nil
}

var reference = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"\$ref":\s*"#/\$defs/([^"]+)"`)
})

// reachable decodes a definition and everything that it refers to. A schema can be resolved only once, and
// resolving all definitions for each message takes half a second.
func (c *Checker) reachable(def string) (map[string]*jsonschema.Schema, error) {
	found := map[string]*jsonschema.Schema{}
	for open := []string{def}; len(open) > 0; {
		name := open[len(open)-1]
		open = open[:len(open)-1]
		if found[name] != nil {
			continue
		}
		s := &jsonschema.Schema{}
		if err := json.Unmarshal(c.defs[name], s); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		found[name] = s
		for _, m := range reference().FindAllSubmatch(c.defs[name], -1) {
			open = append(open, string(m[1]))
		}
	}
	return found, nil
}
