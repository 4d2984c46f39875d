package bridge

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/sourcegraph/jsonrpc2"
)

// Is makes an error of a bridge that is shutting down match [ErrClosed]: such a bridge starts nothing new
// and will soon end.
func (e *RPCError) Is(target error) bool { return target == ErrClosed && e.Code == CodeShuttingDown }

func rpcErrorf(code int, message string) *RPCError { return &RPCError{Code: code, Message: message} }

// toWire converts the error of a failed request to an error response.
func toWire(err error) *jsonrpc2.Error {
	var e *RPCError
	switch {
	case errors.As(err, &e):
	case errors.Is(err, context.DeadlineExceeded):
		e = &RPCError{Code: CodeTimeout, Category: CatTimeout, Message: err.Error()}
	case errors.Is(err, context.Canceled):
		e = &RPCError{Code: CodeCancelled, Message: "the request was cancelled"}
	default:
		e = &RPCError{Code: jsonrpc2.CodeInternalError, Category: CatInternal, Message: err.Error()}
	}
	wire := &jsonrpc2.Error{Code: int64(e.Code), Message: e.Message}
	if e.Message == "" {
		wire.Message = err.Error()
	}
	if data := (ErrorData{e.Category, e.Stderr, e.CostUSD, e.ResetsAt}); data != (ErrorData{}) {
		wire.SetError(data)
	}
	return wire
}

// fromWire is its inverse. It ignores data in another format.
func fromWire(wire *jsonrpc2.Error) *RPCError {
	e := &RPCError{Code: int(wire.Code), Message: wire.Message}
	if wire.Data != nil {
		var data ErrorData
		if json.Unmarshal(*wire.Data, &data) == nil {
			e.Category, e.Stderr, e.CostUSD, e.ResetsAt = data.Category, data.Stderr, data.CostUSD, data.ResetsAt
		}
	}
	return e
}
