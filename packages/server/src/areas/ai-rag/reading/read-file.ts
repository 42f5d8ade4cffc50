/** From the bytes of a file to its chunks. Runs in a thread, where it can be stopped. */
import type { RagFormat } from "@svc/contract"
import { type Chunk, chunksOf } from "./chunks.ts"
import { decodeText } from "./sniff.ts"
import { type ReadText, UnreadableFile } from "./text-blocks.ts"

export interface ReadFile {
  readonly chunks: readonly Chunk[]
  readonly pages: number | null
}

/** Loads the code of one format alone. */
const READERS: Readonly<Record<RagFormat, (bytes: Uint8Array) => Promise<ReadText>>> = {
  pdf: async bytes => (await import("./pdf.ts")).readPdf(bytes),
  docx: async bytes => (await import("./office.ts")).readDocx(bytes),
  pptx: async bytes => (await import("./office.ts")).readPptx(bytes),
  xlsx: async bytes => (await import("./office.ts")).readXlsx(bytes),
  odt: async bytes => (await import("./office.ts")).readOdt(bytes),
  html: async bytes => (await import("./html.ts")).readHtml(textOf(bytes)),
  md: async bytes => (await import("./plain.ts")).readMarkdown(textOf(bytes)),
  txt: async bytes => (await import("./plain.ts")).readPlain(textOf(bytes)),
  csv: async bytes => (await import("./plain.ts")).readCsv(textOf(bytes)),
  json: async bytes => (await import("./plain.ts")).readJson(textOf(bytes)),
}

const textOf = (bytes: Uint8Array): string => {
  const text = decodeText(bytes)
  if (text === undefined) throw new UnreadableFile("it is no text")
  return text
}

const NO_TEXT = {
  pdf: "it has no text; a scan must be made searchable first",
} as const satisfies Partial<Record<RagFormat, string>>

export const readFile = async (bytes: Uint8Array, format: RagFormat): Promise<ReadFile> => {
  const read = await READERS[format](bytes)
  const chunks = chunksOf(read)
  if (chunks.length === 0) throw new UnreadableFile(format === "pdf" ? NO_TEXT.pdf : "it has no text")
  return { chunks, pages: read.pages }
}
