package control

import (
	"fmt"

	"github.com/sourcegraph/jsonrpc2"
)

// subscribe reads what a client wants to receive. A connection has one subscription.
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
	switch part := part.(type) {
	case Events:
		return c.stream.WriteObject(newNotification(NotifyEvents, part))
	case StateChange:
		return c.stream.WriteObject(newNotification(NotifyState, part))
	case RunEnded:
		return c.stream.WriteObject(newNotification(NotifyRunEnded, part))
	}
	return fmt.Errorf("control: %T is not part of a subscription", part)
}

// put submits a frontend's command.
func (c *client) put(req *jsonrpc2.Request) error {
	var p PutParams
	if err := params(req, &p); err != nil {
		return err
	}
	return c.s.service.Put(c.ctx, p)
}
