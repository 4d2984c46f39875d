package standin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// schema is the subset of JSON Schema that verdicts use. Complaints are worded
// and ordered as the CLI's validator does it, because models read them.
type schema struct {
	types      []string
	enum       []json.RawMessage
	constant   json.RawMessage
	required   []string
	closed     bool    // additionalProperties: false
	extra      *schema // additionalProperties: {…}
	properties []property
	items      *schema
	minLength  *float64
	maxLength  *float64
	pattern    *regexp.Regexp
	minimum    *float64
	maximum    *float64
	minItems   *float64
	maxItems   *float64
}

// property keeps the order of the schema's text.
type property struct {
	name   string
	schema *schema
}

var schemaTypes = []string{"object", "array", "string", "number", "integer", "boolean", "null"}

// parseSchema reads a schema; keywords outside the subset are ignored.
func parseSchema(raw json.RawMessage) (*schema, error) {
	var w struct {
		Type       json.RawMessage   `json:"type"`
		Enum       []json.RawMessage `json:"enum"`
		Const      json.RawMessage   `json:"const"`
		Required   []string          `json:"required"`
		Additional json.RawMessage   `json:"additionalProperties"`
		Properties json.RawMessage   `json:"properties"`
		Items      json.RawMessage   `json:"items"`
		MinLength  *float64          `json:"minLength"`
		MaxLength  *float64          `json:"maxLength"`
		Pattern    string            `json:"pattern"`
		Minimum    *float64          `json:"minimum"`
		Maximum    *float64          `json:"maximum"`
		MinItems   *float64          `json:"minItems"`
		MaxItems   *float64          `json:"maxItems"`
	}
	if string(bytes.TrimSpace(raw)) == "true" {
		return &schema{}, nil
	}
	if err := json.Unmarshal(raw, &w); err != nil {
		return nil, fmt.Errorf("data must be object,boolean: %w", err)
	}
	s := &schema{enum: w.Enum, constant: w.Const, required: w.Required, minLength: w.MinLength, maxLength: w.MaxLength,
		minimum: w.Minimum, maximum: w.Maximum, minItems: w.MinItems, maxItems: w.MaxItems}
	var err error
	if s.types, err = parseTypes(w.Type); err != nil {
		return nil, err
	}
	if w.Pattern != "" {
		if s.pattern, err = regexp.Compile(w.Pattern); err != nil {
			return nil, fmt.Errorf("data/pattern must match format \"regex\": %w", err)
		}
	}
	if s.properties, err = parseProperties(w.Properties); err != nil {
		return nil, err
	}
	switch a := string(bytes.TrimSpace(w.Additional)); {
	case a == "false":
		s.closed = true
	case a != "" && a != "true":
		if s.extra, err = parseSchema(w.Additional); err != nil {
			return nil, err
		}
	}
	if len(w.Items) > 0 {
		s.items, err = parseSchema(w.Items)
	}
	return s, err
}

func parseTypes(raw json.RawMessage) ([]string, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var list []string
	var single string
	if json.Unmarshal(raw, &single) == nil {
		list = []string{single}
	} else if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("data/type must be equal to one of the allowed values")
	}
	for _, t := range list {
		if !slices.Contains(schemaTypes, t) {
			return nil, fmt.Errorf("data/type must be equal to one of the allowed values")
		}
	}
	return list, nil
}

func parseProperties(raw json.RawMessage) ([]property, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("data/properties must be object")
	}
	var out []property
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		var sub json.RawMessage
		if err := d.Decode(&sub); err != nil {
			return nil, err
		}
		s, err := parseSchema(sub)
		if err != nil {
			return nil, err
		}
		out = append(out, property{name.(string), s})
	}
	return out, nil
}

// complaints lists all that is wrong with a value.
func (s *schema) complaints(path string, v any) []string {
	at := func(format string, args ...any) string {
		where := path
		if where == "" {
			where = "root"
		}
		return where + ": " + fmt.Sprintf(format, args...)
	}
	var out []string
	if len(s.types) > 0 && !slices.ContainsFunc(s.types, func(t string) bool { return isType(v, t) }) {
		out = append(out, at("must be %s", strings.Join(s.types, ",")))
	}
	if len(s.enum) > 0 && !slices.ContainsFunc(s.enum, func(e json.RawMessage) bool { return sameJSON(e, v) }) {
		out = append(out, at("must be equal to one of the allowed values: %s", encode(s.enum)))
	}
	if len(s.constant) > 0 && !sameJSON(s.constant, v) {
		out = append(out, at("must be equal to constant"))
	}
	switch v := v.(type) {
	case string:
		out = append(out, s.stringComplaints(at, v)...)
	case float64:
		if s.maximum != nil && v > *s.maximum {
			out = append(out, at("must be <= %v", *s.maximum))
		}
		if s.minimum != nil && v < *s.minimum {
			out = append(out, at("must be >= %v", *s.minimum))
		}
	case []any:
		out = append(out, s.arrayComplaints(at, path, v)...)
	case map[string]any:
		out = append(out, s.objectComplaints(at, path, v)...)
	}
	return out
}

func (s *schema) stringComplaints(at func(string, ...any) string, v string) (out []string) {
	n := float64(utf8.RuneCountInString(v))
	if s.maxLength != nil && n > *s.maxLength {
		out = append(out, at("must NOT have more than %v characters", *s.maxLength))
	}
	if s.minLength != nil && n < *s.minLength {
		out = append(out, at("must NOT have fewer than %v characters", *s.minLength))
	}
	if s.pattern != nil && !s.pattern.MatchString(v) {
		out = append(out, at("must match pattern %q", s.pattern.String()))
	}
	return out
}

func (s *schema) arrayComplaints(at func(string, ...any) string, path string, v []any) (out []string) {
	if s.maxItems != nil && float64(len(v)) > *s.maxItems {
		out = append(out, at("must NOT have more than %v items", *s.maxItems))
	}
	if s.minItems != nil && float64(len(v)) < *s.minItems {
		out = append(out, at("must NOT have fewer than %v items", *s.minItems))
	}
	if s.items != nil {
		for i, e := range v {
			out = append(out, s.items.complaints(fmt.Sprintf("%s/%d", path, i), e)...)
		}
	}
	return out
}

func (s *schema) objectComplaints(at func(string, ...any) string, path string, v map[string]any) (out []string) {
	for _, name := range s.required {
		if _, ok := v[name]; !ok {
			out = append(out, at("must have required property '%s'", name))
		}
	}
	known := map[string]bool{}
	for _, p := range s.properties {
		known[p.name] = true
	}
	if s.closed || s.extra != nil {
		for _, name := range slices.Sorted(maps.Keys(v)) {
			switch {
			case known[name]:
			case s.closed:
				out = append(out, at("must NOT have additional properties ('%s' is not allowed)", name))
			default:
				out = append(out, s.extra.complaints(path+"/"+name, v[name])...)
			}
		}
	}
	for _, p := range s.properties {
		if e, ok := v[p.name]; ok {
			out = append(out, p.schema.complaints(path+"/"+p.name, e)...)
		}
	}
	return out
}

func isType(v any, t string) bool {
	switch v := v.(type) {
	case nil:
		return t == "null"
	case bool:
		return t == "boolean"
	case string:
		return t == "string"
	case float64:
		return t == "number" || t == "integer" && v == math.Trunc(v)
	case []any:
		return t == "array"
	case map[string]any:
		return t == "object"
	}
	return false
}

func sameJSON(raw json.RawMessage, v any) bool {
	var w any
	if json.Unmarshal(raw, &w) != nil {
		return false
	}
	return bytes.Equal(encode(w), encode(v))
}
