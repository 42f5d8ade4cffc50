/** What may be a vector, an id or metadata, and how vectors lie in a row. */
import { endianness } from "node:os"
import { VECTOR_ID_BYTES_MAX, VECTOR_METADATA_BYTES_MAX, VECTORS_MAX } from "@svc/contract"
import type { RawNumber } from "../../kernel/exact-json.ts"
import { fault } from "../../kernel/fault.ts"

/** Of a collection, what its vectors must fit. */
interface Space {
  readonly dimension: number
  readonly metric: string
}

export interface WrittenVector {
  readonly id: string
  readonly values: Float32Array<ArrayBuffer>
  /** JSON text. */
  readonly metadata: string
}

const invalid = (reason: string) => fault("invalid_parameter", { reason })

/** A caller in this process may write a whole number as a bigint. */
type GivenId = string | number | bigint | RawNumber

const INTEGER = /^-?\d+$/

/** A whole number as its decimal text, however it was written. */
export const textOfId = (given: GivenId): string => {
  if (typeof given === "string") return given
  const text = typeof given === "object" ? given.rawJSON : String(given)
  return String(INTEGER.test(text) ? BigInt(text) : BigInt(Number(text)))
}

export const idOf = (given: GivenId): string => {
  const id = textOfId(given)
  if (Buffer.byteLength(id) > VECTOR_ID_BYTES_MAX)
    throw invalid(`an id has at most ${VECTOR_ID_BYTES_MAX} bytes`)
  return id
}

const metadataOf = (index: number, metadata: object = {}): string => {
  const text = JSON.stringify(metadata)
  if (Buffer.byteLength(text) > VECTOR_METADATA_BYTES_MAX)
    throw invalid(`the metadata of vector ${index} has more than ${VECTOR_METADATA_BYTES_MAX} bytes`)
  return text
}

/** Throws `dimension_mismatch`, or `invalid_parameter` for a vector without direction where only that counts. */
export const vectorOf = (
  { dimension, metric }: Space,
  values: readonly number[],
  index = 0,
): Float32Array<ArrayBuffer> => {
  if (values.length !== dimension)
    throw fault("dimension_mismatch", { index, actual: values.length, expected: dimension })
  const vector = Float32Array.from(values)
  if (metric === "cosine" && vector.every(value => value === 0))
    throw invalid(`vector ${index} is all zero, and has no cosine`)
  return vector
}

type GivenVector = { id: GivenId; values: number[]; metadata?: Record<string, unknown> }

export const checkBatchSize = ({ length }: readonly GivenVector[]): void => {
  if (length > VECTORS_MAX) throw fault("batch_too_large", { limit: VECTORS_MAX })
}

/** The vectors to write; of two with the same id, the later one. */
export const writtenOf = (space: Space, given: readonly GivenVector[]): WrittenVector[] => {
  const written = new Map<string, WrittenVector>()
  given.forEach((vector, index) => {
    const id = idOf(vector.id)
    written.set(id, {
      id,
      values: vectorOf(space, vector.values, index),
      metadata: metadataOf(index, vector.metadata),
    })
  })
  return [...written.values()]
}

const isLittleEndian = endianness() === "LE"

/** Rows hold little-endian floats. */
const inRowOrder = (bytes: Buffer): Buffer => (isLittleEndian ? bytes : bytes.swap32())

/** All vectors in one piece. */
export const toBytes = (vectors: readonly WrittenVector[]): Buffer =>
  inRowOrder(
    Buffer.concat(
      vectors.map(({ values }) => Buffer.from(values.buffer, values.byteOffset, values.byteLength)),
    ),
  )

export const fromBytes = (bytes: Buffer): Float32Array<ArrayBuffer> => {
  const copy = new Uint8Array(bytes.byteLength)
  copy.set(bytes)
  inRowOrder(Buffer.from(copy.buffer))
  return new Float32Array(copy.buffer)
}
