/** What a harness says, read with suspicion: the code it runs may write to the same place. */

import { FUNCTION_RESPONSE_BYTES_MAX, type FunctionLogStream } from "@svc/contract"
import { isRawNumber, parseJson, toDoubles } from "../../kernel/exact-json.ts"
import { isJsonObject } from "../../kernel/json-object.ts"

export interface FunctionError {
  readonly type: string
  readonly message: string
  readonly stack: string | null
}

export type Frame =
  | { readonly kind: "up" }
  | { readonly kind: "ready"; readonly cpuMs: number | null }
  | { readonly kind: "failed"; readonly error: FunctionError }
  | {
      readonly kind: "log"
      readonly invocationId: string | null
      readonly stream: FunctionLogStream
      readonly atMs: number
      readonly message: string
    }
  /** A reply whose body comes in pieces. */
  | { readonly kind: "head"; readonly invocationId: string; readonly reply: unknown }
  | { readonly kind: "chunk"; readonly invocationId: string; readonly bytes: Buffer }
  | {
      readonly kind: "done"
      readonly invocationId: string
      readonly peakMb: number
      /** Of the process since its start; null where nobody measures it. */
      readonly cpuMs: number | null
      readonly error: FunctionError | null
      readonly result: unknown
      readonly reply: unknown
      /** The process ends after this. */
      readonly isFinal: boolean
      readonly bytes: number
    }

/** What stands around a result. */
const AROUND_BYTES = 65_536
/** Bytes of a frame; a reply's body is a third longer in it. */
export const FRAME_BYTES_MAX = FUNCTION_RESPONSE_BYTES_MAX + AROUND_BYTES

const TYPE_LENGTH_MAX = 128
const MESSAGE_LENGTH_MAX = 8_192
const STACK_LENGTH_MAX = 16_384
const YEAR_9999_MS = 253_370_764_800_000

/** PostgreSQL's text holds no null character and no half of a surrogate pair. */
export const storable = (text: string): string => text.replaceAll("\0", "\ufffd").toWellFormed()

const textOf = (value: unknown, max: number): string =>
  storable(typeof value === "string" ? value : "")
    .slice(0, max)
    .toWellFormed()

const toError = (value: unknown): FunctionError => {
  const { type, message, stack } = isJsonObject(value) ? value : {}
  return {
    type: textOf(type, TYPE_LENGTH_MAX) || "Error",
    message: textOf(message, MESSAGE_LENGTH_MAX),
    stack: typeof stack === "string" ? textOf(stack, STACK_LENGTH_MAX) : null,
  }
}

/** Zero unless it is a number above it and below the limit. */
const within = (value: unknown, limit: number): number => {
  const number = isRawNumber(value) ? Number(value.rawJSON) : value
  return typeof number === "number" && number > 0 && number < limit ? number : 0
}

const peakOf = (kilobytes: unknown): number => Math.ceil(within(kilobytes, 2 ** 40) / 1024)

const cpuOf = (milliseconds: unknown): number => within(milliseconds, 2 ** 40)

const idOf = (value: unknown): string | null => (typeof value === "string" ? value : null)

const logOf = ({ i, s, at, m }: Record<string, unknown>): Frame => ({
  kind: "log",
  invocationId: idOf(i),
  stream: s === "stderr" || s === "platform" ? s : "stdout",
  atMs: within(at, YEAR_9999_MS),
  message: textOf(m, MESSAGE_LENGTH_MAX),
})

const doneOf = (value: Record<string, unknown>, invocationId: string, bytes: number): Frame => {
  const error = value.error === undefined ? null : toError(value.error)
  const { result = null } = value
  const reply = toDoubles(value.reply)
  return {
    ...{ kind: "done", invocationId, error, result, reply, isFinal: value.final === true, bytes },
    ...{ peakMb: peakOf(value.kb), cpuMs: cpuOf(value.cpu) },
  }
}

/** Undefined for what is no frame of a harness with that nonce; before there is one, only `up` is. */
export const readFrame = (line: Buffer, nonce: string | undefined): Frame | undefined => {
  let value: unknown
  try {
    value = parseJson(line.toString())
  } catch {
    return undefined
  }
  if (!isJsonObject(value)) return undefined
  if (nonce === undefined) return value.t === "up" ? { kind: "up" } : undefined
  if (value.n !== nonce) return undefined
  const invocationId = idOf(value.i)
  switch (value.t) {
    case "ready":
      return { kind: "ready", cpuMs: cpuOf(value.cpu) }
    case "failed":
      return { kind: "failed", error: toError(value.error) }
    case "log":
      return logOf(value)
  }
  if (invocationId === null) return undefined
  switch (value.t) {
    case "head":
      return { kind: "head", invocationId, reply: toDoubles(value.reply) }
    case "chunk":
      return { kind: "chunk", invocationId, bytes: Buffer.from(String(value.b), "base64") }
    case "done":
      return doneOf(value, invocationId, line.length)
    default:
      return undefined
  }
}

/** Cuts a stream of bytes into lines. Gives false once a line is longer than a frame may be. */
export const createLineCutter = (hear: (line: Buffer) => void): ((chunk: Buffer) => boolean) => {
  let kept: Buffer[] = []
  let keptBytes = 0
  return chunk => {
    let from = 0
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      kept.push(chunk.subarray(from, at))
      const line = kept.length === 1 ? (kept[0] as Buffer) : Buffer.concat(kept)
      kept = []
      keptBytes = 0
      hear(line)
      from = at + 1
    }
    if (from < chunk.length) {
      kept.push(chunk.subarray(from))
      keptBytes += chunk.length - from
    }
    return keptBytes <= FRAME_BYTES_MAX
  }
}
