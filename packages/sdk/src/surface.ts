/** The types of the client, computed from the contract. Nothing here exists at run time. */
import type { areas, Input, OperationSpec, Output } from "@svc/contract"
import type { ServerSentEvent } from "./sse.ts"
import type { Terminal } from "./terminal.ts"

type Areas = typeof areas
/** Operations of S3's protocol have clients of their own. */
type Ours<S> = { [K in keyof S as S[K] extends { readonly envelope: "s3" } ? never : K]: S[K] }
type Specs<A extends keyof Areas> = Ours<Areas[A]["specs"]>

/** `kv.set`, and so on for every operation. */
export type OperationName = {
  [A in keyof Areas]: `${A}.${keyof Specs<A> & string}`
}[keyof Areas]

type SpecOf<Name> = Name extends `${infer A extends keyof Areas}.${infer Key}`
  ? Key extends keyof Specs<A>
    ? Specs<A>[Key]
    : never
  : never

export interface CallOptions {
  /** Replaces the random one of a mutation; at most 255 characters. The same key and input never act twice in a day. */
  readonly idempotencyKey?: string | undefined
  /** Project id; replaces the client's own. */
  readonly project?: string | undefined
  readonly signal?: AbortSignal | undefined
  /** Of each attempt, until the reply is read; of a streamed reply, until it starts. */
  readonly timeoutMs?: number | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** A stream is sent once and never retried, because it cannot be read again. */
export type RequestBody = ReadableStream<Uint8Array> | Uint8Array | Blob | FormData | string

export interface BodyOption {
  readonly body: RequestBody
}

type RequestKind<O> = O extends { content: { request: infer Kind } } ? Kind : "json"
type ReplyKind<O> = O extends { content: { reply: infer Kind } } ? Kind : "json"

type Arguments<O extends OperationSpec> =
  RequestKind<O> extends "json" | "form"
    ? // biome-ignore lint/complexity/noBannedTypes: asks whether every field is optional
      {} extends Input<O>
      ? [input?: Input<O>, options?: CallOptions]
      : [input: Input<O>, options?: CallOptions]
    : [input: Input<O>, options: CallOptions & BodyOption]

type Value<O extends OperationSpec> =
  ReplyKind<O> extends "json"
    ? Output<O>
    : ReplyKind<O> extends "sse"
      ? AsyncIterable<ServerSentEvent> | Exclude<Output<O>, undefined>
      : ReplyKind<O> extends "websocket"
        ? Terminal
        : Response

export interface RateLimit {
  /** Requests a second. */
  readonly limit: number
  readonly remaining: number
  /** Unix seconds. */
  readonly reset: number
}

export interface RateLimited extends Partial<RateLimit> {
  /** Seconds the platform asks to wait. */
  readonly retryAfter: number | undefined
  readonly code: string
  readonly path: string
}

export interface Reply<Data> {
  readonly status: number
  readonly headers: Headers
  readonly data: Data
  readonly requestId: string | undefined
}

export interface RawRequest {
  readonly method: string
  /** Path and query, from the `/` on. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: RequestBody | undefined
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
}

/** Input of an operation whose name is known only at run time. */
type LooseArguments = [
  input?: Readonly<Record<string, unknown>>,
  options?: CallOptions & { readonly body?: RequestBody | undefined },
]

interface ClientMembers {
  /** Limits as the last reply told them. */
  readonly rateLimit: RateLimit | undefined
  /** The reply of a named operation with its status and headers. Throws like the methods do. */
  request<Name extends string>(
    name: Name,
    ...args: Name extends OperationName ? Arguments<SpecOf<Name>> : LooseArguments
  ): Promise<Reply<Name extends OperationName ? Value<SpecOf<Name>> : unknown>>
  /** One request with the client's credential, sent once; error statuses are returned, not thrown. */
  raw(request: RawRequest): Promise<Response>
}

type Methods = {
  readonly [A in keyof Areas]: {
    readonly [Key in keyof Specs<A>]: Specs<A>[Key] extends OperationSpec
      ? (...args: Arguments<Specs<A>[Key]>) => Promise<Value<Specs<A>[Key]>>
      : never
  }
}

export type Svc = Methods & ClientMembers
