import { once } from "node:events"
import { createServer } from "node:net"

// Below the ranges from which systems give out ports by themselves (Linux 32768, the IANA's 49152), so that no
// other test's connection takes one between here and the server that is to have it.
const [FIRST, LAST] = [12_000, 31_999] as const

/** A TCP port on which nothing listens, for a server that must be told which to take. */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST + 1))
    const server = createServer().listen(port, "127.0.0.1")
    try {
      await once(server, "listening")
    } catch {
      // Somebody has it: another one.
      continue
    }
    server.close()
    await once(server, "close")
    return port
  }
}
