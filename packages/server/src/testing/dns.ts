/** A name server on this machine, for what must resolve names: answers what a test says, over UDP (RFC 1035). */
import { createSocket, type RemoteInfo } from "node:dgram"
import { once } from "node:events"
import ipaddr from "ipaddr.js"
import type { Ends } from "./ends.ts"

/** A record's data as people write it; an array of TXT is one record of several strings. */
export type DnsRecord =
  | { readonly type: "A" | "AAAA" | "CNAME" | "NS"; readonly data: string }
  | { readonly type: "TXT"; readonly data: string | readonly string[] }
  | { readonly type: "MX"; readonly data: string; readonly priority: number }

/** `refuse` and `fail` are those codes; `silence` is no answer at all. */
export type DnsAnswer = readonly DnsRecord[] | "refuse" | "fail" | "silence"

export interface DnsQuestion {
  /** In lower case, without a final dot. */
  readonly name: string
  readonly type: string
}

export interface DnsServer {
  /** `127.0.0.1:port`, as SVC_DNS_SERVERS wants it. */
  readonly address: string
  /** What was asked so far. */
  readonly questions: readonly DnsQuestion[]
  /**
   * What a name answers from now on: records of any type, of which each question gets its own, or a function that is
   * asked anew each time. Names without answers do not exist.
   */
  answer(name: string, answer: DnsAnswer | ((question: DnsQuestion) => DnsAnswer)): void
}

const TYPES: Readonly<Record<DnsRecord["type"], number>> = {
  A: 1,
  NS: 2,
  CNAME: 5,
  MX: 15,
  TXT: 16,
  AAAA: 28,
}
const CODES = { fail: 2, missing: 3, refuse: 5 } as const
const HEADER_BYTES = 12

const encodeName = (name: string): Buffer =>
  Buffer.concat([
    ...name
      .split(".")
      .filter(label => label !== "")
      .map(label => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)])),
    Buffer.from([0]),
  ])

const encodeData = (record: DnsRecord): Buffer => {
  switch (record.type) {
    case "A":
    case "AAAA":
      return Buffer.from(ipaddr.parse(record.data).toByteArray())
    case "CNAME":
    case "NS":
      return encodeName(record.data)
    case "MX":
      return Buffer.concat([
        Buffer.from([record.priority >> 8, record.priority & 255]),
        encodeName(record.data),
      ])
    case "TXT":
      return Buffer.concat(
        [record.data]
          .flat()
          .map(text => Buffer.concat([Buffer.from([Buffer.byteLength(text)]), Buffer.from(text)])),
      )
  }
}

/** Lives for no time at all, so that no resolver keeps it. */
const encodeRecord = (record: DnsRecord): Buffer => {
  const data = encodeData(record)
  const head = Buffer.from([0xc0, HEADER_BYTES, 0, TYPES[record.type], 0, 1, 0, 0, 0, 0, 0, 0])
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}

interface Parsed extends DnsQuestion {
  readonly bytes: Buffer
}

const parseQuestion = (query: Buffer): Parsed => {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length))
    at += 1 + length
  }
  const code = query.readUInt16BE(at + 1)
  const type = Object.entries(TYPES).find(([, number]) => number === code)?.[0] ?? `TYPE${code}`
  return { name: labels.join(".").toLowerCase(), type, bytes: query.subarray(HEADER_BYTES, at + 5) }
}

const encodeReply = (
  query: Buffer,
  question: Buffer,
  code: number,
  records: readonly DnsRecord[],
): Buffer => {
  const header = Buffer.alloc(HEADER_BYTES)
  query.copy(header, 0, 0, 2)
  // An authoritative answer to what was asked, recursion available.
  header.writeUInt16BE(0x8480 | (((query[2] ?? 0) << 8) & 0x100) | code, 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(records.length, 6)
  return Buffer.concat([header, question, ...records.map(encodeRecord)])
}

export const startDns = async (t: Ends): Promise<DnsServer> => {
  const socket = createSocket("udp4")
  const questions: DnsQuestion[] = []
  const answers = new Map<string, DnsAnswer | ((question: DnsQuestion) => DnsAnswer)>()

  const reply = (query: Buffer): Buffer | undefined => {
    const { bytes, ...question } = parseQuestion(query)
    questions.push(question)
    const given = answers.get(question.name)
    const answer = typeof given === "function" ? given(question) : given
    if (answer === "silence") return undefined
    if (typeof answer === "string") return encodeReply(query, bytes, CODES[answer], [])
    if (answer === undefined) return encodeReply(query, bytes, CODES.missing, [])
    const fitting = answer.filter(({ type }) => type === question.type || type === "CNAME")
    return encodeReply(query, bytes, 0, fitting)
  }
  socket.on("message", (query: Buffer, from: RemoteInfo) => {
    const bytes = reply(query)
    if (bytes) socket.send(bytes, from.port, from.address)
  })
  socket.bind(0, "127.0.0.1")
  await once(socket, "listening")
  t.after(() => socket.close())

  return {
    address: `127.0.0.1:${socket.address().port}`,
    questions,
    answer: (name, answer) => void answers.set(name.toLowerCase(), answer),
  }
}
