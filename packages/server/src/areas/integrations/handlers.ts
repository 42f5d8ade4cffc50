import { areas, INTEGRATION_SECRET_GRACE_SECONDS_DEFAULT, type Input, page, pageOf } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { type Database, isUniqueViolation } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import { implement } from "../../kernel/implement.ts"
import type { Jobs } from "../../kernel/jobs/jobs.ts"
import { requireRow } from "../../kernel/require-row.ts"
import { sayingOf } from "./accounts.ts"
import { type CredentialsNeeds, credentialsHandlers } from "./credentials-handlers.ts"
import { type EventRow, eventStore, type NewEvent } from "./event-store.ts"
import { toEvent, toIntegration } from "./payloads.ts"
import { eventJobs } from "./processing.ts"
import { createReceive } from "./receive.ts"
import { repositoryProblem } from "./rules.ts"
import type { HookSecrets } from "./secrets.ts"
import { accountStore, type IntegrationRow, type IntegrationWithEvent, integrationStore } from "./store.ts"

type Specs = typeof areas.integrations.specs
type Changes = Omit<Input<Specs["update"]>, "id" | "status">

export interface IntegrationHandlerNeeds extends CredentialsNeeds {
  readonly database: Database
  readonly jobs: Jobs
  readonly secrets: HookSecrets
  readonly baseUrl: string
}

/** Of one project. */
const INTEGRATIONS_MAX = 200

const target = ({ id, repository }: Pick<IntegrationRow, "id" | "repository">) => ({
  ...{ type: "integration", id, name: repository },
})

const requireIntegration = (call: Call, id: string): Promise<IntegrationWithEvent> =>
  requireRow(integrationStore(call.db).find(call.projectTenant, id), "integration_not_found", {
    id,
  })

/** The row, locked; a call that changes it sees the newest. */
const requireIntegrationForUpdate = async (call: Call, id: string): Promise<IntegrationWithEvent> => {
  await integrationStore(call.db).findForUpdate(call.organization.id, id)
  return requireIntegration(call, id)
}

/** The columns that were named, those left out not among them. */
const columnsOf = (given: Changes) => ({
  ...(given.branch_filter && { branch_filter: [...given.branch_filter] }),
  ...(given.path_filter && {
    path_include: [...(given.path_filter.include ?? [])],
    path_exclude: [...(given.path_filter.exclude ?? [])],
  }),
  ...(given.auto_build !== undefined && { auto_build: given.auto_build }),
  ...(given.auto_deploy !== undefined && { auto_deploy: given.auto_deploy }),
  ...(given.preview !== undefined && { preview: given.preview }),
  ...(given.build && { build: JSON.stringify(given.build) }),
  ...(given.deploy_target !== undefined && {
    deploy_target: given.deploy_target && JSON.stringify(given.deploy_target),
  }),
})

const DEFAULTS = {
  ...{ branch_filter: [] as string[], path_include: [] as string[], path_exclude: [] as string[] },
  ...{ auto_build: true, auto_deploy: false, preview: false, build: "{}", deploy_target: null },
}

/** A row of which nothing has been heard yet. */
const UNHEARD = {
  ...{ status: "pending", old_secret: null, old_secret_until: null },
  ...{ last_event_at: null, last_event_id: null, last_error: null },
  ...{ polled_at: null, poll_etag: null, poll_after: null },
}

const checkInstallation = async (call: Call, provider: string, id: number | undefined) => {
  if (id === undefined) return
  if (provider !== "github") throw fault("invalid_parameter", { reason: "only GitHub has installations" })
  if (!(await accountStore(call.db).findInstallation(call.projectTenant, id)))
    throw fault("invalid_parameter", { reason: `installation ${id} is not linked to this project` })
}

const createHandler =
  ({ secrets, baseUrl }: IntegrationHandlerNeeds) =>
  async (
    { provider, repository, installation_id, webhook_secret, ...given }: Input<Specs["create"]>,
    call: Call,
  ) => {
    const owner = call.projectTenant
    const reason = repositoryProblem(provider, repository)
    if (reason !== undefined) throw fault("invalid_parameter", { reason })
    await checkInstallation(call, provider, installation_id)
    const store = integrationStore(call.db)
    if ((await store.count(owner)) >= INTEGRATIONS_MAX)
      throw fault("invalid_parameter", { reason: `there are ${INTEGRATIONS_MAX} integrations already` })
    const place = { id: newId(), organization_id: owner.organizationId }
    const { secret, columns } = await secrets.make(place, webhook_secret)
    try {
      await store.insert({
        ...{ ...place, project_id: owner.projectId, provider, repository },
        installation_id: installation_id ?? null,
        ...DEFAULTS,
        ...columnsOf(given),
        ...UNHEARD,
        ...columns,
        ...{ created_at: call.now, updated_at: call.now },
      })
    } catch (error) {
      if (isUniqueViolation(error, "integrations_repository")) throw fault("integration_exists")
      throw error
    }
    call.describe({ targets: [target({ id: place.id, repository })] })
    return { ...toIntegration(await requireIntegration(call, place.id), baseUrl), webhook_secret: secret }
  }

