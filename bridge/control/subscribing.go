package control

import (
	"fmt"

	"github.com/sourcegraph/jsonrpc2"
)

// subscribe reads what a client wants to hear. A connection has one subscription.
func (c *client) subscribe(req *jsonrpc2.Request) (SubscribeParams, error) {
	var p SubscribeParams
	if err := params(req, &p); err != nil {
		return p, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.subscribed {
		return p, &jsonrpc2.Error{Code: CodeFailed, Message: "this connection has a subscription already"}
	}
	c.subscribed = true
	return p, nil
}

// notify sends a part of a subscription.
func (c *client) notify(part any) error {
	var method string
	switch part.(type) {
	case Events:
		method = NotifyEvents
	case StateChange:
		method = NotifyState
	case RunEnded:
		method = NotifyRunEnded
	default:
		return fmt.Errorf("control: %T is no part of a subscription", part)
	}
	return c.conn.Notify(c.ctx, method, part)
}

// put hands a frontend's command in.
func (c *client) put(req *jsonrpc2.Request) error {
	var p PutParams
	if err := params(req, &p); err != nil {
		return err
	}
	return c.s.service.Put(c.ctx, p)
}
