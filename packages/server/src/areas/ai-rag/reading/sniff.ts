/** What a file is, by its bytes; its name only tells apart what is text anyway. */
import type { RagFormat } from "@svc/contract"

export const CONTENT_TYPES: Readonly<Record<RagFormat, string>> = {
  pdf: "application/pdf",
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  odt: "application/vnd.oasis.opendocument.text",
  html: "text/html",
  md: "text/markdown",
  txt: "text/plain",
  csv: "text/csv",
  json: "application/json",
}

const ZIP = Buffer.from("PK\u0003\u0004", "latin1")
const OLE = Buffer.from("d0cf11e0a1b11ae1", "hex")
const PDF_WITHIN = 1_024
const HTML = /^(?:\s|<!--[\s\S]*?-->|<\?xml[^>]*>)*<(?:!doctype\s+html|html|head|body)\b/i
const HTML_WITHIN = 4_096
const CONTROLS_MAX = 0.02

/** Names of entries stand in a zip archive as they are. */
const IN_ZIP: readonly (readonly [RagFormat, string])[] = [
  ["docx", "word/document.xml"],
  ["pptx", "ppt/presentation.xml"],
  ["xlsx", "xl/workbook.xml"],
  ["odt", "application/vnd.oasis.opendocument.text"],
]

/** UTF-8, UTF-16 with a mark of its order, else Windows-1252; undefined for what is no text. */
export const decodeText = (bytes: Uint8Array): string | undefined => {
  const [first, second] = bytes
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le").decode(bytes)
  if (first === 0xfe && second === 0xff) return new TextDecoder("utf-16be").decode(bytes)
  if (bytes.includes(0)) return undefined
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    let controls = 0
    for (const byte of bytes) if (byte < 0x20 && byte !== 9 && byte !== 10 && byte !== 13) controls++
    return controls > bytes.length * CONTROLS_MAX ? undefined : new TextDecoder("windows-1252").decode(bytes)
  }
}

const isJson = (text: string): boolean => {
  if (!/^\s*[[{]/.test(text)) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const EXTENSIONS: Readonly<Record<string, RagFormat>> = {
  htm: "html",
  html: "html",
  xhtml: "html",
  md: "md",
  markdown: "md",
  csv: "csv",
}

const textFormat = (text: string, name: string, declaredType: string): RagFormat => {
  if (HTML.test(text.slice(0, HTML_WITHIN))) return "html"
  if (isJson(text)) return "json"
  const byName = EXTENSIONS[name.toLowerCase().split(".").at(-1) ?? ""]
  if (byName) return byName
  const [type = ""] = declaredType.split(";")
  return (["html", "md", "csv"] as const).find(format => CONTENT_TYPES[format] === type.trim()) ?? "txt"
}

/** The format, or why there is none that can be read. */
export const sniff = (
  bytes: Buffer,
  name: string,
  declaredType: string,
): RagFormat | { readonly problem: string } => {
  if (bytes.subarray(0, PDF_WITHIN).includes("%PDF-")) return "pdf"
  if (bytes.subarray(0, ZIP.length).equals(ZIP)) {
    const found = IN_ZIP.find(([, entry]) => bytes.includes(entry))
    return found ? found[0] : { problem: "it is an archive; upload the files in it one by one" }
  }
  if (bytes.subarray(0, OLE.length).equals(OLE))
    return {
      problem: "it is an Office file that is encrypted or of the old format; save it as docx, xlsx or pptx",
    }
  const text = decodeText(bytes)
  return text === undefined
    ? { problem: "it is neither text nor a known format" }
    : textFormat(text, name, declaredType)
}
