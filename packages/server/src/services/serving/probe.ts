/** Whether a program is ready for requests. */
import { request as httpRequest } from "node:http"
import { setTimeout as delay } from "node:timers/promises"
import type { Workload } from "./workload.ts"

/** One look. */
export type Probe = () => Promise<boolean>

const LOOK_EVERY_MS = 25
/** A program that takes long to start is not asked all the time. */
const LOOK_EVERY_MS_MAX = 500

/** A program that listens nowhere has started when it runs for so long. */
const LASTING_MS = 1_000

/** It runs on; there is nothing that it could be asked. */
export const lasting = (): Probe => {
  const sinceMs = performance.now()
  return async () => performance.now() - sinceMs >= LASTING_MS
}

/** It accepts connections on the port; who only looks sends nothing. */
export const listening =
  ({ guest }: Workload, port: number): Probe =>
  async () => {
    const connection = await guest.connect(port).catch(() => undefined)
    connection?.destroy()
    return connection !== undefined
  }

/** It answers a GET of the path with a status below 400 in time. */
export const answering =
  ({ guest }: Workload, port: number, path: string, timeoutMs: number): Probe =>
  async () => {
    const connection = await guest.connect(port).catch(() => undefined)
    if (!connection) return false
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const timer = setTimeout(() => resolve(false), timeoutMs)
    httpRequest({
      ...{ method: "GET", path, createConnection: () => connection },
      headers: { host: "localhost", "user-agent": "svc-health-check", connection: "close" },
    })
      .on("response", response => {
        response.resume()
        resolve((response.statusCode ?? 500) < 400)
      })
      .on("error", () => resolve(false))
      .end()
    try {
      return await promise
    } finally {
      clearTimeout(timer)
      connection.destroy()
    }
  }

/** Looks until it is ready or has ended; true when it is ready. */
export const awaitReady = async ({ ended }: Pick<Workload, "ended">, probe: Probe): Promise<boolean> => {
  let hasEnded = false
  void ended.then(() => {
    hasEnded = true
  })
  for (let waitMs = LOOK_EVERY_MS; !hasEnded; waitMs = Math.min(waitMs * 1.2, LOOK_EVERY_MS_MAX)) {
    if (await probe()) return true
    await delay(waitMs)
  }
  return false
}
