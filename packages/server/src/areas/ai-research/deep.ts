/**
 * Deep research: a job that looks for one question after the other and keeps what it found after each, so that a deadline, a
 * cancellation or the death of the process loses no more than the step under way.
 */
import type { BackgroundMeters } from "../../core/meters/meters.ts"
import type { Tenants } from "../../core/organizations/tenants.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Db } from "../../kernel/db/database.ts"
import { every } from "../../kernel/every.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Job, JobContext, Jobs } from "../../kernel/jobs/jobs.ts"
import type { Logger } from "../../kernel/log.ts"
import { type Offer, provided } from "../../kernel/offer.ts"
import type { AiModels, ModelCaller } from "../ai/offers.ts"
import { type Answered, answerByModel, answerFromSentences, type Part } from "./answers.ts"
import type { Gathering } from "./gather.ts"
import type { Material } from "./material.ts"
import { type Planned, planByFeedback, planByModel } from "./planning.ts"
import { type RunChange, type RunRow, type RunState, runStore } from "./store.ts"

export const RUN_QUEUE = "research.run"
const RETRIES_MS = [5_000, 60_000, 300_000]
/** Longer than any deadline. */
const RUN_MS_MAX = 4_000_000
const AT_ONCE = 4
const AT_ONCE_OF_A_TENANT = 2
const TICK_MS = 1_000
const SOURCES_A_STEP = 6
const SOURCES_MAX = 40
const PASSAGES_A_SOURCE = 8
const WARNINGS_MAX = 20
const BREADTH_MIN = 2

export interface RunPayload {
  readonly projectId: string
  readonly runId: string
}

export interface DeepNeeds {
  readonly db: Db
  readonly clock: Clock
  readonly jobs: Jobs
  readonly log: Logger
  readonly meters: BackgroundMeters
  readonly models: Offer<AiModels>
  readonly tenants: Tenants
  readonly gathering: Gathering
}

/** Why a research stops before it is done. */
class Stopped extends Error {
  override readonly name = "Stopped"
  readonly reason: "deadline" | "ended"

  constructor(reason: "deadline" | "ended") {
    super(reason)
    this.reason = reason
  }
}

const DEADLINE = "its deadline came before it was done"

export const firstState = (query: string): RunState => ({
  round: 1,
  waiting: [{ query, goal: "the question itself" }],
  found: [],
})

/** Steps that are expected in all. */
export const expectedSteps = (breadth: number, depth: number): number => {
  let steps = 0
  for (let round = 1, width = breadth; round <= depth; round++) {
    steps += width
    width = Math.min(width, Math.max(BREADTH_MIN, Math.floor(width / 2)))
  }
  return steps
}

const breadthOf = ({ breadth }: RunRow, round: number): number => {
  let width = breadth
  for (let done = 1; done < round; done++)
    width = Math.min(width, Math.max(BREADTH_MIN, Math.floor(width / 2)))
  return width
}

const merge = (known: readonly Material[], more: readonly Material[]): Material[] => {
  const byKey = new Map(known.map(material => [material.key, material]))
  for (const material of more) {
    const before = byKey.get(material.key)
    const passages = [...new Set([...(before?.passages ?? []), ...material.passages])].slice(
      0,
      PASSAGES_A_SOURCE,
    )
    const score = Math.max(before?.score ?? 0, material.score)
    if (before || byKey.size < SOURCES_MAX) byKey.set(material.key, { ...material, passages, score })
  }
  return [...byKey.values()]
}

const partsOf = ({ query, steps }: Pick<RunRow, "query" | "steps">): Part[] =>
  steps.map(step => ({ heading: step.query === query ? "Answer" : step.query, question: step.query }))

const columnsOf = ({ answer, sources, technique, model, method }: Answered) => ({
  ...{ answer, sources, technique, model, method },
})

