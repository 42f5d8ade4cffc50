import { areas, type Input, KV_KEY_BYTES_MAX, KV_VALUE_BYTES_MAX, type Output } from "@svc/contract"
import { fault } from "../../kernel/fault.ts"
import { implement } from "../../kernel/implement.ts"
import type { KvEntry, KvOp, KvOpResult, KvPort, KvWrite, KvWritten } from "../../ports/kv/port.ts"

type Operations = typeof areas.kv.specs
type SetInput = Omit<Input<Operations["set"]>, never>
type BatchInput = Input<Operations["batch"]>["ops"][number]
type Found = Output<Operations["get"]>
type Written = Output<Operations["set"]>

const checkKey = (key: string): string => {
  // A character is at least a byte and at most four, so most keys need no counting.
  if (key.length * 3 > KV_KEY_BYTES_MAX && Buffer.byteLength(key) > KV_KEY_BYTES_MAX) {
    throw fault("kv_key_too_large", { bytes: KV_KEY_BYTES_MAX })
  }
  return key
}

const toWrite = (input: SetInput, now: Date): KvWrite => {
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

const toWritten = ({ stored, version, expiresAt }: KvWritten): Written => ({
  ok: stored,
  version,
  expires_at: expiresAt === null ? null : new Date(expiresAt).toISOString(),
})

const toFound = (entry: KvEntry | undefined, now: Date): Found => ({
  value: entry ? JSON.parse(entry.value) : null,
  version: entry?.version ?? null,
  ttl_seconds: entry?.expiresAt ? Math.ceil((entry.expiresAt - now.getTime()) / 1000) : null,
})

const toOp = (op: BatchInput, now: Date): KvOp => {
  const key = checkKey(op.key)
  if (op.op === "set") return { op: "set", key, write: toWrite(op, now) }
  return { op: op.op === "get" ? "get" : "delete", key }
}

const toResult = (result: KvOpResult, now: Date) => {
  if (result.op === "set") return toWritten(result.written)
  return result.op === "get" ? toFound(result.entry, now) : { deleted: result.deleted }
}

/** An engine inside this process answers at once; making a promise of that would cost more than the read itself. */
const after = <A, B>(value: A | Promise<A>, act: (value: A) => B): B | Promise<B> =>
  value instanceof Promise ? value.then(act) : act(value)

export const kvHandlers = implement(areas.kv, ({ kv }: { kv: KvPort }) => ({
  async set(input, { owner, now }) {
    return toWritten(await kv.set(owner, checkKey(input.key), toWrite(input, now), now.getTime()))
  },

  get({ key }, { owner, now }) {
    return after(kv.get(owner, checkKey(key), now.getTime()), entry => toFound(entry, now))
  },

  exists({ key }, { owner, now }) {
    return after(kv.get(owner, checkKey(key), now.getTime()), entry => ({ exists: entry !== undefined }))
  },

  async del({ key, keys = [] }, { owner, now, meter }) {
    const all = key === undefined ? keys : [key, ...keys]
    if (all.length === 0) throw fault("missing_parameter", { field: "key or keys" })
    all.forEach(checkKey)
    meter("kv_writes", all.length - 1)
    return { deleted: await kv.delete(owner, all, now.getTime()) }
  },

  keys({ pattern = "*", limit = 1000, cursor }, { owner, now }) {
    return kv.list(owner, { pattern, limit, cursor: cursor ?? null }, now.getTime())
  },

  async batch({ ops }, { owner, now, meter }) {
    meter("kv_writes", ops.length - 1)
    const outcome = await kv.batch(
      owner,
      ops.map(op => toOp(op, now)),
      now.getTime(),
    )
    return {
      committed: outcome.committed,
      failed_index: outcome.failedIndex,
      results: outcome.results.map(result => toResult(result, now)),
    }
  },
}))
