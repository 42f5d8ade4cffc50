/** A real server that speaks OpenAI's API, and fails as a test says. */
import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type { Ends } from "./ends.ts"

/** How one request is answered; without anything: well. */
export interface Behaviour {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** The body in the place of a good one. */
  readonly body?: string
  /** What is waited for before the first byte. */
  readonly before?: Promise<unknown>
  /** Ends the connection after so many chunks of a stream; 0: before the headers. */
  readonly dropAfter?: number
  /** Sends an error of this status inside a stream, after so many chunks. */
  readonly errorAfter?: { readonly chunks: number; readonly code: number | string; readonly message: string }
  /** What is waited for after so many chunks. */
  readonly holdAfter?: { readonly chunks: number; readonly until: Promise<unknown> }
  /** Where a stream tells its usage. */
  readonly usage?: "alone" | "with_finish" | "every_chunk" | "none"
  /** A stream without `[DONE]`, or without a finish. */
  readonly without?: "done" | "finish"
  readonly text?: string
}

export interface Asked {
  readonly path: string
  readonly headers: IncomingMessage["headers"]
  readonly body: Record<string, unknown>
  readonly bytes: Buffer
  /** Resolves when the connection of the answer is closed. */
  readonly closed: Promise<void>
}

export interface AiUpstream {
  /** With the version, as a `base_url`. */
  readonly url: string
  readonly asked: readonly Asked[]
  /** How the next requests are answered, in order; those after them well. */
  next(...behaviours: readonly Behaviour[]): void
  /** How all are answered that `next` does not speak of. */
  always(behaviour: Behaviour): void
}

export const PROMPT_TOKENS = 10
const TEXT = "The quick brown fox jumps over the lazy dog."
const CREATED = 1_700_000_000

const read = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const parse = (bytes: Buffer): Record<string, unknown> => {
  try {
    return JSON.parse(bytes.toString()) as Record<string, unknown>
  } catch {
    return {}
  }
}

const wordsOf = (text: string): string[] => text.match(/\S+\s*/g) ?? []

const usageOf = (text: string) => {
  const completion_tokens = wordsOf(text).length
  return {
    prompt_tokens: PROMPT_TOKENS,
    completion_tokens,
    total_tokens: PROMPT_TOKENS + completion_tokens,
    prompt_tokens_details: { cached_tokens: 0 },
  }
}

const toolCall = (body: Record<string, unknown>) => {
  const [tool] = (body.tools ?? []) as { function: { name: string } }[]
  return (
    tool && {
      id: "call_1",
      type: "function",
      function: { name: tool.function.name, arguments: '{"city":"Paris"}' },
    }
  )
}

const textFor = (body: Record<string, unknown>, { text }: Behaviour): string => {
  const { type } = (body.response_format ?? {}) as { type?: string }
  return text ?? (type === "json_schema" || type === "json_object" ? '{"city":"Paris"}' : TEXT)
}

const json = (
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
) => response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(value))

const completion = (body: Record<string, unknown>, behaviour: Behaviour) => {
  const call = toolCall(body)
  const text = textFor(body, behaviour)
  const message = call
    ? { role: "assistant", content: null, tool_calls: [call] }
    : { role: "assistant", content: text, refusal: null }
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: CREATED,
    model: body.model,
    choices: [{ index: 0, message, finish_reason: call ? "tool_calls" : "stop", logprobs: null }],
    ...(behaviour.usage !== "none" && { usage: usageOf(text) }),
  }
}

/** The chunks of a stream, as data. */
const chunksOf = (body: Record<string, unknown>, behaviour: Behaviour): unknown[] => {
  const asksUsage = (body.stream_options as { include_usage?: boolean } | undefined)?.include_usage === true
  const { usage = "alone" } = behaviour
  const text = textFor(body, behaviour)
  const head = { id: "chatcmpl-1", object: "chat.completion.chunk", created: CREATED, model: body.model }
  const chunk = (delta: unknown, finish_reason: string | null = null, more = {}) => ({
    ...head,
    choices: [{ index: 0, delta, finish_reason }],
    ...(usage === "every_chunk" && { usage: usageOf(text) }),
    ...more,
  })
  const call = toolCall(body)
  const deltas = call
    ? [chunk({ tool_calls: [{ index: 0, ...call }] })]
    : wordsOf(text).map(content => chunk({ content }))
  const finish = chunk(
    {},
    call ? "tool_calls" : "stop",
    usage === "with_finish" ? { usage: usageOf(text) } : {},
  )
  return [
    chunk({ role: "assistant", content: "" }),
    ...deltas,
    ...(behaviour.without === "finish" ? [] : [finish]),
    ...(usage === "alone" && asksUsage ? [{ ...head, choices: [], usage: usageOf(text) }] : []),
  ]
}

