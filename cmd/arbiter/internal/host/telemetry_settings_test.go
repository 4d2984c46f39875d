package host

import (
	"strings"
	"testing"
	"time"
)

func TestFromEnvironment(t *testing.T) {
	for _, c := range []struct {
		name, env string // see environment
		url, err  string
	}{
		{name: "nothing"},
		{name: "a collector", env: "+ENDPOINT=http://h:4318", url: "http://h:4318/v1/traces"},
		{name: "below a path", env: "+ENDPOINT=https://h/x/", url: "https://h/x/v1/traces"},
		{name: "for traces", env: "+ENDPOINT=http://h +TRACES_ENDPOINT=http://t/y", url: "http://t/y"},
		{name: "disabled", env: "+ENDPOINT=http://h OTEL_SDK_DISABLED=true"},
		{name: "no exporter", env: "+ENDPOINT=http://h OTEL_TRACES_EXPORTER=none"},
		{name: "two exporters", env: "+ENDPOINT=http://h OTEL_TRACES_EXPORTER=console,otlp", url: "http://h/v1/traces"},
		{name: "protobuf", env: "+ENDPOINT=http://h +PROTOCOL=http/protobuf", url: "http://h/v1/traces"},
		{name: "grpc", env: "+ENDPOINT=http://h +PROTOCOL=grpc", err: "OTEL_EXPORTER_OTLP_PROTOCOL is grpc"},
		{name: "no URL", env: "+ENDPOINT=h:4318", err: "OTEL_EXPORTER_OTLP_ENDPOINT is not the URL"},
		{name: "headers", env: "+ENDPOINT=http://h +HEADERS=key", err: "OTEL_EXPORTER_OTLP_HEADERS: it is not a list"},
		{name: "attributes", env: "+ENDPOINT=http://h OTEL_RESOURCE_ATTRIBUTES=a=%zz",
			err: "OTEL_RESOURCE_ATTRIBUTES: "},
		{name: "timeout", env: "+ENDPOINT=http://h +TRACES_TIMEOUT=10s",
			err: "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT is not a number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := FromEnvironment(environmentTelemetry(c.env))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want one of %q", err, c.err)
				}
			} else if err != nil || got.URL != c.url {
				t.Errorf("%q, %v; want %q", got.URL, err, c.url)
			}
		})
	}
	s, err := FromEnvironment(environmentTelemetry("+ENDPOINT=http://h +HEADERS=a=1,Authorization=Bearer%20k " +
		"OTEL_RESOURCE_ATTRIBUTES=team=weavers,service.name=x OTEL_SERVICE_NAME=loom +TIMEOUT=1500 TRACEPARENT=tp"))
	if err != nil || s.Header.Get("Authorization") != "Bearer k" || s.Header.Get("A") != "1" ||
		s.Resource["team"] != "weavers" || s.Resource["service.name"] != "loom" ||
		s.Timeout != 1500*time.Millisecond || s.Traceparent != "tp" {
		t.Errorf("%+v, %v", s, err)
	}
}

// environmentTelemetry returns a getenv for entries separated by spaces; + stands for OTEL_EXPORTER_OTLP_.
func environmentTelemetry(entries string) func(string) string {
	entries = strings.ReplaceAll(entries, "+", "OTEL_EXPORTER_OTLP_")
	return func(name string) string {
		for _, entry := range strings.Fields(entries) {
			if value, found := strings.CutPrefix(entry, name+"="); found {
				return value
			}
		}
		return ""
	}
}
