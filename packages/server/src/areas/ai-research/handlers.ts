import { setTimeout as delay } from "node:timers/promises"
import {
  areas,
  type Input,
  pageOf,
  RESEARCH_BREADTH_DEFAULT,
  RESEARCH_DEADLINE_SECONDS_DEFAULT,
  RESEARCH_DEPTH_DEFAULT,
  RESEARCH_RESULTS_DEFAULT,
  RESEARCH_SOURCES,
  RESEARCH_SOURCES_DEFAULT,
  RESEARCH_UNFINISHED_MAX,
  RESEARCH_WAIT_SECONDS_DEFAULT,
  type ResearchSourceName,
} from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import type { Database } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import { implement } from "../../kernel/implement.ts"
import type { Jobs } from "../../kernel/jobs/jobs.ts"
import { type Offer, provided } from "../../kernel/offer.ts"
import { requireRow } from "../../kernel/require-row.ts"
import { holds, requireScope } from "../../kernel/scopes.ts"
import type { AiModels } from "../ai/offers.ts"
import { answerByModel, answerFromSentences, ENGINE } from "./answers.ts"
import { type DeepResearch, expectedSteps, firstState, RUN_QUEUE, type RunPayload } from "./deep.ts"
import { type Gathering, inOrder } from "./gather.ts"
import { payloadOf, summaryOf } from "./payloads.ts"
import { type RunRow, runStore } from "./store.ts"

type Specs = typeof areas.research.specs

export interface ResearchHandlerNeeds {
  readonly database: Database
  readonly jobs: Jobs
  readonly models: Offer<AiModels>
  readonly gathering: Gathering
  readonly deep: DeepResearch
}

const POLL_MS = 100
const SEARCH_SCOPE = "search:read"

/** Why this caller's questions are not looked for there. */
const problemFor = (gathering: Gathering, call: Call, name: ResearchSourceName): string | undefined =>
  name === "search" && !holds(call.principal, SEARCH_SCOPE)
    ? `takes the scope ${SEARCH_SCOPE}`
    : gathering.problemOf(name)

/** Those that are asked for must be there; otherwise all that are. */
const scopeOf = (
  gathering: Gathering,
  call: Call,
  asked: readonly ResearchSourceName[] | undefined,
): ResearchSourceName[] => {
  if (!asked) return RESEARCH_SOURCES.filter(name => problemFor(gathering, call, name) === undefined)
  if (asked.includes("search")) requireScope(call, SEARCH_SCOPE)
  for (const name of asked) {
    const reason = gathering.problemOf(name)
    if (reason !== undefined)
      throw fault("service_unavailable", { reason }, { headers: { "x-should-retry": "false" } })
  }
  return inOrder(asked)
}

const checkTechnique = ({ technique, model }: { technique?: string; model?: string }): void => {
  if (technique === "extractive" && model !== undefined && model !== ENGINE)
    throw fault("invalid_parameter", { reason: `\`extractive\` is what ${ENGINE} does, not ${model}` })
  if (technique === "abstractive" && model === ENGINE)
    throw fault("invalid_parameter", { reason: `${ENGINE} takes sentences of the sources, and writes none` })
}

/** Naming the engine asks for what it does. */
const techniqueOf = ({ technique, model }: { technique?: RunRow["asked_technique"]; model?: string }) =>
  model === ENGINE ? "extractive" : (technique ?? null)

const searchHandler =
  ({ gathering, models }: ResearchHandlerNeeds) =>
  async (
    { query, sources, limit = RESEARCH_RESULTS_DEFAULT, language }: Input<Specs["search"]>,
    call: Call,
  ) => {
    const scope = scopeOf(gathering, call, sources)
    await (await provided(models)).countEmbedded(call)
    const { projectId } = call.projectTenant
    const question = { projectId, query, scope, language, signal: call.signal }
    const { materials, warnings } = await gathering.search(question)
    const results = materials.slice(0, limit).map(({ type, title, url, documentId, snippet, score }) => ({
      ...{ type, title, url, document_id: documentId, snippet },
      score: Math.round(score * 1e4) / 1e4,
    }))
    return { query, results, scope, warnings: [...warnings] }
  }

const runHandler =
  ({ gathering, models: offered }: ResearchHandlerNeeds) =>
  async (given: Input<Specs["run"]>, call: Call) => {
    checkTechnique(given)
    const { query, language, model, max_sources = RESEARCH_SOURCES_DEFAULT } = given
    const scope = scopeOf(gathering, call, given.sources)
    const models = await provided(offered)
    const technique = techniqueOf(given)
    const isWritten =
      technique === "abstractive" ||
      (technique === null && (model !== undefined || (await models.hasChat(call))))
    if (!isWritten) await models.countEmbedded(call)
    const question = { projectId: call.projectTenant.projectId, query, scope, language, signal: call.signal }
    const { materials, warnings } = await gathering.read(question, max_sources)
    const parts = [{ heading: undefined, question: query }]
    const { warning, ...answered } = isWritten
      ? await answerByModel(models, query, parts, materials, { model, caller: call })
      : { warning: undefined, ...(await answerFromSentences(models, query, parts, materials)) }
    return {
      ...{ query, ...answered, sources: [...answered.sources], scope },
      warnings: [...warnings, ...(warning === undefined ? [] : [warning])],
    }
  }

