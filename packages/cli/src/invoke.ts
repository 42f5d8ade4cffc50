/** Runs one operation of the contract. */
import { createReadStream, createWriteStream } from "node:fs"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import type { Operation } from "@svc/contract"
import { parseExact, type RequestBody, type ServerSentEvent } from "@svc/sdk"
import { checkRequired, type Globals, STANDARD_INPUT, takeFields } from "./arguments.ts"
import { commandOf, fieldsOf } from "./commands.ts"
import { confirmDestroying } from "./confirm.ts"
import { connect, NO_KEY } from "./connect.ts"
import { resolveNames } from "./names.ts"
import { exitCodeOf, followCommand, isRan, showRan } from "./outcomes.ts"
import { printJson, printReply } from "./output.ts"
import { readInput, type Terminal, UsageError } from "./terminal.ts"
import { parseValue } from "./values.ts"

export const invoke = async (
  operation: Operation,
  before: Globals,
  line: readonly string[],
  terminal: Terminal,
): Promise<number> => {
  const taken = takeFields(operation, line)
  const globals = { ...before, ...taken.globals }
  const whole = globals.data === undefined ? {} : await readWhole(globals.data, operation, terminal)
  const input = await readMarked(operation, { ...whole, ...taken.input }, terminal)
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

  const { data } = await svc.request<string>(operation.name, await resolveNames(svc, operation, input), {
    idempotencyKey: globals["idempotency-key"],
    body,
  })
  return (await show(operation, data, globals, terminal)) ?? exitCodeOf(operation, data)
}

/** Fields whose value was given as `-` come from standard input. */
const readMarked = async (
  operation: Operation,
  input: Readonly<Record<string, unknown>>,
  { stdin }: Terminal,
): Promise<Record<string, unknown>> => {
  const marked = fieldsOf(operation).filter(({ name }) => input[name] === STANDARD_INPUT)
  const [field, second] = marked
  if (!field) return { ...input }
  if (second) throw new UsageError("standard input is one field's", commandOf(operation))
  const text = await readInput(stdin)
  return { ...input, [field.name]: parseValue(text, field.schema, `--${field.flag}`) }
}

const readWhole = async (text: string, operation: Operation, { stdin }: Terminal): Promise<object> => {
  const json = text === "-" ? await readInput(stdin) : text
  try {
    const value = parseExact(json)
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return operation.bodyAs === undefined ? value : { [operation.bodyAs]: value }
  } catch {
    // Told the same way as JSON of the wrong kind.
  }
  throw new UsageError("--data must be a JSON object", commandOf(operation))
}

const openBody = (operation: Operation, { file }: Globals, { stdin }: Terminal): RequestBody | undefined => {
  const kind = operation.content?.request ?? "json"
  if (kind === "json" || kind === "form") {
    if (file !== undefined) throw new UsageError("this command sends no file", commandOf(operation))
    return undefined
  }
  if (file === undefined) throw new UsageError("missing --file", commandOf(operation))
  const source = file === "-" ? stdin : createReadStream(file)
  return Readable.toWeb(source) as unknown as ReadableStream<Uint8Array>
}

const show = async (
  operation: Operation,
  data: unknown,
  { json, output, wide }: Globals,
  terminal: Terminal,
): Promise<number | undefined> => {
  if (data instanceof Response) await saveBytes(data, output, terminal)
  else if (isEvents(data))
    return operation.name === "sandboxes.streamCommand" && !json
      ? followCommand(data, terminal)
      : showEvents(data, terminal)
  else if (json) printJson(data, terminal.out)
  else if (isRan(data)) await showRan(data, terminal)
  else printReply(data, terminal.out, terminal.err, wide)
  return undefined
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

/** The end of a command among them has its exit code. */
const showEvents = async (
  events: AsyncIterable<ServerSentEvent>,
  { out }: Terminal,
): Promise<number | undefined> => {
  let code: number | undefined
  for await (const { event, data } of events) {
    out.line(data)
    if (event === "exit") code = Number((JSON.parse(data) as { exit_code?: number }).exit_code ?? 0)
  }
  return code
}
