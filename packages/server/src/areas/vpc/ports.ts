/** UDP ports for gateways. */
import { randomInt } from "node:crypto"
import { createSocket } from "node:dgram"
import type { PortRange } from "./settings.ts"

const TRIES = 200

const isFree = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const socket = createSocket("udp4")
    socket.once("error", () => {
      socket.close()
      resolve(false)
    })
    socket.bind({ port, exclusive: true }, () => socket.close(() => resolve(true)))
  })

/** One that no network of this host has and nothing else on the machine; undefined where none is found. */
export const freePort = async (
  { first, last }: PortRange,
  taken: ReadonlySet<number>,
): Promise<number | undefined> => {
  const size = last - first + 1
  const start = randomInt(size)
  for (let step = 0; step < Math.min(size, TRIES + taken.size); step += 1) {
    const port = first + ((start + step) % size)
    if (!taken.has(port) && (await isFree(port))) return port
  }
  return undefined
}
