package host

import (
	"log/slog"
	"os"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
)

// lastSpans bounds the final wait for the collector at the end of a run's process.
const lastSpans = time.Second

// diagnostics has the diagnostic output of a run's process: a log, crash reports, and spans. The zero value has
// none.
type diagnostics struct {
	mask      func(string) string // masks secrets
	file      *runstore.CrashLog
	log       *slog.Logger
	reporter  *runstore.CrashReporter
	telemetry *Exporter // nil unless the environment names a collector
}

// openDiagnostics opens the log and the writer of crash reports in the directory of a run.
func openDiagnostics(dir string, mask func(string) string, debug bool) (d diagnostics, err error) {
	d.mask = mask
	if d.file, err = runstore.OpenLog(dir, mask); err != nil {
		return d, command.Environmentf("log: %v", err)
	}
	d.log = d.file.Logger(debug)
	d.reporter = runstore.NewReporter(runstore.CrashOptions{Dir: dir, Version: command.Version(), Mask: mask, Log: d.log})
	return d, nil
}

// openTelemetry starts sending the spans of a run, if the environment names a collector. failed is called once, if
// sending fails.
func (d *diagnostics) openTelemetry(run string, failed func(error)) error {
	settings, err := FromEnvironment(os.Getenv)
	if err != nil {
		return err
	}
	if settings.URL != "" {
		d.telemetry = NewExporter(settings, NewTrace(run, settings.Traceparent), func(err error) {
			d.log.Warn("telemetry", "error", err)
			failed(err)
		})
	}
	return nil
}

// sink passes each event on to next, and records it for crash reports and spans.
func (d *diagnostics) sink(next runloop.Sink) runloop.Sink {
	if d.telemetry == nil {
		return d.reporter.Sink(next)
	}
	return d.reporter.Sink(func(at time.Time, e contract.Event) {
		d.telemetry.Add(at, e)
		next(at, e)
	})
}

// closeTelemetry sends the last spans, within a short time.
func (d *diagnostics) closeTelemetry() {
	if d.telemetry == nil {
		return
	}
	if lost := d.telemetry.Close(lastSpans); lost > 0 {
		d.log.Warn("telemetry", "spans that found no room", lost)
	}
}

// close closes the crash reports and the log. Nothing is written to them afterwards.
func (d *diagnostics) close() {
	if d.reporter != nil {
		d.reporter.Close()
	}
	if d.file != nil {
		d.file.Close()
	}
}
