package host

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// The request of OTLP 1.x in its JSON encoding, as far as needed here:
// https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding. 64-bit numbers are strings, ids are
// hexadecimal.
type (
	otlpRequest struct {
		ResourceSpans []otlpResourceSpans `json:"resourceSpans"`
	}
	otlpResourceSpans struct {
		Resource   otlpResource     `json:"resource"`
		ScopeSpans []otlpScopeSpans `json:"scopeSpans"`
	}
	otlpResource struct {
		Attributes []otlpAttribute `json:"attributes"`
	}
	otlpScopeSpans struct {
		Scope struct {
			Name string `json:"name"`
		} `json:"scope"`
		Spans []otlpSpan `json:"spans"`
	}
	otlpSpan struct {
		TraceID    string          `json:"traceId"`
		SpanID     string          `json:"spanId"`
		Parent     string          `json:"parentSpanId,omitempty"`
		Name       string          `json:"name"`
		Kind       int             `json:"kind"`
		Start      string          `json:"startTimeUnixNano"`
		End        string          `json:"endTimeUnixNano"`
		Attributes []otlpAttribute `json:"attributes"`
		Links      []otlpLink      `json:"links,omitempty"`
		Status     *otlpStatus     `json:"status,omitempty"`
	}
	otlpLink struct {
		TraceID string `json:"traceId"`
		SpanID  string `json:"spanId"`
	}
	otlpStatus struct {
		Code int `json:"code"`
	}
	otlpAttribute struct {
		Key   string    `json:"key"`
		Value otlpValue `json:"value"`
	}
	otlpValue struct {
		String *string  `json:"stringValue,omitempty"`
		Int    *string  `json:"intValue,omitempty"`
		Double *float64 `json:"doubleValue,omitempty"`
		Bool   *bool    `json:"boolValue,omitempty"`
	}
)

const (
	kindInternal = 1 // SPAN_KIND_INTERNAL
	statusError  = 2 // STATUS_CODE_ERROR
)

// encode encodes spans as the body of a request.
func encode(t TelemetryTrace, resource map[string]string, spans []span) ([]byte, error) {
	own := make(map[string]any, len(resource))
	for k, v := range resource {
		own[k] = v
	}
	scope := otlpScopeSpans{Spans: make([]otlpSpan, 0, len(spans))}
	scope.Scope.Name = "github.com/arbiter-cli/arbiter"
	for _, s := range spans {
		o := otlpSpan{TraceID: t.id, SpanID: s.id, Parent: s.parent, Name: s.name, Kind: kindInternal,
			Start: strconv.FormatInt(s.begin.UnixNano(), 10), End: strconv.FormatInt(s.end.UnixNano(), 10),
			Attributes: attributesOf(s.attributes)}
		if s.link != "" {
			o.Links = []otlpLink{{t.id, s.link}}
		}
		if s.failed {
			o.Status = &otlpStatus{statusError}
		}
		scope.Spans = append(scope.Spans, o)
	}
	return json.Marshal(otlpRequest{[]otlpResourceSpans{{otlpResource{attributesOf(own)}, []otlpScopeSpans{scope}}}})
}

// attributesOf converts attributes, sorted by name. Attributes without a value are omitted.
func attributesOf(m map[string]any) []otlpAttribute {
	list := make([]otlpAttribute, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		var v otlpValue
		switch x := m[k].(type) {
		case string:
			if x == "" {
				continue
			}
			v.String = &x
		case int64:
			text := strconv.FormatInt(x, 10)
			v.Int = &text
		case float64:
			v.Double = &x
		case bool:
			v.Bool = &x
		}
		list = append(list, otlpAttribute{k, v})
	}
	return list
}