const newRun = (given: Input<Specs["deep"]>, scope: ResearchSourceName[], call: Call): RunRow => {
  const { organizationId, projectId } = call.projectTenant
  const { query, breadth = RESEARCH_BREADTH_DEFAULT, depth = RESEARCH_DEPTH_DEFAULT } = given
  const { deadline_seconds = RESEARCH_DEADLINE_SECONDS_DEFAULT, model, language } = given
  return {
    ...{ organization_id: organizationId, project_id: projectId, id: newId(call.now.getTime()), query },
    ...{ status: "queued", status_reason: null, scope, breadth, depth },
    asked_technique: techniqueOf(given),
    asked_model: model === ENGINE ? null : (model ?? null),
    asked_language: language ?? null,
    ...{ state: firstState(query), steps: [], planned: expectedSteps(breadth, depth) },
    ...{ sources: [], answer: null, technique: null, model: null, method: null, warnings: [] },
    created_at: call.now,
    deadline_at: new Date(call.now.getTime() + deadline_seconds * 1000),
    finished_at: null,
  }
}

const isOver = ({ status }: RunRow): boolean => status !== "queued" && status !== "running"

const deepHandler =
  ({ database, jobs, models, gathering }: ResearchHandlerNeeds) =>
  async (given: Input<Specs["deep"]>, call: Call) => {
    checkTechnique(given)
    const { wait_seconds = RESEARCH_WAIT_SECONDS_DEFAULT } = given
    const scope = scopeOf(gathering, call, given.sources)
    await (await provided(models)).countEmbedded(call)
    const run = newRun(given, scope, call)
    const { organization_id: tenantId, project_id: projectId, id: runId } = run
    await database.transaction(async tx => {
      const store = runStore(tx)
      if ((await store.countUnfinished(projectId)) >= RESEARCH_UNFINISHED_MAX)
        throw fault("invalid_parameter", {
          reason: `${RESEARCH_UNFINISHED_MAX} deep researches of the project are not done yet`,
        })
      await store.insert(run)
      const payload: RunPayload = { projectId, runId }
      await jobs.enqueue(tx, { queue: RUN_QUEUE, tenantId, payload })
    })
    call.describe({ targets: [{ type: "research", id: runId }] })
    const store = runStore(database.db)
    const until = performance.now() + wait_seconds * 1000
    for (;;) {
      const row = (await store.find(projectId, runId)) ?? run
      if (isOver(row) || performance.now() >= until || call.signal.aborted) return payloadOf(row)
      await delay(POLL_MS)
    }
  }

const statusHandler =
  ({ gathering, models }: ResearchHandlerNeeds) =>
  async (input: Input<Specs["status"]>, call: Call) => {
    const { projectId } = call.projectTenant
    const store = runStore(call.db)
    const run =
      input.id === undefined
        ? null
        : await requireRow(store.find(projectId, input.id), "resource_not_found", { id: input.id })
    const { rows, total } = run ? { rows: [run], total: 1 } : await store.list(projectId, pageOf(input))
    return {
      providers: RESEARCH_SOURCES.map(name => {
        const reason = problemFor(gathering, call, name) ?? null
        return { name, available: reason === null, reason }
      }),
      chat_model: await (await provided(models)).hasChat(call),
      run: run && payloadOf(run),
      runs: rows.map(summaryOf),
      total,
    }
  }

export const researchHandlers = implement(areas.research, (needs: ResearchHandlerNeeds) => ({
  run: runHandler(needs),
  deep: deepHandler(needs),
  search: searchHandler(needs),
  status: statusHandler(needs),

  async cancel({ id }, call) {
    const { projectId } = call.projectTenant
    const store = runStore(call.db)
    const change = { status: "cancelled", status_reason: "it was cancelled", finished_at: call.now } as const
    const isCancelled = await store.advance(projectId, id, change)
    const row = await requireRow(store.find(projectId, id), "resource_not_found", { id })
    if (isCancelled) call.committed(() => void needs.deep.stop(id))
    call.describe({ targets: [{ type: "research", id }] })
    return payloadOf(row)
  },

  async remove({ id }, call) {
    const isThere = await runStore(call.db).delete(call.projectTenant.projectId, id)
    if (!isThere) throw fault("resource_not_found", { id })
    call.committed(() => void needs.deep.stop(id))
    call.describe({ targets: [{ type: "research", id }] })
  },
}))
