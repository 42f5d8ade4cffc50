import { parseJson } from "../../../../kernel/exact-json.ts"
import { PortError } from "../../../port-error.ts"

export interface Client {
  /** Throws a PortError unless the answer is a 2xx; `missing` for 404. Numbers in the answer keep their digits. */
  send<Answer>(method: "GET" | "PUT" | "POST", path: string, body?: unknown): Promise<Answer>
}

export interface ClientOptions {
  readonly url: string
  readonly user: string | undefined
  readonly password: string | undefined
  readonly timeoutMs?: number
}

const TIMEOUT_MS = 15_000
/** Of what the engine says of itself in a log line. */
const REASON_LENGTH_MAX = 500

const kindOf = (status: number) =>
  status === 404 ? "missing" : status === 400 || status === 413 ? "refused" : "unavailable"

/** JSON over HTTP; a text is sent as the lines of a bulk request. */
export const createClient = ({ url, user, password, timeoutMs = TIMEOUT_MS }: ClientOptions): Client => {
  const credentials = user && `Basic ${Buffer.from(`${user}:${password ?? ""}`).toString("base64")}`
  return {
    async send<Answer>(method: "GET" | "PUT" | "POST", path: string, body?: unknown): Promise<Answer> {
      const isLines = typeof body === "string"
      try {
        const response = await fetch(`${url}${path}`, {
          method,
          signal: AbortSignal.timeout(timeoutMs),
          headers: {
            "content-type": isLines ? "application/x-ndjson" : "application/json",
            ...(credentials ? { authorization: credentials } : {}),
          },
          ...(body === undefined ? {} : { body: isLines ? body : JSON.stringify(body) }),
        })
        const text = await response.text()
        if (response.ok) return parseJson(text) as Answer
        throw new PortError(
          kindOf(response.status),
          `OpenSearch answered ${response.status}: ${text.slice(0, REASON_LENGTH_MAX)}`,
        )
      } catch (error) {
        if (error instanceof PortError) throw error
        throw new PortError("unavailable", "OpenSearch does not answer", error)
      }
    },
  }
}
