import { connect } from "node:net"
import type pg from "pg"
import { internalsOf } from "../../services/postgres/pipeline.ts"

const CANCEL_REQUEST_CODE = 80_877_102
const CANCEL_REQUEST_BYTES = 16
const TIMEOUT_MS = 5_000

/**
 * Asks the server to end what the client's session runs (protocol, 53.2.8). A cancel takes effect whenever it gets
 * there, so a session that was sent one must not run a statement of anybody else: close it.
 */
export const cancel = (client: pg.ClientBase): void => {
  const { host, port, processID, secretKey } = internalsOf(client)
  const request = Buffer.alloc(CANCEL_REQUEST_BYTES)
  request.writeInt32BE(CANCEL_REQUEST_BYTES, 0)
  request.writeInt32BE(CANCEL_REQUEST_CODE, 4)
  request.writeInt32BE(processID, 8)
  request.writeInt32BE(secretKey, 12)
  const socket = host.startsWith("/") ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)
  socket.setTimeout(TIMEOUT_MS, () => socket.destroy())
  // The statement has its own time limit, should this not get through.
  socket.on("error", () => undefined)
  socket.end(request)
  socket.resume()
}
