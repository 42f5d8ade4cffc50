/** What each format is, known without loading what makes it. */
import type { DocumentFormat } from "@svc/contract"

export interface FormatFacts {
  readonly title: string
  readonly contentType: string
}

const OFFICE = "application/vnd.openxmlformats-officedocument"

export const formats: Readonly<Record<DocumentFormat, FormatFacts>> = {
  docx: { title: "Word", contentType: `${OFFICE}.wordprocessingml.document` },
  pdf: { title: "PDF", contentType: "application/pdf" },
  pptx: { title: "PowerPoint", contentType: `${OFFICE}.presentationml.presentation` },
  xlsx: { title: "Excel", contentType: `${OFFICE}.spreadsheetml.sheet` },
  html: { title: "HTML", contentType: "text/html; charset=utf-8" },
  md: { title: "Markdown", contentType: "text/markdown; charset=utf-8" },
  txt: { title: "Plain text", contentType: "text/plain; charset=utf-8" },
  csv: { title: "CSV", contentType: "text/csv; charset=utf-8" },
}

/** A name of a file that every system takes. */
export const fileName = (title: string, format: DocumentFormat): string => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced.
  const safe = title.replaceAll(/[\u0000-\u001f\u007f"*/:<>?\\|]+/g, " ").replaceAll(/\s+/g, " ")
  const name = safe
    .trim()
    .slice(0, 100)
    .toWellFormed()
    .replaceAll(/^\.+|[. ]+$/g, "")
  return `${name || "document"}.${format}`
}

/** RFC 6266: the name in ASCII, and as it is. */
export const attachment = (name: string): string => {
  const ascii = name.replaceAll(/[^\x20-\x7e]/g, "_").replaceAll(/["\\%]/g, "_")
  const encoded = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    c => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`
}
