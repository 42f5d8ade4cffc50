import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"

/**
 * Answers requests for host names that are somebody else's than the platform's: no route, cookie or rule of it counts
 * there. `address` is the caller's.
 */
export interface HostGate {
  claims(request: IncomingMessage): boolean
  serve(request: IncomingMessage, response: ServerResponse, address: string): void
  /** A request that wants to go on as a WebSocket. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, address: string): void
}
