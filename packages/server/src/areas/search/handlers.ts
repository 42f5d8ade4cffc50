import {
  areas,
  type Input,
  type Output,
  page,
  pageOf,
  type Scope,
  SEARCH_FACET_VALUES_MAX,
  SEARCH_FACETS_MAX,
  SEARCH_LANGUAGE_DEFAULT,
  SEARCH_LIMIT_DEFAULT,
  SEARCH_SOURCES_MAX,
} from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import type { Database } from "../../kernel/db/database.ts"
import { isUniqueViolation } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { isUuid, newId } from "../../kernel/id.ts"
import { implement } from "../../kernel/implement.ts"
import { requireRow } from "../../kernel/require-row.ts"
import { requireScope } from "../../kernel/scopes.ts"
import { toIso } from "../../kernel/to-iso.ts"
import type { SearchPort } from "../../ports/search/port.ts"
import { callEngine } from "./call-engine.ts"
import type { Item } from "./documents.ts"
import { parseFilter, pathOf } from "./filter.ts"
import type { Freshness } from "./freshness.ts"
import type { Ingest } from "./ingest.ts"
import { type RunRecord, runStore } from "./runs.ts"
import { checkConfig } from "./sources/config.ts"
import {
  type SourceChanges,
  type SourceRecord,
  type SourceType,
  type SourceView,
  sourceStore,
} from "./store.ts"
import type { Writer } from "./writer.ts"

type Operations = typeof areas.search.specs
type UpsertInput = Input<Operations["upsertSource"]>
type GivenDocument = Input<Operations["putDocuments"]>["documents"][number]

export interface SearchHandlerNeeds {
  readonly database: Database
  readonly index: SearchPort
  readonly writer: Writer
  readonly ingest: Ingest
  readonly freshness: Freshness
  readonly now: () => number
  readonly urlProblem: (url: string) => string | undefined
}

const FIELDS_DEFAULT = [
  { path: "title", weight: 4 },
  { path: "text", weight: 1 },
]

/** What a source reads is found by whoever may search, so it takes the right to read it. */
const READ_BY_TYPE: Readonly<Partial<Record<SourceType, Scope>>> = {
  database: "database:read",
  storage: "storage:read",
}

const sourcePayload = (source: SourceView): Output<Operations["getSource"]> => ({
  ...{ id: source.id, name: source.name, type: source.type, config: source.config, fields: source.fields },
  ...{ language: source.language, schedule: source.schedule_seconds, enabled: source.enabled },
  status: (source.run_status ?? "idle") as Output<Operations["getSource"]>["status"],
  ...{ document_count: source.document_count, last_error: source.last_error },
  last_run_at: toIso(source.last_run_at),
  ...{ created_at: source.created_at.toISOString(), updated_at: source.updated_at.toISOString() },
})

const runPayload = (run: RunRecord) => ({
  ...{ run_id: run.id, source_id: run.source_id, status: run.status },
  ...{
    seen: run.seen,
    written: run.written,
    unchanged: run.unchanged,
    failed: run.failed,
    removed: run.removed,
  },
  ...{ errors: run.errors, error: run.error, created_at: run.created_at.toISOString() },
  ...{ started_at: toIso(run.started_at), finished_at: toIso(run.finished_at) },
})

/** Of several readings: under way while any is, failed when any has. */
const statusOf = (runs: readonly Pick<RunRecord, "status">[]): RunRecord["status"] =>
  (["running", "queued", "failed"] as const).find(status => runs.some(run => run.status === status)) ??
  "succeeded"

const projectOf = ({ owner }: Call): string => owner

const requireSource = (call: Call, id: string): Promise<SourceView> =>
  requireRow(sourceStore(call.db).find(projectOf(call), id), "resource_not_found", { id })

const needInline = (source: SourceRecord): void => {
  if (source.type !== "inline")
    throw fault("invalid_parameter", {
      reason: `documents can be added to inline sources only; this one has the type ${source.type}`,
    })
}

