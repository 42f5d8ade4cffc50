/** Cuts a text into chunks: whole blocks and sentences as far as they fit, never across pages, with some overlap. */
import { RAG_CHUNKS_MAX } from "@svc/contract"
import { type Block, type ReadText, UnreadableFile } from "./text-blocks.ts"

/** Characters of a token, on average. */
const TOKEN_LENGTH = 4
const CHUNK_LENGTH_MAX = 400 * TOKEN_LENGTH
/** The end of a chunk that the next one repeats. */
const OVERLAP_LENGTH_MAX = Math.floor(CHUNK_LENGTH_MAX * 0.15)
/** A heading ends a chunk of at least this length; what is shorter says too little by itself. */
const SECTION_LENGTH_MIN = 300
/** Sentences are looked for in pieces of this length: longer ones cost more than they are worth. */
const SEGMENTED_LENGTH_MAX = 20_000

export interface Chunk {
  readonly text: string
  readonly start: number
  readonly end: number
  readonly page: number | null
  readonly heading: string | null
}

/** What is not divided. */
interface Unit {
  readonly start: number
  readonly end: number
  readonly block: Block
}

export const tokensOf = (text: string): number => Math.ceil(text.length / TOKEN_LENGTH)

const segmenter = new Intl.Segmenter("en", { granularity: "sentence" })

/** Pieces of at most so many characters, divided at white space where there is some. */
function* pieces(text: string, start: number, end: number, lengthMax: number): Generator<[number, number]> {
  let from = start
  while (end - from > lengthMax) {
    const space = text.slice(from + lengthMax / 2, from + lengthMax).search(/\s\S*$/)
    const to = space < 0 ? from + lengthMax : from + lengthMax / 2 + space + 1
    yield [from, to]
    from = to
  }
  yield [from, end]
}

export function* sentences(text: string, start: number, end: number): Generator<[number, number]> {
  for (const [from, to] of pieces(text, start, end, SEGMENTED_LENGTH_MAX))
    for (const { index, segment } of segmenter.segment(text.slice(from, to)))
      yield [from + index, from + index + segment.length]
}

function* unitsOf({ text, blocks }: ReadText): Generator<Unit> {
  for (const block of blocks) {
    const { start, end, isWhole } = block
    const isUndivided = end - start <= CHUNK_LENGTH_MAX && (isWhole || block.isHeading)
    const parts = isUndivided ? [[start, end] as const] : sentences(text, start, end)
    for (const [from, to] of parts)
      for (const [first, last] of pieces(text, from, to, CHUNK_LENGTH_MAX))
        yield { start: first, end: last, block }
  }
}

const isDivided = (before: Unit, after: Unit, length: number): boolean =>
  before.block.page !== after.block.page ||
  (after.block.isHeading && !before.block.isHeading && length >= SECTION_LENGTH_MIN)

/** The first unit of the next chunk: those at the end of this one that are repeated, but never a whole chunk. */
const overlapFrom = (units: readonly Unit[], first: number, next: number): number => {
  const before = units[next - 1]
  const after = units[next]
  if (!before || !after || isDivided(before, after, SECTION_LENGTH_MIN)) return next
  let from = next
  while (from - 1 > first && before.end - (units[from - 1] as Unit).start <= OVERLAP_LENGTH_MAX) from--
  // Whatever is repeated must leave room for what comes.
  return after.end - (units[from] as Unit).start > CHUNK_LENGTH_MAX ? next : from
}

const toChunk = (text: string, first: Unit, last: Unit): Chunk | undefined => {
  const raw = text.slice(first.start, last.end)
  const start = first.start + raw.length - raw.trimStart().length
  const end = first.start + raw.trimEnd().length
  const { page, heading } = first.block
  // PostgreSQL stores no null characters and no halves of pairs; what takes their place is as long.
  const kept = text.slice(start, end).replaceAll("\0", " ").toWellFormed()
  return end > start ? { text: kept, start, end, page, heading } : undefined
}

export const chunksOf = (read: ReadText): Chunk[] => {
  const units = [...unitsOf(read)]
  const chunks: Chunk[] = []
  for (let first = 0; first < units.length; ) {
    const begin = units[first] as Unit
    let next = first + 1
    for (; next < units.length; next++) {
      const before = units[next - 1] as Unit
      const after = units[next] as Unit
      if (after.end - begin.start > CHUNK_LENGTH_MAX || isDivided(before, after, before.end - begin.start))
        break
    }
    const chunk = toChunk(read.text, begin, units[next - 1] as Unit)
    if (chunk) chunks.push(chunk)
    if (chunks.length > RAG_CHUNKS_MAX)
      throw new UnreadableFile(`it makes more than ${RAG_CHUNKS_MAX} chunks`)
    first = next < units.length ? overlapFrom(units, first, next) : next
  }
  return chunks
}
