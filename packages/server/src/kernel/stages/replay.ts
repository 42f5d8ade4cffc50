import { createHash, hash } from "node:crypto"
import type { Readable } from "node:stream"
import { isReplayed, type Operation, type Reply } from "@svc/contract"
import { canonicalJson } from "../canonical-json.ts"
import type { Db } from "../db/database.ts"
import { parseJson } from "../exact-json.ts"
import type { Exchange, ReplayClaim, Stage } from "../exchange.ts"
import { fault } from "../fault.ts"
import type { Sealer } from "../needs.ts"
import type { ClaimKey, Replays } from "../replays.ts"

const VALID_KEY = /^[\x21-\x7e]{1,255}$/

/**
 * A reply with a secret that is shown once is kept sealed, so that a caller who lost it gets it whole, and nobody else
 * from the database. It is the one kind of body that is kept as a string.
 */
const createKeeping = (sealer: Sealer, { secrets }: Operation, key: ClaimKey) => {
  const context = `replay:${key.callerId}:${key.method}:${key.path}:${key.idempotencyKey}`
  return {
    closed: async (reply: Reply): Promise<Reply> =>
      secrets && reply.body !== undefined
        ? { ...reply, body: await sealer.seal(key.tenantId, context, JSON.stringify(reply.body)) }
        : reply,
    opened: async (reply: Reply): Promise<Reply> =>
      secrets && typeof reply.body === "string"
        ? { ...reply, body: parseJson(await sealer.open(key.tenantId, context, reply.body)) }
        : reply,
  }
}

/** Answers a repeated Idempotency-Key with the first reply, for 24 hours (specification 8.5). */
export const replay =
  (replays: Replays, sealer: Sealer): Stage =>
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
    return claim(replays, exchange, key, createKeeping(sealer, operation, key))
  }

const PATH_LENGTH_MAX = 512

/** The path is part of a primary key, and object keys make paths longer than an index takes. */
const boundedPath = (path: string): string =>
  path.length <= PATH_LENGTH_MAX ? path : `sha256:${hash("sha256", path)}`

const isBytes = ({ content }: Operation): boolean => (content?.request ?? "json") !== "json"

/** Headers that say what to do with the bytes of a body, or what to keep with them. */
const MEANINGFUL =
  /^(?:content-(?:type|encoding|disposition|language)|cache-control|expires|if-.+|upload-.+|x-svc-meta-.+|x-amz-(?:meta-.+|copy-source.*|metadata-directive|acl))$/

const meaningfulHeaders = ({ operation, incoming }: Exchange): readonly (readonly [string, unknown])[] =>
  isBytes(operation)
    ? incoming
        .headerNames()
        .filter(name => MEANINGFUL.test(name))
        .sort()
        .map(name => [name, incoming.header(name)] as const)
    : []

/** Hashes the bytes of a body while its handler reads them. */
const createBodyWatch = () => {
  let watched: Readable | undefined
  let isWhole = false
  const sha256 = createHash("sha256")
  return {
    watch(stream: Readable) {
      if (watched === stream) return
      watched = stream
      // Paused, a stream does not begin to flow for this listener; it hears what the handler reads.
      stream
        .pause()
        .on("data", (chunk: Buffer) => sha256.update(chunk))
        .on("end", () => {
          isWhole = true
        })
    },
    isWhole: () => isWhole,
    digest: () => (isWhole ? sha256.copy().digest() : undefined),
  }
}

const digestOf = async (stream: Readable): Promise<Buffer> => {
  const sha256 = createHash("sha256")
  for await (const chunk of stream) sha256.update(chunk)
  return sha256.digest()
}

const inUse = () => fault("idempotency_key_in_use", undefined, { headers: { "retry-after": "1" } })

const claim = async (
  replays: Replays,
  exchange: Exchange,
  key: ClaimKey,
  { closed, opened }: ReturnType<typeof createKeeping>,
): Promise<Reply | undefined> => {
  const digest = createHash("sha256")
    .update(canonicalJson([exchange.project?.id ?? null, exchange.input, meaningfulHeaders(exchange)]))
    .digest()
  const claimed = await replays.claim(key, digest, exchange.nowMs)
  if (claimed.state === "mismatch") throw fault("idempotency_key_mismatch")
  if (claimed.state === "in_flight") throw inUse()
  if (claimed.state === "done") {
    const { bodyDigest } = claimed
    if (bodyDigest && !bodyDigest.equals(await digestOf(exchange.incoming.stream())))
      throw fault("idempotency_key_mismatch")
    const reply = await opened(claimed.reply)
    return { ...reply, headers: { ...reply.headers, "idempotent-replayed": "true" } }
  }
  const body = isBytes(exchange.operation) ? createBodyWatch() : undefined
  exchange.replay = {
    settled: false,
    ...(body && { body }),
    settle: async (db, reply) => {
      // Thrown inside the transaction of the effect, this takes the effect back: the retry has it.
      if (!(await replays.settle(db, key, claimed.token, await closed(reply), body?.digest()))) throw inUse()
    },
    release: () => replays.release(key, claimed.token),
  }
  return undefined
}

/** Errors that ask for a retry or for other credentials are not stored for replays. */
const remembers = ({ status }: Reply): boolean => status < 500 && ![401, 403, 408, 429].includes(status)

/** What was refused before all of its bytes came cannot be told from another request, and had no effect. */
const isComparable = ({ body }: ReplayClaim, { status }: Reply): boolean =>
  status < 400 || !body || body.isWhole()

/** The end of a call that claimed a key: its answer is stored (if not with the effect already) or the key given back. */
export const conclude = async (claim: ReplayClaim, db: Db, reply: Reply): Promise<void> => {
  if (claim.settled) return
  await (remembers(reply) && isComparable(claim, reply) ? claim.settle(db, reply) : claim.release())
}
