/** Requests to Qdrant's HTTP API, with its refusals as errors of the port. */
import { PortError } from "../../../port-error.ts"

export interface QdrantApi {
  /** The field `result` of the answer. */
  request(method: "GET" | "PUT" | "POST" | "DELETE", path: string, body?: unknown): Promise<unknown>
}

const TIMEOUT_MS = 15_000

const kindOf = (status: number) => {
  if (status === 404) return "missing"
  return status >= 500 || status === 429 || status === 408 ? "unavailable" : "refused"
}

export const createQdrantApi = ({ url, key }: { url: string; key: string | undefined }): QdrantApi => ({
  async request(method, path, body) {
    const response = await fetch(`${url}${path}`, {
      method,
      redirect: "error",
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: {
        ...(key !== undefined && { "api-key": key }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }).catch((error: unknown) => {
      throw new PortError("unavailable", "Qdrant does not answer", error)
    })
    const answer = (await response.json().catch(() => ({}))) as { result?: unknown }
    if (!response.ok) throw new PortError(kindOf(response.status), `Qdrant answered ${response.status}`)
    return answer.result
  },
})
