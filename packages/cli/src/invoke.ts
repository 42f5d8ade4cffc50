/** Runs one operation of the contract. */
import { createReadStream, createWriteStream } from "node:fs"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import type { Operation } from "@svc/contract"
import type { RequestBody, ServerSentEvent } from "@svc/sdk"
import { checkRequired, type Globals, takeFields } from "./arguments.ts"
import { commandOf } from "./commands.ts"
import { confirmDestroying } from "./confirm.ts"
import { connect, NO_KEY } from "./connect.ts"
import { printJson, printReply } from "./output.ts"
import { readInput, type Terminal, UsageError } from "./terminal.ts"

export const invoke = async (
  operation: Operation,
  before: Globals,
  line: readonly string[],
  terminal: Terminal,
): Promise<void> => {
  const taken = takeFields(operation, line)
  const globals = { ...before, ...taken.globals }
  const whole = globals.data === undefined ? {} : await readWhole(globals.data, operation, terminal)
  const input = { ...whole, ...taken.input }
  checkRequired(operation, input)
  const body = openBody(operation, globals, terminal)
  if (
    operation.content?.reply === "bytes" &&
    globals.output === undefined &&
    terminal.out.columns !== undefined
  )
    throw new UsageError("the reply is bytes: name a file with --output, or pipe it", commandOf(operation))
  const { svc, hasKey } = await connect(globals, terminal)
  if (!hasKey && operation.scope !== "public") throw new UsageError(NO_KEY)
  if (operation.effect === "destroy") await confirmDestroying(operation.summary, globals.yes, terminal)

  const { data } = await svc.request<string>(operation.name, input, {
    idempotencyKey: globals["idempotency-key"],
    body,
  })
  await show(data, globals, terminal)
}

const readWhole = async (text: string, operation: Operation, { stdin }: Terminal): Promise<object> => {
  const json = text === "-" ? await readInput(stdin) : text
  try {
    const value: unknown = JSON.parse(json)
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value
  } catch {
    // Told the same way as JSON of the wrong kind.
  }
  throw new UsageError("--data must be a JSON object", commandOf(operation))
}

const openBody = (operation: Operation, { file }: Globals, { stdin }: Terminal): RequestBody | undefined => {
  const kind = operation.content?.request ?? "json"
  if (kind === "json") {
    if (file !== undefined) throw new UsageError("this command sends no file", commandOf(operation))
    return undefined
  }
  if (file === undefined) throw new UsageError("missing --file", commandOf(operation))
  const source = file === "-" ? stdin : createReadStream(file)
  return Readable.toWeb(source) as unknown as ReadableStream<Uint8Array>
}

const show = async (data: unknown, { json, output }: Globals, terminal: Terminal): Promise<void> => {
  if (data instanceof Response) return saveBytes(data, output, terminal)
  if (isEvents(data)) return showEvents(data, terminal)
  if (json) printJson(data, terminal.out)
  else printReply(data, terminal.out, terminal.err)
}

const saveBytes = async (
  { body }: Response,
  output: string | undefined,
  { out }: Terminal,
): Promise<void> => {
  if (!body) return
  if (output !== undefined) return pipeline(body, createWriteStream(output))
  for await (const chunk of body) await out.bytes(chunk)
}

const isEvents = (data: unknown): data is AsyncIterable<ServerSentEvent> =>
  typeof data === "object" && data !== null && Symbol.asyncIterator in data

const showEvents = async (events: AsyncIterable<ServerSentEvent>, { out }: Terminal): Promise<void> => {
  for await (const { data } of events) out.line(data)
}