const toItem = ({ id, title = "", text = "", url, metadata = {}, language, boost }: GivenDocument): Item => ({
  ...{ id, title, url: url ?? null, metadata, language, boost },
  record: { title, text, metadata },
})

const facetsOf = (facets = ""): string[] => {
  const names = [...new Set(facets.split(",").flatMap(name => name.trim() || []))]
  if (names.length > SEARCH_FACETS_MAX)
    throw fault("invalid_parameter", { reason: `at most ${SEARCH_FACETS_MAX} facets are counted` })
  return names
}

const searchHandler =
  ({ index, now }: SearchHandlerNeeds) =>
  async (input: Input<Operations["query"]>, call: Call): Promise<Output<Operations["query"]>> => {
    const from = now()
    const { q = "", source, limit = SEARCH_LIMIT_DEFAULT, offset = 0, language, highlight = true } = input
    const names = facetsOf(input.facets)
    const query = {
      ...{ text: q, language, highlight, limit, offset },
      sourceId: source?.toLowerCase(),
      withoutSources: await sourceStore(call.db).deletedIds(projectOf(call)),
      filter: parseFilter(input.filter),
      facets: names.map(pathOf),
      facetValuesMax: SEARCH_FACET_VALUES_MAX,
    }
    // Nobody has a source that is not named by a UUID.
    const isNothing = source !== undefined && !isUuid(source)
    const { hits, total, facets } = isNothing
      ? { hits: [], total: 0, facets: [] }
      : await callEngine(() => index.search(projectOf(call), query))
    return {
      query: q,
      hits: hits.map(({ sourceId, ...hit }) => ({ ...hit, source_id: sourceId })),
      total,
      facets: Object.fromEntries(names.map((name, n) => [name, facets[n] ?? []])),
      took_ms: now() - from,
    }
  }

const changesOf = (input: UpsertInput, known: SourceRecord | undefined): SourceChanges => ({
  ...{ name: input.name, type: input.type },
  config: input.config ?? known?.config ?? {},
  fields: (input.fields ?? known?.fields ?? FIELDS_DEFAULT).map(({ path, weight = 1 }) => ({ path, weight })),
  language: input.language ?? known?.language ?? SEARCH_LANGUAGE_DEFAULT,
  schedule_seconds: input.schedule === undefined ? (known?.schedule_seconds ?? null) : input.schedule,
  enabled: input.enabled ?? known?.enabled ?? true,
})

const upsertHandler =
  ({ urlProblem }: SearchHandlerNeeds) =>
  async (input: UpsertInput, call: Call) => {
    const { db, now } = call
    const project = projectOf(call)
    const sources = sourceStore(db)
    const known = input.id
      ? await requireSource(call, input.id)
      : await sources.findByName(project, input.name)
    if (known && known.type !== input.type)
      throw fault("invalid_parameter", { reason: `the source is of type ${known.type}, which never changes` })
    const changes = changesOf(input, known)
    if (changes.type === "database" && !known && input.fields === undefined)
      throw fault("invalid_parameter", {
        reason: "a source of type database names the columns to search in fields",
      })
    checkConfig(changes.type, changes.config, urlProblem)
    const read = READ_BY_TYPE[changes.type]
    if (read) requireScope(call, read)
    try {
      if (known) {
        await sources.update(project, known.id, changes, now)
        return sourcePayload(await requireSource(call, known.id))
      }
      if ((await sources.count(project)) >= SEARCH_SOURCES_MAX)
        throw fault("invalid_parameter", {
          reason: `a project has at most ${SEARCH_SOURCES_MAX} search sources`,
        })
      const id = newId(now.getTime())
      await sources.insert(
        { id, organization_id: call.organization.id, project_id: project, ...changes },
        now,
      )
      return sourcePayload(await requireSource(call, id))
    } catch (error) {
      if (isUniqueViolation(error)) throw fault("name_taken", { resource: "search source", name: input.name })
      throw error
    }
  }

