/** Takes a file: what it is, whether it is known, and where it waits to be read. */
import { createHash } from "node:crypto"
import { buffer } from "node:stream/consumers"
import {
  RAG_DOCUMENTS_MAX,
  RAG_FILE_BYTES_MAX,
  RAG_FORMATS,
  RAG_METADATA_BYTES_MAX,
  type RagFormat,
} from "@svc/contract"
import { serviceUnavailable, translatePortErrors } from "../../core/port-faults.ts"
import type { Call } from "../../kernel/call.ts"
import type { Database, Tx } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { BlobPort } from "../../ports/blob/port.ts"
import type { Ingest } from "./ingest.ts"
import { CONTENT_TYPES, sniff } from "./reading/sniff.ts"
import { type DocumentRecord, documentStore } from "./store.ts"

export interface UploadNeeds {
  readonly database: Database
  readonly blob: BlobPort
  readonly ingest: Ingest
}

interface UploadedFile {
  readonly bytes: Buffer
  readonly name: string
  readonly format: RagFormat
  readonly metadata: Record<string, unknown>
}

const NAME_LENGTH_MAX = 255

const callBlobs = translatePortErrors({
  unavailable: serviceUnavailable("the store of files does not respond"),
})

const refused = (reason: string) => fault("invalid_parameter", { reason })

const readForm = async (call: Call): Promise<FormData> => {
  const type = call.header("content-type") ?? ""
  if (!/^multipart\/form-data\s*;/i.test(type))
    throw fault("unsupported_media_type", { types: "multipart/form-data" })
  const body = await buffer(call.stream)
  try {
    return await new Response(body, { headers: { "content-type": type } }).formData()
  } catch {
    throw refused("the body is not the multipart/form-data that it claims to be")
  }
}

const readMetadata = (given: File | string | null): Record<string, unknown> => {
  if (given === null) return {}
  if (typeof given !== "string" || Buffer.byteLength(given) > RAG_METADATA_BYTES_MAX)
    throw refused(`\`metadata\` is a text of at most ${RAG_METADATA_BYTES_MAX} bytes`)
  let value: unknown
  try {
    value = JSON.parse(given)
  } catch {
    value = undefined
  }
  if (typeof value !== "object" || value === null || Array.isArray(value) || given.includes("\\u0000"))
    throw refused("`metadata` must be a JSON object")
  return value as Record<string, unknown>
}

const readName = (given: File | string | null, file: File): string => {
  const name = typeof given === "string" && given !== "" ? given : file.name
  // Control characters would break lists, and PostgreSQL stores no null characters.
  const clean = name
    .replaceAll(/\p{Cc}/gu, " ")
    .trim()
    .toWellFormed()
  if (clean === "") throw refused("the file needs a name")
  if (clean.length > NAME_LENGTH_MAX) throw refused(`a name has at most ${NAME_LENGTH_MAX} characters`)
  return clean
}

const readUpload = async (call: Call): Promise<UploadedFile> => {
  const form = await readForm(call)
  const file = form.get("file")
  if (!(file instanceof File)) throw fault("missing_parameter", { field: "file" })
  if (file.size === 0) throw refused("the file is empty")
  if (file.size > RAG_FILE_BYTES_MAX) throw fault("payload_too_large", { bytes: RAG_FILE_BYTES_MAX })
  const bytes = Buffer.from(await file.arrayBuffer())
  const format = sniff(bytes, file.name, file.type)
  if (typeof format !== "string")
    throw refused(`the file cannot be read: ${format.problem}. These can: ${RAG_FORMATS.join(", ")}`)
  return {
    bytes,
    name: readName(form.get("name"), file),
    format,
    metadata: readMetadata(form.get("metadata")),
  }
}

export const createUpload = ({ database, blob, ingest }: UploadNeeds) => {
  /** A known document is read again only where reading it failed. */
  const update = async (
    tx: Tx,
    known: DocumentRecord,
    { name, metadata }: UploadedFile,
    publish: (id: string) => Promise<string>,
    now: Date,
  ) => {
    const { project_id: projectId, organization_id: organizationId, id } = known
    const address = known.status === "failed" ? await publish(id) : undefined
    await documentStore(tx).describeAgain(projectId, id, { name, metadata, address }, now)
    if (address !== undefined) await ingest.enqueue(tx, { organizationId, projectId, docId: id })
    return id
  }

  return async (call: Call): Promise<DocumentRecord> => {
    const uploaded = await readUpload(call)
    const { bytes, name, format, metadata } = uploaded
    const { organizationId, projectId } = call.projectTenant
    const sha256 = createHash("sha256").update(bytes).digest()
    const publish = (id: string) =>
      callBlobs(async () => {
        const staged = await blob.stage(
          id,
          (async function* () {
            yield bytes
          })(),
          { bytesMax: RAG_FILE_BYTES_MAX, signal: call.signal },
        )
        await staged.publish()
        return staged.address
      })
    const store = async (tx: Tx): Promise<string> => {
      const documents = documentStore(tx)
      const known = await documents.findBySha256(projectId, sha256)
      if (known) return update(tx, known, uploaded, publish, call.now)
      const { counts } = await documents.totals(projectId)
      const total = counts.queued + counts.processing + counts.ready + counts.failed
      if (total >= RAG_DOCUMENTS_MAX)
        throw fault("plan_limit_reached", { limit: RAG_DOCUMENTS_MAX, resources: "documents a project" })
      const id = newId(call.now.getTime())
      const document = {
        organization_id: organizationId,
        project_id: projectId,
        id,
        name,
        content_type: CONTENT_TYPES[format],
        format,
        size: bytes.length,
        sha256,
        address: await publish(id),
        metadata,
      }
      if (!(await documents.insert(document, call.now))) {
        const other = await documents.findBySha256(projectId, sha256)
        if (other) return update(tx, other, uploaded, publish, call.now)
      }
      await ingest.enqueue(tx, { organizationId, projectId, docId: id })
      return id
    }
    // Within the transaction, since the job can begin to read the document as soon as it ends.
    const document = await database.transaction(async tx => {
      const docId = await store(tx)
      const stored = await documentStore(tx).find(projectId, docId)
      if (!stored) throw fault("resource_not_found", { id: docId })
      return stored
    })
    call.describe({ targets: [{ type: "rag_document", id: document.id, name: document.name }] })
    return document
  }
}
