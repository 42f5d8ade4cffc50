import { createHash, hash } from "node:crypto"
import { isReplayed, type Operation, type Reply } from "@svc/contract"
import { canonicalJson } from "../canonical-json.ts"
import type { Db } from "../db/database.ts"
import type { Exchange, ReplayClaim, Stage } from "../exchange.ts"
import { fault } from "../fault.ts"
import type { ClaimKey, Replays } from "../replays.ts"

const VALID_KEY = /^[\x21-\x7e]{1,255}$/

/** A replay never shows a secret again. */
const withoutSecrets = (operation: Operation, body: unknown): unknown => {
  if (!operation.secrets || typeof body !== "object" || body === null) return body
  return Object.fromEntries(Object.entries(body).filter(([field]) => !operation.secrets?.includes(field)))
}

/** Answers a repeated Idempotency-Key with the first reply, for 24 hours (specification 8.5). */
export const replay =
  (replays: Replays): Stage =>
  exchange => {
    const { operation, incoming, principal } = exchange
    const idempotencyKey = incoming.header("idempotency-key")
    if (idempotencyKey === undefined || !isReplayed(operation) || principal.type === "anonymous")
      return undefined
    if (!VALID_KEY.test(idempotencyKey)) throw fault("idempotency_key_invalid")
    const key: ClaimKey = {
      tenantId: exchange.organization?.id ?? principal.id,
      callerId: principal.id,
      method: operation.method,
      path: boundedPath(incoming.path),
      idempotencyKey,
    }
    return claim(replays, exchange, key)
  }

const PATH_LENGTH_MAX = 512

/** The path is part of a primary key, and object keys make paths longer than an index takes. */
const boundedPath = (path: string): string =>
  path.length <= PATH_LENGTH_MAX ? path : `sha256:${hash("sha256", path)}`

/** What tells one body from another where it is no part of the input, because it is only read by the handler. */
const bodyHeaders = ({ operation, incoming }: Exchange): readonly (string | undefined)[] => {
  const kind = operation.content?.request ?? "json"
  return kind === "json"
    ? []
    : ["content-length", "content-type", "content-md5"].map(name => incoming.header(name))
}

const inUse = () => fault("idempotency_key_in_use", undefined, { headers: { "retry-after": "1" } })

const claim = async (replays: Replays, exchange: Exchange, key: ClaimKey): Promise<Reply | undefined> => {
  const digest = createHash("sha256")
    .update(canonicalJson([exchange.project?.id ?? null, exchange.input, ...bodyHeaders(exchange)]))
    .digest()
  const claimed = await replays.claim(key, digest, exchange.nowMs)
  if (claimed.state === "mismatch") throw fault("idempotency_key_mismatch")
  if (claimed.state === "in_flight") throw inUse()
  if (claimed.state === "done") {
    return { ...claimed.reply, headers: { ...claimed.reply.headers, "idempotent-replayed": "true" } }
  }
  exchange.replay = {
    settled: false,
    settle: async (db, reply) => {
      const shown = { ...reply, body: withoutSecrets(exchange.operation, reply.body) }
      // Thrown inside the transaction of the effect, this takes the effect back: the retry has it.
      if (!(await replays.settle(db, key, claimed.token, shown))) throw inUse()
    },
    release: () => replays.release(key, claimed.token),
  }
  return undefined
}

/** Refusals that say "try again" or "as somebody else" are not answers to remember. */
const remembers = ({ status }: Reply): boolean => status < 500 && ![401, 403, 408, 429].includes(status)

/** The end of a call that claimed a key: its answer is stored (if not with the effect already) or the key given back. */
export const conclude = async (claim: ReplayClaim, db: Db, reply: Reply): Promise<void> => {
  if (claim.settled) return
  await (remembers(reply) ? claim.settle(db, reply) : claim.release())
}