export const createDeepResearch = ({
  db,
  clock,
  jobs,
  log,
  meters,
  models,
  tenants,
  gathering,
}: DeepNeeds) => {
  const runs = runStore(db)
  /** Researches under way here. */
  const live = new Map<string, AbortController>()

  const callerOf = async (row: RunRow, signal: AbortSignal): Promise<ModelCaller | undefined> => {
    const tenant = await tenants.find(row.project_id)
    if (!tenant) return undefined
    const { organization, projectId } = tenant
    return {
      ...{ organization, project: { id: projectId, name: "" }, requestId: `research-${row.id}`, signal },
      setHeader: () => undefined,
      meter: (metric, quantity) =>
        meters.count({
          ...{ organizationId: organization.id, projectId, metric, quantity },
          at: new Date(clock.now()),
        }),
    }
  }

  const save = async (row: RunRow, change: RunChange): Promise<RunRow> => {
    if (!(await runs.advance(row.project_id, row.id, change))) throw new Stopped("ended")
    return { ...row, ...change }
  }

  const warn = (row: RunRow, more: readonly string[]): string[] =>
    [...new Set([...row.warnings, ...more])].slice(0, WARNINGS_MAX)

  const writesByModel = async (
    { asked_technique, asked_model }: RunRow,
    caller: ModelCaller,
  ): Promise<boolean> =>
    asked_technique === "abstractive" ||
    asked_model !== null ||
    (asked_technique === null && (await (await provided(models)).hasChat(caller)))

  /** What to look for next. A model that cannot plan leaves it to the words of what was found. */
  const plan = async (
    row: RunRow,
    caller: ModelCaller,
    most: number,
  ): Promise<{ planned: Planned[]; warnings: string[] }> => {
    const asked = row.steps.map(({ query }) => query)
    const { found } = row.state
    const byFeedback = () => planByFeedback(row.query, asked, found, most)
    if (!(await writesByModel(row, caller))) return { planned: byFeedback(), warnings: [] }
    try {
      const how = { model: row.asked_model ?? undefined, caller }
      const planned = await planByModel(await provided(models), how, row.query, asked, found, most)
      if (planned) return { planned, warnings: [] }
      return { planned: byFeedback(), warnings: ["the model's plan was not the JSON that was asked for"] }
    } catch (error) {
      caller.signal.throwIfAborted()
      if (!(error instanceof Fault)) throw error
      return { planned: byFeedback(), warnings: [`the model could not plan: ${error.message}`] }
    }
  }

  /** One question: what it finds is kept, with the answer so far. */
  const step = async (row: RunRow, next: Planned, signal: AbortSignal): Promise<RunRow> => {
    const question = {
      ...{ projectId: row.project_id, query: next.query, scope: row.scope, signal },
      language: row.asked_language ?? undefined,
    }
    const { materials, warnings } = await gathering.read(question, SOURCES_A_STEP)
    const found = merge(row.state.found, materials)
    const steps = [
      ...row.steps,
      {
        round: row.state.round,
        query: next.query,
        goal: next.goal,
        found: found.length - row.state.found.length,
      },
    ]
    const soFar = await answerFromSentences(
      await provided(models),
      row.query,
      partsOf({ ...row, steps }),
      found,
    )
    signal.throwIfAborted()
    return save(row, {
      ...{ steps, state: { ...row.state, waiting: row.state.waiting.slice(1), found } },
      ...columnsOf(soFar),
      warnings: warn(row, warnings),
    })
  }

  /** Steps until nothing waits and no round is left. */
  const look = async (from: RunRow, caller: ModelCaller): Promise<RunRow> => {
    let row = from
    for (;;) {
      caller.signal.throwIfAborted()
      const [next] = row.state.waiting
      if (next) {
        row = await step(row, next, caller.signal)
        continue
      }
      const { round } = row.state
      const inRound = row.steps.filter(done => done.round === round).length
      // The first round begins with the question itself, and what that finds leads to the others.
      const isWide = round > 1 || inRound >= row.breadth || row.steps.length > 1
      if (isWide && round >= row.depth) return row
      const to = isWide ? round + 1 : round
      const most = isWide ? breadthOf(row, to) : row.breadth - inRound
      const { planned, warnings } = await plan(row, caller, most)
      caller.signal.throwIfAborted()
      if (planned.length === 0) return row
      const state = { ...row.state, round: to, waiting: planned }
      row = await save(row, { state, warnings: warn(row, warnings) })
    }
  }

  const finish = (row: RunRow, status: RunRow["status"], change: RunChange = {}) =>
    save(row, { ...change, status, finished_at: new Date(clock.now()) })

  const conclude = async (row: RunRow, caller: ModelCaller): Promise<void> => {
    if (row.state.found.length === 0) {
      await finish(row, "completed", { status_reason: "nothing was found" })
      return
    }
    if (!(await writesByModel(row, caller))) {
      await finish(row, "completed")
      return
    }
    try {
      const how = { model: row.asked_model ?? undefined, caller }
      const written = await answerByModel(
        await provided(models),
        row.query,
        partsOf(row),
        row.state.found,
        how,
      )
      const { warning } = written
      await finish(row, "completed", { ...columnsOf(written), warnings: warn(row, warning ? [warning] : []) })
    } catch (error) {
      caller.signal.throwIfAborted()
      if (!(error instanceof Fault)) throw error
      const reason = `the model could not write: ${error.message}`
      const isDemanded = row.asked_technique === "abstractive" || row.asked_model !== null
      if (isDemanded) await finish(row, "failed", { status_reason: reason })
      else await finish(row, "completed", { warnings: warn(row, [reason]) })
    }
  }

  const research = async (row: RunRow, controller: AbortController): Promise<void> => {
    const caller = await callerOf(row, controller.signal)
    if (!caller) return
    if (clock.now() >= row.deadline_at.getTime()) throw new Stopped("deadline")
    await conclude(await look(await save(row, { status: "running" }), caller), caller)
  }

  /** What became of a research that did not come to its end by itself. */
  const settle = async (row: RunRow, error: unknown, isLastAttempt: boolean): Promise<void> => {
    if (error instanceof Stopped && error.reason === "ended") return
    const end = (status: RunRow["status"], reason: string) =>
      runs.advance(row.project_id, row.id, {
        ...{ status, status_reason: reason, finished_at: new Date(clock.now()) },
      })
    if (error instanceof Stopped) {
      await end("partial", DEADLINE)
      return
    }
    // Nothing to look in answers: the next attempt may find it back.
    if (isLastAttempt) {
      const reason = error instanceof Fault ? error.message : "it could not be done, in several attempts"
      await end("failed", reason)
    }
    throw error
  }

  const run = async ({ payload, isLastAttempt }: Job<RunPayload>, { signal }: JobContext): Promise<void> => {
    const row = await runs.find(payload.projectId, payload.runId)
    if (!row || (row.status !== "queued" && row.status !== "running")) return
    const controller = new AbortController()
    const abort = () => controller.abort(signal.reason)
    signal.addEventListener("abort", abort, { once: true })
    live.set(row.id, controller)
    const checkTime = () => {
      if (clock.now() >= row.deadline_at.getTime()) controller.abort(new Stopped("deadline"))
    }
    const ticker = every(clock, TICK_MS, checkTime)
    try {
      await research(row, controller)
    } catch (error) {
      signal.throwIfAborted()
      const why = controller.signal.aborted ? controller.signal.reason : error
      await settle(row, why, isLastAttempt)
    } finally {
      ticker[Symbol.dispose]()
      live.delete(row.id)
      signal.removeEventListener("abort", abort)
    }
  }

  jobs.define<RunPayload>({
    ...{ name: RUN_QUEUE, run, concurrency: AT_ONCE, perTenantConcurrency: AT_ONCE_OF_A_TENANT },
    ...{ retries: RETRIES_MS, timeoutMs: RUN_MS_MAX },
    onDead: ({ payload }, error) => log.warn({ research: payload.runId, error }, "a deep research failed"),
  })

  return {
    /** Ends it at once where it runs here; elsewhere it ends at its next step. */
    stop: (id: string) => live.get(id)?.abort(new Stopped("ended")),
  }
}

export type DeepResearch = ReturnType<typeof createDeepResearch>
