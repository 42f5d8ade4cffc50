/** The tree to bytes of any format. The libraries of a format are loaded with its first file. */
import type { DocumentFormat } from "@svc/contract"
import type { DocumentTree } from "../making/blocks.ts"
import { toCsv } from "./csv.ts"
import { toHtml } from "./html.ts"
import { toMarkdown } from "./markdown.ts"
import { toText } from "./text.ts"

type Render = (tree: DocumentTree, createdAt: Date) => Promise<Uint8Array>

const asBytes =
  (write: (tree: DocumentTree) => string): Render =>
  async tree =>
    new TextEncoder().encode(write(tree))

const renderers: Readonly<Record<DocumentFormat, Render>> = {
  html: asBytes(toHtml),
  md: asBytes(toMarkdown),
  txt: asBytes(toText),
  csv: asBytes(toCsv),
  docx: async tree => (await import("./docx.ts")).toDocx(tree),
  pdf: async (tree, createdAt) => (await import("./pdf.ts")).toPdf(tree, createdAt),
  pptx: async tree => (await import("./pptx.ts")).toPptx(tree),
  xlsx: async tree => (await import("./xlsx.ts")).toXlsx(tree),
}

export const renderDocument = (
  tree: DocumentTree,
  format: DocumentFormat,
  createdAt: Date,
): Promise<Uint8Array> => renderers[format](tree, createdAt)
