package host

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// TelemetrySettings say where spans are sent.
type TelemetrySettings struct {
	URL         string // of the collector, with its path; "": telemetry is off
	Header      http.Header
	Timeout     time.Duration     // of one request
	Resource    map[string]string // attributes of this program
	Traceparent string            // of arbiter itself; "": none
}

// defaultTimeout is the request timeout of the specification.
const defaultTimeout = 10 * time.Second

// FromEnvironment reads the variables of OpenTelemetry's specification: OTEL_SDK_DISABLED, OTEL_TRACES_EXPORTER,
// OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, and of the OTEL_EXPORTER_OTLP_… family ENDPOINT, HEADERS, TIMEOUT and
// PROTOCOL with their TRACES_ variants; and TRACEPARENT. An error names the variable. Settings without a URL mean
// that telemetry is off.
func FromEnvironment(get func(string) string) (TelemetrySettings, error) {
	of := func(name string) (string, string) {
		for _, full := range []string{"OTEL_EXPORTER_OTLP_TRACES_" + name, "OTEL_EXPORTER_OTLP_" + name} {
			if value := strings.TrimSpace(get(full)); value != "" {
				return full, value
			}
		}
		return "", ""
	}
	variable, endpoint := of("ENDPOINT")
	if endpoint == "" || strings.EqualFold(get("OTEL_SDK_DISABLED"), "true") ||
		!exportsOTLP(get("OTEL_TRACES_EXPORTER")) {
		return TelemetrySettings{}, nil
	}
	if name, protocol := of("PROTOCOL"); strings.EqualFold(protocol, "grpc") {
		return TelemetrySettings{}, fmt.Errorf("%s is grpc, and arbiter sends its own spans over HTTP only: "+
			"for them set OTEL_EXPORTER_OTLP_PROTOCOL=http/json and the endpoint of the collector's HTTP port", name)
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return TelemetrySettings{}, fmt.Errorf("%s is not the URL of a collector, such as http://localhost:4318", variable)
	}
	if variable == "OTEL_EXPORTER_OTLP_ENDPOINT" {
		u = u.JoinPath("v1", "traces")
	}
	s := TelemetrySettings{URL: u.String(), Header: http.Header{}, Timeout: defaultTimeout,
		Resource: map[string]string{"service.name": "arbiter"}, Traceparent: strings.TrimSpace(get("TRACEPARENT"))}
	name, headers := of("HEADERS")
	err = eachPair(headers, func(key, value string) { s.Header.Add(key, value) })
	if err != nil {
		return TelemetrySettings{}, fmt.Errorf("%s: %w", name, err)
	}
	err = eachPair(get("OTEL_RESOURCE_ATTRIBUTES"), func(key, value string) { s.Resource[key] = value })
	if err != nil {
		return TelemetrySettings{}, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	if service := get("OTEL_SERVICE_NAME"); service != "" {
		s.Resource["service.name"] = service
	}
	if name, text := of("TIMEOUT"); text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil || ms <= 0 {
			return TelemetrySettings{}, fmt.Errorf("%s is not a number of milliseconds: %q", name, text)
		}
		s.Timeout = time.Duration(ms) * time.Millisecond
	}
	return s, nil
}

// exportsOTLP reports whether the list in OTEL_TRACES_EXPORTER includes OTLP.
func exportsOTLP(list string) bool {
	for _, name := range strings.Split(list, ",") {
		if name = strings.TrimSpace(name); name == "otlp" || name == "" && list == "" {
			return true
		}
	}
	return false
}

// eachPair calls f with the keys and values of a list such as "a=1,b=2"; values are URL-encoded.
func eachPair(list string, f func(key, value string)) error {
	for _, pair := range strings.Split(list, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, encoded, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(encoded))
		if key = strings.TrimSpace(key); !found || err != nil || key == "" {
			return errors.New("it is not a list such as key=value,key=value")
		}
		f(key, value)
	}
	return nil
}
