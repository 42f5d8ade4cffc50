/**
 * Headers of one connection, not of the message that comes by it (RFC 9110, 7.6.1; `Proxy-Connection` is browsers' own, and
 * `Expect` is answered by each on the way): who passes a message on leaves them out. Lower case.
 */
export const CONNECTION_HEADERS = [
  ...["connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"],
  "expect",
] as const