const stream = async (response: ServerResponse, body: Record<string, unknown>, behaviour: Behaviour) => {
  const { dropAfter, errorAfter, holdAfter, headers } = behaviour
  response.writeHead(200, { "content-type": "text/event-stream", ...headers })
  // Until it has left: what waits in a buffer goes with a connection that is destroyed.
  const write = (value: unknown) =>
    new Promise<void>(resolve => response.write(`data: ${JSON.stringify(value)}\n\n`, () => resolve()))
  for (const [at, chunk] of chunksOf(body, behaviour).entries()) {
    // The first chunk has a role and no words.
    if (dropAfter !== undefined && at > dropAfter) return void response.socket?.destroy()
    if (errorAfter && at > errorAfter.chunks) {
      await write({ error: { message: errorAfter.message, code: errorAfter.code } })
      return void response.end("data: [DONE]\n\n")
    }
    if (holdAfter && at === holdAfter.chunks + 1) await holdAfter.until
    if (response.destroyed) return
    await write(chunk)
  }
  response.end(behaviour.without === undefined ? "data: [DONE]\n\n" : "")
}

const embeddings = ({ input, encoding_format, model }: Record<string, unknown>) => {
  const texts = Array.isArray(input) ? input : [input]
  const data = texts.map((_, index) => {
    const vector = Float32Array.of(index, 0.5, -1)
    const embedding =
      encoding_format === "base64" ? Buffer.from(vector.buffer).toString("base64") : [...vector]
    return { object: "embedding", index, embedding }
  })
  return {
    object: "list",
    data,
    model,
    usage: { prompt_tokens: texts.length * 5, total_tokens: texts.length * 5 },
  }
}

const ONE_PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

const answer = async (
  request: IncomingMessage,
  response: ServerResponse,
  asked: Asked,
  behaviour: Behaviour,
) => {
  const { status = 200, headers, body, before, dropAfter } = behaviour
  await before
  if (dropAfter === 0 && !asked.body.stream) return void response.socket?.destroy()
  if (body !== undefined)
    return void response.writeHead(status, { "content-type": "application/json", ...headers }).end(body)
  if (status !== 200)
    return json(response, status, { error: { message: `failed with ${status}`, type: "error" } }, headers)
  switch (request.url?.replace(/^\/v1/, "")) {
    case "/chat/completions":
      if (asked.body.stream) return stream(response, asked.body, behaviour)
      return json(response, 200, completion(asked.body, behaviour), headers)
    case "/embeddings":
      return json(response, 200, embeddings(asked.body), headers)
    case "/images/generations":
      return json(response, 200, { created: CREATED, data: [{ b64_json: ONE_PIXEL }] }, headers)
    case "/audio/speech":
      return response.writeHead(200, { "content-type": "audio/mpeg", ...headers }).end(Buffer.alloc(2_000, 1))
    case "/audio/transcriptions":
      return json(response, 200, { text: "hello" }, headers)
    case "/models":
      return json(response, 200, { object: "list", data: [{ id: "gpt-test", object: "model" }] }, headers)
    default:
      return json(response, 404, { error: { message: "no such route" } })
  }
}

export const startAiUpstream = async (t: Ends): Promise<AiUpstream> => {
  const asked: Asked[] = []
  let queued: readonly Behaviour[] = []
  let otherwise: Behaviour = {}
  const server = createServer(async (request, response) => {
    const closed = new Promise<void>(resolve => response.once("close", () => resolve()))
    response.on("error", () => undefined)
    const bytes = await read(request).catch(() => undefined)
    if (!bytes) return
    const received = { path: request.url ?? "", headers: request.headers, body: parse(bytes), bytes, closed }
    asked.push(received)
    const [behaviour = otherwise, ...rest] = queued
    queued = rest
    await answer(request, response, received, behaviour)
  })
  server.keepAliveTimeout = 60_000
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  t.after(async () => {
    server.close()
    server.closeAllConnections()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    next: (...behaviours) => {
      queued = behaviours
    },
    always: behaviour => {
      otherwise = behaviour
    },
  }
}
