// Package webpage serves one page that follows a run live and answers what waits for a human.
//
// The page is a client of the run's control socket only: it shows what the socket reports, and sends commands of the
// contract. Text of agents is not trusted: it is bounded and sanitized here, and the page shows it as text nodes, never
// as markup.
//
// # Access
//
// Anyone who opens the link that the command prints. Its token works once. The browser that redeems it gets two secrets
// of this process: a cookie, which scripts cannot read, and a key in the link's fragment, which the page keeps in its
// origin's storage and sends with each request for data. Both are needed. A cookie alone would reach every server on
// the same host, whatever its port: also one that an agent has started.
//
// Before that, [guard] refuses foreign names of this host (DNS rebinding) and pages of other origins.
//
// # Goroutines
//
// [Server.Serve] owns the listener and waits for all handlers. The handler of a stream owns a connection to the run
// and a goroutine that asks for its status, and waits for both.
package webpage
