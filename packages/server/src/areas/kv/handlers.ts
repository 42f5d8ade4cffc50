import { areas, type Input, KV_KEY_BYTES_MAX, KV_VALUE_BYTES_MAX, type Output } from "@svc/contract"
import type { AtRest } from "../../core/secrets/at-rest.ts"
import type { Call } from "../../kernel/call.ts"
import { parseJson } from "../../kernel/exact-json.ts"
import { fault } from "../../kernel/fault.ts"
import { implement } from "../../kernel/implement.ts"
import { requireScope } from "../../kernel/scopes.ts"
import type {
  Eventually,
  KvEntry,
  KvOp,
  KvOpResult,
  KvPort,
  KvWrite,
  KvWritten,
} from "../../ports/kv/port.ts"
import { callEngine, callEngineToList } from "./call-engine.ts"

type Operations = typeof areas.kv.specs
type BatchOp = Input<Operations["batch"]>["ops"][number]
type SetOp = Input<Operations["set"]>
type GetResult = Output<Operations["get"]>
type Written = Output<Operations["set"]>

/** Keys of one delete, named in `key` and `keys` together, and of one page. */
const KEYS_MAX = 1000

/** Half of a surrogate pair has no form in UTF-8, so different keys would become the same one. */
const checkText = (name: string, text: string): void => {
  if (!text.isWellFormed()) throw fault("invalid_parameter", { reason: `${name} is not well-formed Unicode` })
}

const checkKey = (key: string): string => {
  // A character takes at most three bytes per UTF-16 unit, so most keys need no counting.
  if (key.length * 3 > KV_KEY_BYTES_MAX && Buffer.byteLength(key) > KV_KEY_BYTES_MAX) {
    throw fault("kv_key_too_large", { bytes: KV_KEY_BYTES_MAX })
  }
  checkText("key", key)
  return key
}

/** Which value it is, so that nobody who can write to the engine puts one in place of another. */
const contextOf = (owner: string, key: string): string => `kv:${owner}:${key}`

type Owner = Pick<Call, "organization" | "owner">

/** Of a caller; the engine keeps it as it is or encrypted. */
const toPlainWrite = (input: SetOp, now: Date): KvWrite => {
  const value = JSON.stringify(input.value)
  if (Buffer.byteLength(value) > KV_VALUE_BYTES_MAX)
    throw fault("kv_value_too_large", { bytes: KV_VALUE_BYTES_MAX })
  return {
    value,
    expiresAt: input.ttl_seconds === undefined ? null : now.getTime() + input.ttl_seconds * 1000,
    keepTtl: input.keep_ttl ?? false,
    onlyIf: { absent: input.nx ?? false, present: input.xx ?? false, version: input.if_version },
  }
}

const toWrite = async (atRest: AtRest, { organization, owner }: Owner, input: SetOp, now: Date) => {
  const write = toPlainWrite(input, now)
  return { ...write, value: await atRest.write(organization.id, contextOf(owner, input.key), write.value) }
}

const toWritten = ({ stored, version, expiresAt }: KvWritten): Written => ({
  ok: stored,
  version,
  expires_at: expiresAt === null ? null : new Date(expiresAt).toISOString(),
})

const toFound = (entry: KvEntry | undefined, now: Date): GetResult => ({
  value: entry ? parseJson(entry.value) : null,
  version: entry?.version ?? null,
  ttl_seconds: entry?.expiresAt ? Math.ceil((entry.expiresAt - now.getTime()) / 1000) : null,
})

const toOp = async (atRest: AtRest, op: BatchOp, call: Call): Promise<KvOp> => {
  const key = checkKey(op.key)
  if (op.op === "set") return { op: "set", key, write: await toWrite(atRest, call, op, call.now) }
  return { op: op.op === "get" ? "get" : "delete", key }
}

/** An engine inside this process answers at once; making a promise of that would cost more than the read itself. */
const after = <A, B>(value: Eventually<A>, act: (value: A) => Eventually<B>): Eventually<B> =>
  value instanceof Promise ? value.then(act) : act(value)

/** An entry as its caller wrote it. */
const opened = (
  atRest: AtRest,
  { organization, owner }: Owner,
  key: string,
  entry: KvEntry | undefined,
): Eventually<KvEntry | undefined> =>
  entry &&
  after(atRest.read(organization.id, contextOf(owner, key), entry.value), value =>
    value === entry.value ? entry : { ...entry, value },
  )

const toResult = async (atRest: AtRest, result: KvOpResult, key: string, call: Call) => {
  if (result.op === "set") return toWritten(result.written)
  if (result.op === "delete") return { deleted: result.deleted }
  return toFound(await opened(atRest, call, key, result.entry), call.now)
}

export const kvHandlers = implement(areas.kv, ({ kv, atRest }: { kv: KvPort; atRest: AtRest }) => ({
  async set(input, call) {
    const { owner, now } = call
    const key = checkKey(input.key)
    const write = await toWrite(atRest, call, input, now)
    return toWritten(await callEngine(() => kv.set(owner, key, write, now.getTime())))
  },

  get({ key }, call) {
    const { owner, now } = call
    checkKey(key)
    const entry = callEngine(() => kv.get(owner, key, now.getTime()))
    const found = after(entry, entry => opened(atRest, call, key, entry))
    return after(found, entry => toFound(entry, now))
  },

  exists({ key }, { owner, now }) {
    checkKey(key)
    return after(
      callEngine(() => kv.exists(owner, [key], now.getTime())),
      count => ({ exists: count > 0 }),
    )
  },

  async del({ key, keys = [] }, { owner, now, meter }) {
    const all = key === undefined ? keys : [key, ...keys]
    if (all.length === 0) throw fault("missing_parameter", { field: "key or keys" })
    if (all.length > KEYS_MAX) throw fault("too_many_keys", { limit: KEYS_MAX })
    all.forEach(checkKey)
    // One write is counted by the declaration; the rest are this call's own.
    meter("kv_writes", all.length - 1)
    return { deleted: await callEngine(() => kv.delete(owner, all, now.getTime())) }
  },

  keys({ pattern = "*", limit = KEYS_MAX, cursor }, { owner, now }) {
    checkText("pattern", pattern)
    const listing = { pattern, limit, cursor: cursor ?? null }
    return callEngineToList(() => kv.list(owner, listing, now.getTime()))
  },

  async batch({ ops }, call) {
    const { owner, now, meter } = call
    if (ops.some(({ op }) => op === "get")) requireScope(call, "kv:read")
    const all = await Promise.all(ops.map(op => toOp(atRest, op, call)))
    meter("kv_writes", ops.length - 1)
    const outcome = await callEngine(() => kv.batch(owner, all, now.getTime()))
    return {
      committed: outcome.committed,
      failed_index: outcome.failedIndex,
      results: await Promise.all(
        outcome.results.map((result, at) => toResult(atRest, result, ops[at]?.key ?? "", call)),
      ),
    }
  },
}))
