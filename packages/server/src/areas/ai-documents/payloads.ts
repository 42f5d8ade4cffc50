import type { DocumentFormat } from "@svc/contract"
import { fileName, formats } from "./formats/formats.ts"
import type { DocumentRow, VersionFacts } from "./store.ts"

const urlOf = (id: string, version?: number): string =>
  `/v1/ai/docgen/download/${id}${version === undefined ? "" : `?version=${version}`}`

export const toVersion = (row: VersionFacts) => {
  const format = row.format as DocumentFormat
  return {
    version: row.version,
    format,
    title: row.title,
    template: row.template,
    file_name: fileName(row.title, format),
    content_type: formats[format].contentType,
    bytes: row.bytes,
    sha256: row.sha256.toString("hex"),
    download_url: urlOf(row.document_id, row.version),
    method: "embedded" as const,
    created_at: row.created_at.toISOString(),
  }
}

export const toDocument = (row: VersionFacts) => ({ id: row.document_id, ...toVersion(row) })

export const toSummary = ({ id, title, format, version, created_at, updated_at }: DocumentRow) => ({
  id,
  title,
  format: format as DocumentFormat,
  version,
  download_url: urlOf(id),
  created_at: created_at.toISOString(),
  updated_at: updated_at.toISOString(),
})
