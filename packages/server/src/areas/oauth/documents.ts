/** Client id metadata documents: a client's id is the URL where it says of itself what others say as they register. */
import { areas } from "@svc/contract"
import { createSemaphore } from "../../kernel/concurrency/semaphore.ts"
import type { Db } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { isJsonObject } from "../../kernel/json-object.ts"
import type { Outbound } from "../../kernel/outbound/outbound.ts"
import { contentCheck } from "../../kernel/validation.ts"
import { type ClientFields, describeClient } from "./clients.ts"
import { type ClientRow, clientStore } from "./store.ts"

const FRESH_MS = 3_600_000
const BYTES_MAX = 65_536
const TIMEOUT_MS = 5_000
const FETCHED_AT_ONCE_MAX = 8
const WAITING_MAX = 32

const problemOf = contentCheck(areas.oauth.specs.register.body)

const unusable = (reason: string) => fault("oauth_invalid_client_metadata", { reason })

/** What stands in the document, of the client that it is about. */
const readDocument = (id: string, text: string): ClientFields => {
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch {
    throw unusable("its document is not JSON")
  }
  if (!isJsonObject(document)) throw unusable("its document is not a JSON object")
  // Otherwise anyone could serve a copy of another's.
  if (document.client_id !== id) throw unusable("its document is of another client")
  const method = document.token_endpoint_auth_method ?? "none"
  if (method !== "none" || document.client_secret !== undefined)
    throw unusable("a client of a document has no secret")
  const { token_endpoint_auth_method: _, ...fields } = document
  const problem = problemOf(fields)
  if (problem !== undefined) throw unusable(problem)
  return fields as unknown as ClientFields
}

export const createDocuments = (outbound: Pick<Outbound, "request">) => {
  const semaphore = createSemaphore(FETCHED_AT_ONCE_MAX, {
    waitingMax: WAITING_MAX,
    full: () =>
      fault(
        "service_unavailable",
        { reason: "too many documents are being read" },
        { headers: { "retry-after": "2" } },
      ),
  })

  const read = async (id: string): Promise<ClientFields> => {
    const answer = await outbound.request({
      url: id,
      headers: { accept: "application/json" },
      timeoutMs: TIMEOUT_MS,
      responseBytesMax: BYTES_MAX,
      overflow: "fail",
    })
    if (answer.kind !== "answered") throw unusable(answer.message)
    if (answer.status !== 200) throw unusable(`its document answers ${answer.status}`)
    return readDocument(id, answer.body.toString("utf8"))
  }

  return {
    /** What has a path: a mere origin names no document. The guarded client refuses plain http but where it is allowed. */
    isDocument(id: string): boolean {
      if (!/^https?:\/\//.test(id) || !URL.canParse(id)) return false
      const url = new URL(id)
      return url.pathname.length > 1 && url.hash === "" && url.username === "" && url.href === id
    },

    async find(db: Db, id: string, now: Date): Promise<ClientRow> {
      const known = await clientStore(db).find(id)
      if (known?.fetched_at && now.getTime() - known.fetched_at.getTime() < FRESH_MS) return known
      const facts = describeClient(await semaphore.run(() => read(id)))
      const row = { ...facts, id, secret_hash: null, created_at: known?.created_at ?? now, fetched_at: now }
      await clientStore(db).replace(row)
      return row
    },
  }
}

export type Documents = ReturnType<typeof createDocuments>
