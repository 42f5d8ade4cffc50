/** What came of a command or an invocation: its output as it was, and the exit code that says so. */
import type { Operation } from "@svc/contract"
import type { ServerSentEvent } from "@svc/sdk"
import { exitCodes, type Terminal } from "./terminal.ts"

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

interface Ran {
  readonly exit_code: number
  readonly stdout: string
  readonly stderr: string
  readonly truncated?: boolean
}

/** The reply of an operation that ran a command to its end. */
export const isRan = (data: unknown): data is Ran =>
  isFields(data) && typeof data.exit_code === "number" && typeof data.stdout === "string"

/** As the command itself would have written it here. */
export const showRan = async ({ stdout, stderr, truncated }: Ran, { out, err }: Terminal): Promise<void> => {
  await out.bytes(Buffer.from(stdout))
  await err.bytes(Buffer.from(stderr))
  if (truncated === true) err.line("svc: the output was longer; --json has the same beginning of it")
}

/** The exit code of an operation that was carried out, for what came of it. */
export const exitCodeOf = ({ name }: Operation, data: unknown): number => {
  if (!isFields(data)) return exitCodes.ok
  if (typeof data.exit_code === "number") return data.exit_code
  const hasFailed =
    data.success === false ||
    data.committed === false ||
    (name === "functions.invoke" && (data.status === "error" || data.status === "timeout"))
  return hasFailed ? exitCodes.refused : exitCodes.ok
}

/** Shows the outputs of a command as they come, and gives its exit code. */
export const followCommand = async (
  events: AsyncIterable<ServerSentEvent>,
  { out, err }: Terminal,
): Promise<number> => {
  for await (const { event, data } of events) {
    const fields: unknown = JSON.parse(data)
    if (!isFields(fields)) continue
    if (event === "stdout") await out.bytes(Buffer.from(String(fields.data), "base64"))
    else if (event === "stderr") await err.bytes(Buffer.from(String(fields.data), "base64"))
    else if (event === "exit") return Number(fields.exit_code)
    else if (event === "error") err.line(`svc: ${String(fields.error)}`)
  }
  return exitCodes.refused
}
