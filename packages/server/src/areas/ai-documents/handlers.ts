import { createHash } from "node:crypto"
import {
  areas,
  DOCUMENT_EDITS_MAX,
  DOCUMENT_FORMATS,
  DOCUMENT_VERSIONS_MAX,
  DOCUMENTS_MAX,
  type DocumentFormat,
  type Input,
  page,
  pageOf,
} from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import type { Database } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import { implement } from "../../kernel/implement.ts"
import { requireRow } from "../../kernel/require-row.ts"
import type { FileCache } from "./file-cache.ts"
import { attachment, fileName, formats } from "./formats/formats.ts"
import type { ComposedDocument, DocumentSource, DocumentTree } from "./making/blocks.ts"
import type { Maker } from "./making/maker.ts"
import { toDocument, toSummary, toVersion } from "./payloads.ts"
import { NO_MODEL, noModel, readData, readSource } from "./rules.ts"
import { type DocumentRow, documentStore, type VersionRow } from "./store.ts"
import { templates } from "./templates.ts"

type Specs = typeof areas.aiDocuments.specs

export interface DocumentHandlerNeeds {
  readonly database: Database
  readonly maker: Maker
  readonly files: FileCache
}

const SOURCE_LENGTH_MAX = 2 * 1024 * 1024

const invalid = (reason: string) => fault("invalid_parameter", { reason })

/** Files of tenants are never pages of ours. */
const ISOLATION = { "content-security-policy": "sandbox", "x-content-type-options": "nosniff" } as const

const cacheName = (id: string, version: number, format: string) => `${id}:${version}:${format}`

const storeOf = (call: Call) => documentStore(call.db, call.projectTenant.projectId)

const findDocument = (call: Call, id: string): Promise<DocumentRow> =>
  requireRow(storeOf(call).find(id), "document_not_found", { id })

const findVersion = (call: Call, id: string, version: number): Promise<VersionRow> =>
  requireRow(storeOf(call).findVersion(id, version), "document_not_found", {
    id: `${id}, version ${version}`,
  })

const versionRow = (
  call: Call,
  facts: Pick<VersionRow, "document_id" | "version" | "format" | "template">,
  source: DocumentSource,
  made: ComposedDocument,
): VersionRow => {
  const text = JSON.stringify(source)
  if (text.length > SOURCE_LENGTH_MAX)
    throw invalid("its edits are too large together; make a new document of what it is now")
  return {
    project_id: call.projectTenant.projectId,
    document_id: facts.document_id,
    version: facts.version,
    title: made.tree.title,
    format: facts.format,
    template: facts.template,
    bytes: made.bytes.byteLength,
    sha256: createHash("sha256").update(text).digest(),
    edits: source.edits.length,
    source: text,
    tree: JSON.stringify(made.tree),
    created_at: call.now,
  }
}

const targetOf = ({ document_id, title }: VersionRow) => ({ type: "document", id: document_id, name: title })

const createWriter = ({ database, maker, files }: DocumentHandlerNeeds) => {
  /** Once it is stored, so that nothing is found in the cache that is not in the database. */
  const finish = (call: Call, row: VersionRow, { bytes }: ComposedDocument) => {
    files.set(cacheName(row.document_id, row.version, row.format), bytes)
    call.describe({ targets: [targetOf(row)], metadata: { version: row.version, format: row.format } })
    return toDocument(row)
  }

  return {
    async create({ format, ...input }: Input<Specs["create"]>, call: Call) {
      const { source, template } = readSource(input)
      if ((await storeOf(call).count()) >= DOCUMENTS_MAX)
        throw invalid(`the project has ${DOCUMENTS_MAX} documents; delete some first`)
      const task = { kind: "compose", source, earlierEdits: 0, format, createdAt: call.now } as const
      const made = await maker.make(call.organization.id, task)
      const id = newId(call.now.getTime())
      const row = versionRow(call, { document_id: id, version: 1, format, template }, source, made)
      const { project_id, title, version, created_at } = row
      await database.transaction(async tx => {
        const store = documentStore(tx, project_id)
        await store.insert({ project_id, id, format, title, version, created_at, updated_at: created_at })
        await store.insertVersion(row)
      })
      return finish(call, row, made)
    },

    async revise({ document_id: id, version, edits, instruction }: Input<Specs["revise"]>, call: Call) {
      const document = await findDocument(call, id)
      if ((edits === undefined) === (instruction === undefined))
        throw invalid("give exactly one of edits and instruction")
      if (edits === undefined) throw noModel()
      if (version !== undefined && version !== document.version)
        throw fault("conflict", { reason: `its latest version is ${document.version}` })
      if (document.version >= DOCUMENT_VERSIONS_MAX)
        throw invalid(`it has ${DOCUMENT_VERSIONS_MAX} versions; make a new document of what it is now`)
      const before = await findVersion(call, id, document.version)
      const earlier = JSON.parse(before.source) as DocumentSource
      const added = edits.map(edit => (edit.data ? { ...edit, data: readData(edit.data) } : edit))
      const source = { ...earlier, edits: [...earlier.edits, ...added] }
      if (source.edits.length > DOCUMENT_EDITS_MAX)
        throw invalid(`it has more than ${DOCUMENT_EDITS_MAX} edits; make a new document of what it is now`)
      const format = before.format as DocumentFormat
      const earlierEdits = earlier.edits.length
      const task = { kind: "compose", source, earlierEdits, format, createdAt: call.now } as const
      const made = await maker.make(call.organization.id, task)
      const facts = { document_id: id, version: document.version + 1, format, template: before.template }
      const row = versionRow(call, facts, source, made)
      await database.transaction(async tx => {
        const store = documentStore(tx, row.project_id)
        const locked = await requireRow(store.findForUpdate(id), "document_not_found", { id })
        if (locked.version !== document.version)
          throw fault("conflict", { reason: `its latest version is ${locked.version}` })
        await store.insertVersion(row)
        await store.update(id, { title: row.title, version: row.version, updated_at: row.created_at })
      })
      return finish(call, row, made)
    },
  }
}

