import { areas, CRON_SCHEDULES_MAX, type CronTargetOf, page, pageOf } from "@svc/contract"
import type { ScheduleTargets } from "../../core/schedule-targets.ts"
import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { Call } from "../../kernel/call.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import { isUniqueViolation } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { isUuid, newId } from "../../kernel/id.ts"
import { implement, type JudgeRisk, withRisk } from "../../kernel/implement.ts"
import type { Jobs } from "../../kernel/jobs/jobs.ts"
import type { Outbound } from "../../kernel/outbound/outbound.ts"
import { requireRow } from "../../kernel/require-row.ts"
import { requireScope } from "../../kernel/scopes.ts"
import { createSigningSecret, signingSecretHint } from "../../services/deliveries/signature.ts"
import { CANCELLED_TOPIC, jobOf } from "./claim.ts"
import { checkHttpTarget, originOf, unmasked } from "./http-target.ts"
import { toExecution, toSchedule } from "./payloads.ts"
import { readCron, readTarget, type ScheduleInput, scheduleColumns } from "./schedule-input.ts"
import { openTarget, sealTarget } from "./sealing.ts"
import { cronStore, type ScheduleRow } from "./store.ts"
import { cronTimes, timesAfter } from "./timetable.ts"

export interface CronHandlerNeeds {
  readonly box: SecretBox
  readonly changes: Changes
  readonly jobs: Jobs
  readonly outbound: Outbound
  readonly scheduleTargets: ScheduleTargets
  /** A schedule is due at this time. */
  readonly expect: (atMs: number) => void
}

const PREVIEW_DEFAULT = 5

const requireSchedule = (call: Call, id: string, how: "find" | "findForUpdate"): Promise<ScheduleRow> =>
  requireRow(isUuid(id) ? cronStore(call.db)[how](call.tenant, id) : undefined, "schedule_not_found", { id })

const auditTarget = ({ id, name }: Pick<ScheduleRow, "id" | "name">) => ({ type: "cron_schedule", id, name })

/** Whoever lets a schedule act must be allowed to act so. */
const checkTarget = async (
  { outbound, scheduleTargets }: CronHandlerNeeds,
  target: CronTargetOf,
  call: Call,
): Promise<void> => {
  if (target.type === "http") return checkHttpTarget(outbound, target)
  const kind = await scheduleTargets.find(target.type)
  if (!kind)
    throw fault("not_implemented", { reason: `nothing here runs targets of the type ${target.type}` })
  requireScope(call, kind.scope)
  await kind.check({ organizationId: call.organization.id, projectId: call.project?.id ?? null }, target)
}

const keyOf = (target: CronTargetOf): string =>
  target.type === "http" ? originOf(target.url).slice(0, 512) : target.type

const nameTaken = (error: unknown, name: string): unknown =>
  isUniqueViolation(error, "schedules_name") ? fault("name_taken", { resource: "schedule", name }) : error

const createWith =
  (needs: CronHandlerNeeds) =>
  async (input: Parameters<typeof readTarget>[0] & { name: string }, call: Call) => {
    const { organization, project, owner, now, db } = call
    const store = cronStore(db)
    const target = readTarget(input)
    if (!target) throw fault("missing_parameter", { field: "target" })
    const id = newId()
    const columns = scheduleColumns(input, id, undefined, call)
    await checkTarget(needs, target, call)
    if ((await store.count(organization.id)) >= CRON_SCHEDULES_MAX) {
      throw fault("plan_limit_reached", { limit: CRON_SCHEDULES_MAX, resources: "schedules" })
    }
    const signingSecret = createSigningSecret()
    const row: ScheduleRow = {
      ...{ next_runs: [], due_at: null, ...columns },
      ...{ id, organization_id: organization.id, owner_id: owner, project_id: project?.id ?? null },
      name: input.name,
      ...{ target_type: target.type, target_key: keyOf(target) },
      target: await sealTarget(
        needs.box,
        { id, organization_id: organization.id },
        { target, signingSecret },
      ),
      signing_secret_hint: signingSecretHint(signingSecret),
      ...{ last_run_at: null, last_status: null, failure_count: 0, executions_made: 0 },
      ...{ created_at: now, updated_at: now },
    }
    await store.insert(row).catch(error => {
      throw nameTaken(error, input.name)
    })
    call.describe({ targets: [auditTarget(row)] })
    expectNext(needs, row, call)
    return { ...toSchedule(row, target), signing_secret: signingSecret }
  }

const expectNext = ({ expect }: CronHandlerNeeds, { due_at }: ScheduleRow, call: Call) => {
  if (due_at) call.committed(() => expect(due_at.getTime()))
}

