/** Questions to name servers and answers with addresses, as they travel (RFC 1035). */

export interface Question {
  readonly id: number
  /** In lower case, without a final dot. */
  readonly name: string
  readonly type: number
  /** The question as it came, which each answer repeats. */
  readonly bytes: Buffer
  readonly isRecursive: boolean
}

export const types = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  CAA: 257,
} as const
export const codes = { none: 0, malformed: 1, failed: 2, missing: 3, unimplemented: 4, refused: 5 } as const

export interface Address {
  readonly address: string
  readonly ttl: number
}

const HEADER_BYTES = 12
const NAME_BYTES_MAX = 255
const IN = 1
const LABEL = /^[a-z0-9_-]+$/i
/** A name that is where the question's is. */
const QUESTION_NAME = 0xc000 | HEADER_BYTES

/** Undefined for what is no question that could be answered; whoever asked it gets nothing. */
export const readQuestion = (message: Buffer): Question | undefined => {
  if (message.length < HEADER_BYTES) return undefined
  const flags = message.readUInt16BE(2)
  const isQuery = (flags & 0xf800) === 0
  if (!isQuery || message.readUInt16BE(4) !== 1) return undefined
  const labels: string[] = []
  let at = HEADER_BYTES
  for (;;) {
    const length = message[at]
    // No pointers: there is nothing before it that one could lead to.
    if (length === undefined || length > 63 || at - HEADER_BYTES + length + 1 > NAME_BYTES_MAX)
      return undefined
    if (length === 0) break
    const label = message.toString("latin1", at + 1, at + 1 + length)
    if (label.length !== length || !LABEL.test(label)) return undefined
    labels.push(label)
    at += 1 + length
  }
  const end = at + 5
  if (end > message.length || message.readUInt16BE(at + 3) !== IN) return undefined
  return {
    id: message.readUInt16BE(0),
    name: labels.join(".").toLowerCase(),
    type: message.readUInt16BE(at + 1),
    bytes: Buffer.from(message.subarray(HEADER_BYTES, end)),
    isRecursive: (flags & 0x0100) !== 0,
  }
}

const recordOf = ({ address, ttl }: Address): Buffer => {
  const record = Buffer.alloc(16)
  record.writeUInt16BE(QUESTION_NAME, 0)
  record.writeUInt16BE(types.A, 2)
  record.writeUInt16BE(IN, 4)
  record.writeUInt32BE(ttl, 6)
  record.writeUInt16BE(4, 10)
  Buffer.from(address.split(".").map(Number)).copy(record, 12)
  return record
}

/** `addresses` are IPv4; `ttl` in seconds. */
export const answerOf = (question: Question, code: number, addresses: readonly Address[] = []): Buffer => {
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUInt16BE(question.id, 0)
  // An answer, recursion available.
  header.writeUInt16BE(0x8080 | (question.isRecursive ? 0x0100 : 0) | code, 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(addresses.length, 6)
  return Buffer.concat([header, question.bytes, ...addresses.map(recordOf)])
}
