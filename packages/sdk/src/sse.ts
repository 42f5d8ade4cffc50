export interface ServerSentEvent {
  /** `message` unless the stream names another. */
  readonly event: string
  readonly data: string
  readonly id: string | undefined
}

/** Characters one event may have: a server that never ends an event must not fill the memory. */
const EVENT_LENGTH_MAX = 16 * 1024 * 1024

/** The events of a `text/event-stream` reply. Leaving the loop closes the connection. */
export async function* readEvents(response: Response): AsyncGenerator<ServerSentEvent, void, undefined> {
  let fields = newFields()
  for await (const line of readLines(response)) {
    if (line !== "") {
      readField(fields, line)
      if (fields.length > EVENT_LENGTH_MAX) throw new RangeError("an event of the stream is too long")
      continue
    }
    if (fields.data.length > 0) yield toEvent(fields)
    fields = { ...newFields(), id: fields.id }
  }
}

interface EventFields {
  event: string
  data: string[]
  id: string | undefined
  length: number
}

const newFields = (): EventFields => ({ event: "", data: [], id: undefined, length: 0 })

const toEvent = ({ event, data, id }: EventFields): ServerSentEvent => ({
  event: event || "message",
  data: data.join("\n"),
  id,
})

const readField = (fields: EventFields, line: string): void => {
  const colon = line.indexOf(":")
  const name = colon < 0 ? line : line.slice(0, colon)
  const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "")
  if (name === "data") fields.data.push(value)
  else if (name === "event") fields.event = value
  else if (name === "id") fields.id = value
  else return
  fields.length += value.length
}

async function* readLines(response: Response): AsyncGenerator<string, void, undefined> {
  if (!response.body) return
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  let rest = ""
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      rest += decoder.decode(value, { stream: true })
      // A chunk may end between the CR and the LF of one line end, so a last CR waits for what follows it.
      const lines = rest.split(/\r\n|\n|\r(?!$)/)
      rest = lines.pop() ?? ""
      if (rest.length > EVENT_LENGTH_MAX) throw new RangeError("a line of the stream is too long")
      yield* lines
    }
  } finally {
    await reader.cancel()
  }
}
