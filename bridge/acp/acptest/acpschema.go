package acptest

import (
	"compress/gzip"
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

//go:embed schema/*.gz
var files embed.FS

// schema is the protocol's published JSON Schema.
type schema struct {
	whole *jsonschema.Resolved // of an object with a field for each definition
	// methods has the definitions by side, method and kind: "agent session/new Request".
	methods map[string]string
}

// The stable schema, and that with unstable features. Each is resolved once, which takes half a second.
var (
	stable   = sync.OnceValues(func() (*schema, error) { return load("schema/schema.json.gz") })
	unstable = sync.OnceValues(func() (*schema, error) { return load("schema/schema.unstable.json.gz") })
)

func load(name string) (*schema, error) {
	packed, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	z, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	root := &jsonschema.Schema{}
	if err := json.NewDecoder(z).Decode(&struct {
		Defs *map[string]*jsonschema.Schema `json:"$defs"`
	}{&root.Defs}); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s := &schema{methods: map[string]string{}}
	root.Properties = map[string]*jsonschema.Schema{}
	for def, d := range root.Defs {
		root.Properties[def] = &jsonschema.Schema{Ref: "#/$defs/" + def}
		if method, _ := d.Extra["x-method"].(string); method != "" {
			kind := "Request" // and notifications
			if strings.HasSuffix(def, "Response") {
				kind = "Response"
			}
			s.methods[fmt.Sprint(d.Extra["x-side"], " ", method, " ", kind)] = def
		}
	}
	s.whole, err = root.Resolve(nil)
	return s, err
}

// Checker checks the messages of one connection against the schema. Its methods are safe for concurrent use.
type Checker struct {
	*schema
	mu    sync.Mutex
	asked map[string]string // methods of open requests, by receiver and id
}

// NewChecker makes a checker for the stable schema, or for the schema with unstable features.
func NewChecker(withUnstable bool) (*Checker, error) {
	get := stable
	if withUnstable {
		get = unstable
	}
	s, err := get()
	return &Checker{schema: s, asked: map[string]string{}}, err
}

// Check checks a message. fromAgent says who sent it.
func (c *Checker) Check(fromAgent bool, line []byte) error {
	var m struct {
		JSONRPC, Method           string
		ID, Params, Result, Error json.RawMessage
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
func (s *schema) fits(def, method string, raw json.RawMessage) error {
	if def == "" {
		return fmt.Errorf("the schema has no %s", method)
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if err := s.whole.Validate(map[string]any{def: value}); err != nil {
		return fmt.Errorf("%s is no %s: %w\n%.2000s", method, def, err, raw)
	}
	return nil
}
