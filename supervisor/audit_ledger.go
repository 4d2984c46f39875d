package supervisor

import (
	"context"
	"fmt"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// AuditLedger lists the messages of a run, and what happened to them according to the event log;
// [Messages.Close] adds what the last state knows.
func AuditLedger(ctx context.Context, log *journal.EventLog) (ledger Messages, h journal.LogHealth, err error) {
	h, err = log.Each(ctx, journal.LogPosition{}, func(e journal.LogEntry) error {
		if e.Record != nil {
			return ledgerRecord(&ledger, e)
		}
		switch contract.EventNameOf(e.Line) {
		case contract.Message{}.EventName(), contract.Delivered{}.EventName():
		default:
			return nil
		}
		event, err := contract.DecodeWritten(e.Line)
		if err != nil {
			return fmt.Errorf("read line %d of the event log: %w", e.N, err)
		}
		switch b := event.Body.(type) {
		case contract.Message:
			ledger.AddMessage(e.At, b)
		case contract.Delivered:
			ledger.Delivered(b.MessageID)
		}
		return nil
	})
	return ledger, h, err
}

// ledgerRecord applies a record about messages.
func ledgerRecord(ledger *Messages, e journal.LogEntry) error {
	r, err := DecodeRecord(e)
	if err != nil {
		return err
	}
	switch r.Kind {
	case KindDemoted:
		for _, id := range r.MessageIDs {
			ledger.Demoted(id)
		}
	case KindAudit:
		if id, _ := r.Detail["message_id"].(string); r.What == "sent" {
			ledger.Sent(id)
		}
	}
	return nil
}
