import { request as httpRequest } from "node:http"
import { type Connect, openConnection } from "../../services/proxy/upstream.ts"
import type { BackendConfig, HealthCheckConfig } from "./config.ts"

const isExpected = (status: number, codes: readonly string[]): boolean =>
  codes.some(code =>
    code.endsWith("xx") ? Math.floor(status / 100) === Number(code[0]) : status === Number(code),
  )

/** Why the backend is not well; undefined where it is. */
export const checkBackend = async (
  { address, port, protocol }: BackendConfig,
  check: HealthCheckConfig,
  connect: Connect,
): Promise<string | undefined> => {
  const timeoutMs = check.timeout_seconds * 1000
  const at = {
    host: address,
    port: check.port ?? port,
    protocol: protocol === "https" ? ("https" as const) : ("http" as const),
  }
  try {
    const socket = await openConnection(at, connect, timeoutMs)
    socket.on("error", () => undefined)
    if (check.protocol === "tcp") {
      socket.destroy()
      return undefined
    }
    const { promise, resolve } = Promise.withResolvers<string | undefined>()
    const asked = httpRequest({
      ...{ method: "GET", path: check.path, createConnection: () => socket, setHost: false },
      headers: { host: check.host ?? address, "user-agent": "svc-health-check", connection: "close" },
      signal: AbortSignal.timeout(timeoutMs),
    })
    asked.once("response", ({ statusCode = 0 }) => {
      resolve(isExpected(statusCode, check.status_codes) ? undefined : `it answers ${statusCode}`)
      asked.destroy()
    })
    asked.once("upgrade", () => resolve("it does not speak HTTP"))
    asked.on("error", error =>
      resolve(
        error.name === "AbortError" ? "it does not answer in time" : `the request failed: ${error.message}`,
      ),
    )
    asked.end()
    const problem = await promise
    socket.destroy()
    return problem
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
