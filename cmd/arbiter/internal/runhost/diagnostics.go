package runhost

import (
	"log/slog"
	"os"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/crashlog"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/telemetry"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
)

// lastSpans is how long the end of a run's process waits for the collector, when all else is done.
const lastSpans = time.Second

// diagnostics is what the process of a run leaves for those who look into it: a log, crash reports, and spans. The zero
// value has none of them.
type diagnostics struct {
	mask      func(string) string // masks secrets
	file      *crashlog.Log
	log       *slog.Logger
	reporter  *crashlog.Reporter
	telemetry *telemetry.Exporter // nil unless the environment names a collector
}

// openDiagnostics opens the log in the directory of a run, and a writer of crash reports there.
func openDiagnostics(dir string, mask func(string) string, debug bool) (d diagnostics, err error) {
	d.mask = mask
	if d.file, err = crashlog.OpenLog(dir, mask); err != nil {
		return d, command.Environmentf("log: %v", err)
	}
	d.log = d.file.Logger(debug)
	d.reporter = crashlog.NewReporter(crashlog.Options{Dir: dir, Version: command.Version(), Mask: mask, Log: d.log})
	return d, nil
}

// openTelemetry begins to send the spans of a run, if the environment names a collector. failed is called once, when
// that fails.
func (d *diagnostics) openTelemetry(run string, failed func(error)) error {
	settings, err := telemetry.FromEnvironment(os.Getenv)
	if err != nil {
		return err
	}
	if settings.URL != "" {
		d.telemetry = telemetry.New(settings, telemetry.NewTrace(run, settings.Traceparent), func(err error) {
			d.log.Warn("telemetry", "error", err)
			failed(err)
		})
	}
	return nil
}

// sink notes each event on its way to next: for crash reports, and as spans.
func (d *diagnostics) sink(next runloop.Sink) runloop.Sink {
	if d.telemetry == nil {
		return d.reporter.Sink(next)
	}
	return d.reporter.Sink(func(at time.Time, e contract.Event) {
		d.telemetry.Add(at, e)
		next(at, e)
	})
}

// closeTelemetry sends the last spans, but does not wait for long.
func (d *diagnostics) closeTelemetry() {
	if d.telemetry == nil {
		return
	}
	if lost := d.telemetry.Close(lastSpans); lost > 0 {
		d.log.Warn("telemetry", "spans that found no room", lost)
	}
}

// close closes the reports and the log, to which nothing is written any more.
func (d *diagnostics) close() {
	if d.reporter != nil {
		d.reporter.Close()
	}
	if d.file != nil {
		d.file.Close()
	}
}