const documentHandlers = ({ writer }: SearchHandlerNeeds) => ({
  // The index may be elsewhere, and is written before this call is.
  putDocuments: async ({ id, documents }: Input<Operations["putDocuments"]>, call: Call) => {
    needInline(await requireSource(call, id))
    const at = { projectId: projectOf(call), sourceId: id }
    const outcome = await callEngine(() => writer.put(at, documents.map(toItem), null))
    if (!outcome) throw fault("resource_not_found", { id })
    const { written, unchanged, unreadable } = outcome
    return {
      ...{ written, unchanged },
      errors: unreadable.map(({ id, problem }) => ({ document_id: id, message: problem })),
    }
  },

  deleteDocuments: async ({ id, ids }: Input<Operations["deleteDocuments"]>, call: Call) => {
    needInline(await requireSource(call, id))
    const at = { projectId: projectOf(call), sourceId: id }
    const deleted = await callEngine(() => writer.remove(at, [...new Set(ids)]))
    if (deleted === undefined) throw fault("resource_not_found", { id })
    return { deleted }
  },
})

const ingestHandlers = ({ ingest }: SearchHandlerNeeds) => {
  const start = async (call: Call, sources: readonly SourceView[]) => {
    const { runId, runs } = await ingest.begin(call.db, sources, call.now)
    const started = runs.map(({ id, source_id, status }) => ({ run_id: id, source_id, status }))
    return { run_id: runs[0]?.id ?? runId, status: statusOf(runs), sources: started }
  }
  return {
    runIngest: async (_: unknown, call: Call) =>
      start(call, await sourceStore(call.db).readable(projectOf(call))),

    async runSource({ id }: { id: string }, call: Call) {
      const source = await requireSource(call, id)
      if (source.type === "inline")
        throw fault("invalid_parameter", { reason: "an inline source has nothing to read" })
      const started = await start(call, [source])
      if (started.sources.length === 0) throw fault("resource_not_found", { id })
      return started
    },

    async listRuns(input: Input<Operations["listRuns"]>, call: Call) {
      await requireSource(call, input.id)
      const { rows, total } = await runStore(call.db).list(projectOf(call), input.id, pageOf(input))
      return page({ rows: rows.map(runPayload), total }, input)
    },

    async getRun({ id }: { id: string }, call: Call) {
      const runs = await runStore(call.db).find(projectOf(call), id)
      if (runs.length === 0) throw fault("resource_not_found", { id })
      return { run_id: id, status: statusOf(runs), sources: runs.map(runPayload) }
    },
  }
}

export const searchHandlers = implement(areas.search, (needs: SearchHandlerNeeds) => ({
  query: searchHandler(needs),

  suggest: async ({ prefix, limit = 10 }, call) => ({
    suggestions: await callEngine(() => needs.index.suggest(projectOf(call), prefix, limit)),
  }),

  async listSources(input, call) {
    const { rows, total } = await sourceStore(call.db).list(projectOf(call), pageOf(input))
    return page({ rows: rows.map(sourcePayload), total }, input)
  },

  upsertSource: upsertHandler(needs),

  getSource: async ({ id }, call) => sourcePayload(await requireSource(call, id)),

  async deleteSource({ id }, call) {
    const source = await requireSource(call, id)
    await needs.ingest.remove(call.db, source, call.now)
  },

  ...ingestHandlers(needs),
  ...documentHandlers(needs),

  async stats(_, call) {
    const project = projectOf(call)
    const { documents, sources, last_ingest_at, pending } = await sourceStore(call.db).stats(project)
    return {
      ...{ documents, sources, pending: pending ?? 0, last_ingest_at: toIso(last_ingest_at) },
      index_bytes: await callEngine(() => needs.index.bytes(project)),
      tts_p95_ms: needs.freshness.p95(project),
    }
  },
}))
