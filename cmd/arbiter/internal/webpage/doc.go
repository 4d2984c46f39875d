// Package webpage serves one page that follows a live run and answers what waits for the human.
//
// The page is only a client of the run's control socket: it shows what the socket reports, and sends commands of
// the contract. Text of agents is not trusted: it is bounded and sanitized here, and the page shows it as text
// nodes, never as markup.
//
// # Access
//
// Anyone can open the page with the link that the command prints. The token in the link works once. The browser
// that redeems it gets two secrets of this process: a cookie, which scripts cannot read, and a key in the link's
// fragment, which the page stores in its origin's storage and sends with each request for data. Both are needed. A
// cookie alone would be sent to every server on the same host, regardless of the port, including one that an agent
// has started.
//
// Before that, [guard] refuses requests for unknown host names (DNS rebinding) and from pages of other origins.
//
// # Goroutines
//
// [Server.Serve] owns the listener and waits for all handlers. The handler of a stream owns a connection to the run
// and a goroutine that asks for its status, and waits for both.
package webpage