/** `replace` gives fields that are left out their defaults, `merge` leaves them as they are. */
const updateWith =
  (needs: CronHandlerNeeds, how: "replace" | "merge") =>
  async ({ id, ...input }: Parameters<typeof readTarget>[0] & { id: string }, call: Call) => {
    const before = await requireSchedule(call, id, "findForUpdate")
    const sealed = await openTarget(needs.box, before)
    const given = readTarget(input)
    if (!given && how === "replace") throw fault("missing_parameter", { field: "target" })
    const target = given && unmasked(given, sealed.target)
    const columns = scheduleColumns(input, id, how === "merge" ? before : undefined, call)
    if (target) await checkTarget(needs, target, call)
    const changes = {
      ...columns,
      ...(input.name !== undefined && { name: input.name }),
      ...(target && {
        ...{ target_type: target.type, target_key: keyOf(target) },
        target: await sealTarget(needs.box, before, { ...sealed, target }),
      }),
      updated_at: call.now,
    }
    const row = await cronStore(call.db)
      .update(before, changes)
      .catch(error => {
        throw nameTaken(error, input.name ?? before.name)
      })
    call.describe({ targets: [auditTarget(row)] })
    expectNext(needs, row, call)
    return toSchedule(row, target ?? sealed.target)
  }

const cancelWith =
  ({ changes }: CronHandlerNeeds) =>
  async (row: ScheduleRow, call: Call, executionId?: string) => {
    const cancelled = await cronStore(call.db).cancel(row, call.now, executionId)
    for (const { id } of cancelled) await changes.notify(call.db, CANCELLED_TOPIC, id)
    return cancelled
  }

const executionHandlers = (needs: CronHandlerNeeds) => {
  const cancel = cancelWith(needs)
  const requireExecution = (call: Call, row: ScheduleRow, id: string) =>
    requireRow(isUuid(id) ? cronStore(call.db).findExecution(row, id) : undefined, "execution_not_found", {
      id,
    })
  return {
    get: async (input: { id: string; execution_id: string }, call: Call) => {
      const row = await requireSchedule(call, input.id, "find")
      return toExecution(await requireExecution(call, row, input.execution_id))
    },
    cancel: async (input: { id: string; execution_id: string }, call: Call) => {
      const row = await requireSchedule(call, input.id, "findForUpdate")
      const execution = await requireExecution(call, row, input.execution_id)
      const [cancelled] = await cancel(row, call, execution.id)
      if (!cancelled) throw fault("invalid_state_transition", { state: execution.status })
      call.describe({ targets: [auditTarget(row)] })
      return toExecution(cancelled)
    },
    trigger: async ({ id }: { id: string }, call: Call) => {
      const row = await requireSchedule(call, id, "findForUpdate")
      const execution = await cronStore(call.db).insertExecution(row, {
        id: newId(),
        scheduled_for: call.now,
      })
      await needs.jobs.enqueue(call.db, jobOf(row, execution.id, false))
      call.describe({ targets: [auditTarget(row)] })
      return toExecution(execution)
    },
  }
}

export const cronHandlers = implement(areas.cron, (needs: CronHandlerNeeds) => {
  const cancel = cancelWith(needs)
  const executions = executionHandlers(needs)
  /** A schedule must not do unasked what its maker would have to ask for. */
  const targetRisk: JudgeRisk<ScheduleInput> = async input => {
    const target = readTarget(input)
    const kind = target && (await needs.scheduleTargets.find(target.type))
    const detail = target && (await kind?.risk?.(target))
    return detail === undefined ? undefined : { detail }
  }
  return {
    create: withRisk(targetRisk, createWith(needs)),
    replace: withRisk(targetRisk, updateWith(needs, "replace")),
    update: withRisk(targetRisk, updateWith(needs, "merge")),
    getExecution: executions.get,
    cancelExecution: executions.cancel,
    trigger: executions.trigger,

    async list(input, call) {
      const { rows, total } = await cronStore(call.db).list(call.tenant, pageOf(input))
      const shown = await Promise.all(
        rows.map(async row => toSchedule(row, (await openTarget(needs.box, row)).target)),
      )
      return page({ rows: shown, total }, input)
    },

    async get({ id }, call) {
      const row = await requireSchedule(call, id, "find")
      return toSchedule(row, (await openTarget(needs.box, row)).target)
    },

    async delete({ id }, call) {
      const row = await requireSchedule(call, id, "findForUpdate")
      await cancel(row, call)
      await cronStore(call.db).delete(row)
      call.describe({ targets: [auditTarget(row)] })
      return { id, deleted: true }
    },

    async executions({ id, status, ...input }, call) {
      const row = await requireSchedule(call, id, "find")
      const { rows, total } = await cronStore(call.db).listExecutions(row, { ...pageOf(input), status })
      return page({ rows: rows.map(toExecution), total }, input)
    },

    preview(input, call) {
      const { cron, timezone = "UTC" } = readCron(input.cron, input.timezone)
      const afterMs = input.after === undefined ? call.now.getTime() : Date.parse(input.after)
      const times = timesAfter(cronTimes(cron, timezone), afterMs, input.count ?? PREVIEW_DEFAULT)
      return { cron, timezone, next_runs: times.map(at => new Date(at).toISOString()) }
    },
  }
})
