/** `svc events publish` and `tail`: the operations of these names, with topics by name and less to type. */
import { parseExact, type ServerSentEvent, type Svc } from "@svc/sdk"
import type { Flags, Globals, OwnFlags } from "../arguments.ts"
import { connectWithKey } from "../connect.ts"
import { isObject } from "../json.ts"
import { printable, printJson, printReply } from "../output.ts"
import { readInput, type Terminal, UsageError } from "../terminal.ts"
import type { Extra } from "./extra.ts"
import { allPages } from "./pages.ts"

export const publishFlags: OwnFlags = {
  "topic-id": { type: "string", about: "The topic, in place of the first word" },
  "event-type": { type: "string", about: "The type, in place of the second word" },
  id: { type: "string", about: "The same id is published once within a day" },
  source: { type: "string", about: "Who publishes" },
  "ordering-key": { type: "string", about: "Events of one key are delivered one after the other" },
  "occurred-at": { type: "string", about: "When it happened" },
}

export const publishUsage = `svc events publish <topic> <type> [--data <json>] [--source <text>] [--id <text>] [--ordering-key <text>]
svc events publish <topic> --data '{"events": [{"event_type": "…", "data": {}}, …]}'    up to 100 at once

The topic is a name or an id. --data - reads standard input.`

export const tailFlags: OwnFlags = {
  "topic-id": { type: "string", about: "The topic, in place of the first word" },
  "event-type": { type: "string", about: "Only this type, or order.* for all that begin so" },
}

export const tailUsage = `svc events tail <topic> [--event-type <type>]    with --json one JSON document a line`

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** An id is taken as it is: a key that only publishes may list no topics. */
const findTopic = async (svc: Svc, name: string): Promise<string> => {
  if (UUID.test(name)) return name
  const found = (await allPages(page => svc.events.listTopics(page))).find(topic => topic.name === name)
  if (!found) throw new UsageError(`there is no topic ${name}; svc events list-topics shows them`)
  return found.id
}

const parseData = async ({ data }: Globals, { stdin }: Terminal): Promise<unknown> => {
  if (data === undefined) return undefined
  try {
    return parseExact(data === "-" ? await readInput(stdin) : data)
  } catch (error) {
    if (error instanceof SyntaxError) throw new UsageError("--data must be JSON", "events publish")
    throw error
  }
}

/** With a type, `--data` is the event's data; without one it is the whole input. */
const eventOf = async (type: string | undefined, flags: Flags, globals: Globals, terminal: Terminal) => {
  const data = await parseData(globals, terminal)
  const given = Object.fromEntries(
    Object.entries(flags)
      .filter(([name]) => name !== "topic-id")
      .map(([name, value]) => [name.replaceAll("-", "_"), value]),
  )
  if (type !== undefined) return { event_type: type, ...(data !== undefined && { data }), ...given }
  if (data === undefined && flags["event-type"] === undefined)
    throw new UsageError("name the type of the event", "events publish")
  if (data !== undefined && !isObject(data))
    throw new UsageError("without a type --data must be a JSON object", "events publish")
  return { ...data, ...given }
}

/** The topic, and the words after it. */
const takeTopic = (words: readonly string[], flags: Flags, about: string, wordsMax: number) => {
  const flag = flags["topic-id"]
  const [topic, ...others] = typeof flag === "string" ? [flag, ...words] : words
  if (topic === undefined) throw new UsageError("name a topic", about)
  const surplus = others[wordsMax]
  if (surplus !== undefined) throw new UsageError(`unexpected word: ${surplus}`, about)
  return { topic, others }
}

export const publish: Extra = async (globals, words, terminal, flags) => {
  const { topic, others } = takeTopic(words, flags, "events publish", 1)
  const event = await eventOf(others[0], flags, globals, terminal)
  const svc = await connectWithKey(globals, terminal)
  const input = { ...event, topic_id: await findTopic(svc, topic) }
  const { data } = await svc.request<string>("events.publish", input, {
    idempotencyKey: globals["idempotency-key"],
  })
  if (globals.json) printJson(data, terminal.out)
  else printReply(data, terminal.out, terminal.err)
  return undefined
}

const timeOf = (data: string): string => {
  try {
    const { timestamp } = JSON.parse(data) as { timestamp?: unknown }
    return typeof timestamp === "string" ? timestamp : ""
  } catch {
    return ""
  }
}

const contentOf = (data: string): string => {
  try {
    const envelope: unknown = JSON.parse(data)
    return isObject(envelope) ? JSON.stringify(envelope.data) : data
  } catch {
    return data
  }
}

export const tail: Extra = async (globals, words, terminal, flags) => {
  const { topic } = takeTopic(words, flags, "events tail", 0)
  const svc = await connectWithKey(globals, terminal)
  const event_type = flags["event-type"]
  const input = {
    topic_id: await findTopic(svc, topic),
    ...(typeof event_type === "string" && { event_type }),
  }
  const { data: events } = await svc.request<string>("events.tail", input)
  for await (const { event, data } of events as AsyncIterable<ServerSentEvent>) {
    const line = globals.json ? data : `${timeOf(data)}  ${event}  ${contentOf(data)}`
    terminal.out.line(printable(line))
  }
  return undefined
}