export const documentHandlers = implement(areas.aiDocuments, (needs: DocumentHandlerNeeds) => {
  const { maker, files } = needs

  const fileOf = async (call: Call, row: VersionRow, format: DocumentFormat): Promise<Uint8Array> => {
    const name = cacheName(row.document_id, row.version, format)
    const known = files.get(name)
    if (known) return known
    const tree = JSON.parse(row.tree) as DocumentTree
    const task = { kind: "render", tree, format, createdAt: row.created_at } as const
    const { bytes } = await maker.make(call.organization.id, task)
    files.set(name, bytes)
    return bytes
  }

  return {
    ...createWriter(needs),

    async download({ doc_id, version, format: wanted }, call) {
      const document = await findDocument(call, doc_id)
      const row = await findVersion(call, doc_id, version ?? document.version)
      const format = wanted ?? (row.format as DocumentFormat)
      const bytes = await fileOf(call, row, format)
      const headers = {
        ...{ "content-type": formats[format].contentType, "cache-control": "private, no-cache" },
        "content-disposition": attachment(fileName(row.title, format)),
        ...ISOLATION,
      }
      for (const [name, value] of Object.entries(headers)) call.setHeader(name, value)
      return bytes
    },

    formats: () => ({
      formats: DOCUMENT_FORMATS.map(format => {
        const { title, contentType } = formats[format]
        return { format, title, content_type: contentType, extension: `.${format}` }
      }),
    }),

    async history(input, call) {
      const { rows, total } = await storeOf(call).list(pageOf(input))
      return page({ rows: rows.map(toSummary), total }, input)
    },

    async preview(input, call) {
      const { source } = readSource(input)
      const task = { kind: "compose", source, earlierEdits: 0, format: "html", createdAt: call.now } as const
      const { tree, words, bytes } = await maker.make(call.organization.id, task)
      const html = new TextDecoder().decode(bytes)
      return { title: tree.title, html, words, blocks: tree.blocks.length, method: "embedded" as const }
    },

    async status(_input, call) {
      const store = storeOf(call)
      return {
        status: "available" as const,
        formats: [...DOCUMENT_FORMATS],
        documents: await store.count(),
        documents_max: DOCUMENTS_MAX,
        versions: await store.countVersions(),
        prompts: { available: false, reason: NO_MODEL },
      }
    },

    templates: () => ({
      templates: templates.map(template => ({
        ...template,
        variables: [...template.variables],
        example: { ...template.example },
      })),
    }),

    async versions({ doc_id, ...input }, call) {
      await findDocument(call, doc_id)
      const { rows, total } = await storeOf(call).listVersions(doc_id, pageOf(input))
      return page({ rows: rows.map(toVersion), total }, input)
    },

    async delete({ doc_id }, call) {
      const { title } = await findDocument(call, doc_id)
      await storeOf(call).delete(doc_id)
      call.describe({ targets: [{ type: "document", id: doc_id, name: title }] })
    },
  }
})
