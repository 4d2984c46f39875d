// Package egress is the way of a confined process to the network: a small HTTP proxy that connects to the hosts of
// a list, and to no other.
//
// A sandbox has a network namespace of its own, in which only its own loopback exists. A socket belongs to the
// namespace in which it was made: the sandbox makes listeners inside and hands them to [Proxy], which accepts
// connections from inside and connects outside. So each process tree has a proxy of its own, nothing has to be
// visible in the sandbox, and no tree can use the list of another.
//
// # What is let through
//
// CONNECT, and plain HTTP with an absolute URI; the host and the port come from there alone, never from a Host
// field. A name is resolved once, and only after it was found in the list: a name that is not listed reaches no name
// server. The connection goes to an address that was checked. Addresses that are not public (loopback, private,
// link-local, and those that embed others) are refused unless the list names the address itself. If a tunnel begins
// with TLS, the server's name in it must be the host of the tunnel: otherwise a server that serves many sites would
// serve one that is not listed.
//
// A listed address of the host's loopback is forwarded as it is: the same address inside leads there, for any
// protocol ([Rules.Forwards]).
//
// What is sent to a listed host is not inspected. Anyone who can write to such a host can send data there.
//
// # Goroutines
//
// Those of a Proxy end when [Proxy.Close] returns: it closes the listeners and all connections.
package egress
