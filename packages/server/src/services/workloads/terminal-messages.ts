/** What terminals and their clients say to each other beside bytes: JSON in text messages. */

export type ClientMessage =
  | { readonly type: "resize"; readonly columns: number; readonly rows: number }
  /** The input ends. */
  | { readonly type: "end" }
  /** So many more bytes have been taken. */
  | { readonly type: "ack"; readonly bytes: number }

export const exitMessage = (exitCode: number, signal: string | null): string =>
  JSON.stringify({ type: "exit", exit_code: exitCode, signal })

export const ackMessage = (bytes: number): string => JSON.stringify({ type: "ack", bytes })

const SIDE_MAX = 10_000
const TEXT_BYTES_MAX = 1_024

const isNumber = (value: unknown, max: number): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= max

const parse = (text: string): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

/** Undefined where it is none of them. */
export const readClientMessage = (bytes: Buffer): ClientMessage | undefined => {
  if (bytes.length > TEXT_BYTES_MAX) return undefined
  const { type, columns, rows, bytes: taken } = parse(bytes.toString())
  if (type === "end") return { type }
  if (type === "resize" && isNumber(columns, SIDE_MAX) && isNumber(rows, SIDE_MAX))
    return { type, columns, rows }
  if (type === "ack" && isNumber(taken, Number.MAX_SAFE_INTEGER)) return { type, bytes: taken }
  return undefined
}