/** A received event once more, as a new one. */
const replayOf = (row: EventRow, now: Date): NewEvent => ({
  ...row,
  ...{ id: newId(), source: "replay", delivery_id: null },
  pull_request: row.pull_request === null ? null : JSON.stringify(row.pull_request),
  paths: row.paths === null ? null : JSON.stringify(row.paths),
  ...{ status: "received", reason: null, is_new: false, build_id: null },
  ...{ received_at: now, processed_at: null },
})

const eventHandlers = ({ jobs }: IntegrationHandlerNeeds) => ({
  async events({ id, status, ...input }: Input<Specs["events"]>, call: Call) {
    const { organization_id } = await requireIntegration(call, id)
    const chosen = { status, ...pageOf(input) }
    const { rows, total } = await eventStore(call.db).list(organization_id, id, chosen)
    return page({ rows: rows.map(toEvent), total }, input)
  },

  async replayEvent({ id, event_id }: Input<Specs["replayEvent"]>, call: Call) {
    const row = await requireIntegrationForUpdate(call, id)
    const store = eventStore(call.db)
    const event = await requireRow(store.find(row.organization_id, id, event_id), "delivery_not_found", {
      id: event_id,
    })
    const replay = replayOf(event, call.now)
    await store.insert([replay])
    const at = { last_event_at: call.now, last_event_id: replay.id }
    await integrationStore(call.db).update(row.organization_id, id, at)
    await jobs.enqueue(call.db, eventJobs(row.organization_id, id, [replay.id]))
    call.describe({ targets: [target(row)], metadata: { event_id } })
    const made = await requireRow(store.find(row.organization_id, id, replay.id), "delivery_not_found", {
      id: event_id,
    })
    return toEvent(made)
  },
})

const ownHandlers = (needs: IntegrationHandlerNeeds) => {
  const { secrets, accounts, baseUrl } = needs
  const nothingFound = { success: false, repository: null, default_branch: null }
  return {
    async rotateSecret(input: Input<Specs["rotateSecret"]>, call: Call) {
      const { id, webhook_secret, grace_period_seconds } = input
      const before = await requireIntegrationForUpdate(call, id)
      const { secret, columns } = await secrets.make(before, webhook_secret)
      const graceSeconds = grace_period_seconds ?? INTEGRATION_SECRET_GRACE_SECONDS_DEFAULT
      const until = new Date(call.now.getTime() + graceSeconds * 1_000)
      await integrationStore(call.db).update(before.organization_id, id, {
        ...columns,
        old_secret: graceSeconds === 0 ? null : before.secret,
        old_secret_until: graceSeconds === 0 ? null : until,
        updated_at: call.now,
      })
      call.describe({ targets: [target(before)] })
      return { ...toIntegration(await requireIntegration(call, id), baseUrl), webhook_secret: secret }
    },

    test: async ({ id }: Input<Specs["test"]>, call: Call) => {
      const row = await requireIntegration(call, id)
      call.describe({ targets: [target(row)] })
      const access = await accounts.ofIntegration(call.db, row)
      if (!access) return { ...nothingFound, error: "there is no installation and there are no credentials" }
      try {
        const { fullName, defaultBranch } = await access.repository(row.repository, call.signal)
        return { success: true, repository: fullName, default_branch: defaultBranch, error: null }
      } catch (error) {
        return { ...nothingFound, error: sayingOf(error) }
      }
    },
  }
}

export const integrationHandlers = implement(areas.integrations, (needs: IntegrationHandlerNeeds) => {
  const { baseUrl } = needs
  return {
    ...credentialsHandlers(needs),
    ...eventHandlers(needs),
    ...ownHandlers(needs),
    create: createHandler(needs),
    receive: createReceive(needs),

    async list(input, call) {
      const { rows, total } = await integrationStore(call.db).list(call.projectTenant, pageOf(input))
      return page({ rows: rows.map(row => toIntegration(row, baseUrl)), total }, input)
    },

    async get({ id }, call) {
      return toIntegration(await requireIntegration(call, id), baseUrl)
    },

    async update({ id, status, ...given }, call) {
      const before = await requireIntegrationForUpdate(call, id)
      // What was pushed meanwhile was to be ignored, so looking starts anew.
      const isResumed = before.status === "paused" && status === "active"
      if (isResumed) await eventStore(call.db).deleteAllHeads(before.organization_id, id)
      await integrationStore(call.db).update(before.organization_id, id, {
        ...columnsOf(given),
        ...(status !== undefined && { status }),
        ...(isResumed && { polled_at: null, poll_etag: null, last_error: null }),
        updated_at: call.now,
      })
      call.describe({ targets: [target(before)] })
      return toIntegration(await requireIntegration(call, id), baseUrl)
    },

    async delete({ id }, call) {
      const row = await requireIntegration(call, id)
      await integrationStore(call.db).delete(call.projectTenant, id)
      call.describe({ targets: [target(row)] })
    },
  }
})
