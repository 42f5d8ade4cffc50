/**
 * One entry of the table of faults.
 *
 * `text` is what the caller reads in the field `error`: a lower-case phrase without a final period. Facts known
 * only when the fault happens are `{name}` placeholders, each inside an optional part in square brackets, which
 * disappears whole when one of its values is unknown: `missing scope[: {scopes}]`. So every text reads well bare.
 */
export type FaultSpec = {
  readonly status: FaultStatus
  readonly text: string
  /** What it means and what to do next, in one to three sentences of Markdown; shown on the page of the code. */
  readonly help: string
  /** The same request, sent again unchanged after a wait, may succeed. */
  readonly retryable?: true
  /** It belongs to operations that are specified and not implemented yet, so no reply has it. */
  readonly planned?: true
  /** It says that there is nothing of the id in the path, though its status is not 404. */
  readonly meansAbsent?: true
  /** The code on the wire, where it differs from the key of the table (two texts may share one code). */
  readonly code?: string
}

export const faultStatuses = [
  202, 400, 401, 402, 403, 404, 405, 406, 408, 409, 412, 413, 415, 416, 426, 429, 460, 500, 501, 502, 503,
  504,
] as const

export type FaultStatus = (typeof faultStatuses)[number]

/** The placeholder names of a text, read from its literal type. */
export type Placeholders<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Placeholders<Rest>
  : never

// A value may come from the caller's own request, so one long field cannot make a long reply.
const valueLengthMax = 500

/** Fills the optional parts of a text and drops those whose values are unknown or empty. Never throws. */
export const fillText = (
  text: string,
  params: Readonly<Record<string, string | number | undefined>>,
): string =>
  text.replace(/\[([^[\]]*)\]/g, (_, part: string) => {
    let complete = true
    const filled = part.replace(/\{(\w+)\}/g, (_placeholder, name: string) => {
      const value = Object.hasOwn(params, name) ? String(params[name] ?? "") : ""
      if (value === "") complete = false
      return value.length > valueLengthMax ? `${value.slice(0, valueLengthMax)}…` : value
    })
    return complete ? filled : ""
  })
