/** An organization's own model servers. */
import { AI_UPSTREAMS_MAX, type areas, type Input, page, pageOf } from "@svc/contract"
import { type GivenUpstream, toModel, type UpstreamModel } from "../../core/ai/upstream-record.ts"
import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { Call } from "../../kernel/call.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import { isUniqueViolation } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import { checkStatus, readJson } from "./answer.ts"
import { type Catalog, sealedFor, UPSTREAMS_TOPIC } from "./catalog.ts"
import { Cancelled, UpstreamFailure } from "./failure.ts"
import type { Health } from "./health.ts"
import { type UpstreamRow, upstreamStore } from "./store.ts"
import type { UpstreamClient } from "./upstream-client.ts"

type Specs = typeof areas.ai.specs

const TEST_MS = 10_000
const HINT_LENGTH = 4
const LISTED_MAX = 1_000

export interface UpstreamHandlerNeeds {
  readonly box: SecretBox
  readonly changes: Changes
  readonly catalog: Catalog
  readonly client: UpstreamClient
  readonly health: Health
  readonly clock: Clock
  readonly urlProblem: (url: string) => string | undefined
}

const toPayload = (row: UpstreamRow) => ({
  id: row.id,
  name: row.name,
  base_url: row.base_url,
  api_key_hint: row.api_key_hint,
  models: row.models.map(model => ({ ...model, kinds: [...model.kinds] })),
  priority: row.priority,
  weight: row.weight,
  enabled: row.enabled,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

const target = ({ id, name }: Pick<UpstreamRow, "id" | "name">) => ({ type: "ai_upstream", id, name })

const requireUpstream = (row: UpstreamRow | undefined, id: string): UpstreamRow => {
  if (!row) throw fault("ai_upstream_not_found", { id })
  return row
}

const checkModels = (models: GivenUpstream["models"]): UpstreamModel[] => {
  const given = models.map(toModel)
  if (new Set(given.map(({ id }) => id)).size < given.length)
    throw fault("invalid_parameter", { reason: "a model is listed twice" })
  return given
}

const named = async <Result>(name: string, write: () => Promise<Result>): Promise<Result> => {
  try {
    return await write()
  } catch (error) {
    if (isUniqueViolation(error, "upstreams_name"))
      throw fault("name_taken", { resource: "AI upstream", name })
    throw error
  }
}

export const upstreamHandlers = (needs: UpstreamHandlerNeeds) => {
  const { box, changes, catalog, client, health, clock, urlProblem } = needs

  const checkUrl = (url: string): string => {
    const problem = urlProblem(url)
    if (problem !== undefined) throw fault("invalid_parameter", { reason: problem })
    return url
  }

  const keyColumns = async (organizationId: string, id: string, key: string | null | undefined) => {
    if (key == null || key === "") return { api_key: null, api_key_hint: null }
    return {
      api_key: await box.seal(organizationId, sealedFor(id), key),
      api_key_hint: key.slice(-HINT_LENGTH),
    }
  }

  /** Every process forgets what it knows of the organization's upstreams. */
  const invalidate = async (call: Call, upstreamId: string) => {
    await changes.invalidate(call.db, UPSTREAMS_TOPIC, call.organization.id)
    call.committed(() => health.forget(upstreamId))
  }

  return {
    async upstreams(input: Input<Specs["upstreams"]>, call: Call) {
      const { rows, total } = await upstreamStore(call.db, call.organization.id).list(pageOf(input))
      return page({ rows: rows.map(toPayload), total }, input)
    },

    async createUpstream(input: Input<Specs["createUpstream"]>, call: Call) {
      const store = upstreamStore(call.db, call.organization.id)
      const { total } = await store.list({ limit: 1, offset: 0 })
      if (total >= AI_UPSTREAMS_MAX)
        throw fault("invalid_parameter", { reason: `there are ${AI_UPSTREAMS_MAX} upstreams already` })
      const id = newId(call.now.getTime())
      const row: UpstreamRow = {
        id,
        organization_id: call.organization.id,
        name: input.name,
        base_url: checkUrl(input.base_url),
        ...(await keyColumns(call.organization.id, id, input.api_key)),
        models: checkModels(input.models),
        priority: input.priority ?? 0,
        weight: input.weight ?? 1,
        enabled: input.enabled ?? true,
        created_at: call.now,
        updated_at: call.now,
      }
      await named(row.name, () => store.insert(row))
      await invalidate(call, id)
      call.describe({ targets: [target(row)] })
      return toPayload(row)
    },

    async getUpstream({ id }: Input<Specs["getUpstream"]>, call: Call) {
      return toPayload(requireUpstream(await upstreamStore(call.db, call.organization.id).find(id), id))
    },

    async updateUpstream(
      { id, api_key, models, base_url, ...input }: Input<Specs["updateUpstream"]>,
      call: Call,
    ) {
      const store = upstreamStore(call.db, call.organization.id)
      const before = requireUpstream(await store.findForUpdate(id), id)
      const isMoved =
        base_url !== undefined && new URL(checkUrl(base_url)).origin !== new URL(before.base_url).origin
      if (isMoved && api_key === undefined && before.api_key !== null)
        throw fault("invalid_parameter", { reason: "another address needs `api_key` again" })
      const change = {
        name: input.name ?? before.name,
        base_url: base_url ?? before.base_url,
        ...(api_key !== undefined && (await keyColumns(call.organization.id, id, api_key))),
        priority: input.priority ?? before.priority,
        weight: input.weight ?? before.weight,
        enabled: input.enabled ?? before.enabled,
        updated_at: call.now,
      }
      const listed = models === undefined ? before.models : checkModels(models)
      await named(change.name, () => store.update(id, { ...change, models: listed }))
      await invalidate(call, id)
      call.describe({ targets: [target(change.name === before.name ? before : { id, name: change.name })] })
      return toPayload({ ...before, ...change, models: listed })
    },

    async deleteUpstream({ id }: Input<Specs["deleteUpstream"]>, call: Call) {
      const store = upstreamStore(call.db, call.organization.id)
      const row = requireUpstream(await store.findForUpdate(id), id)
      await store.delete(id)
      await invalidate(call, id)
      call.describe({ targets: [target(row)] })
    },

    async testUpstream({ id }: Input<Specs["testUpstream"]>, call: Call) {
      const row = requireUpstream(await upstreamStore(call.db, call.organization.id).find(id), id)
      call.describe({ targets: [target(row)] })
      const upstream = await catalog.open(row)
      const flight = client.fly(call.signal, clock.now(), TEST_MS)
      const startedMs = performance.now()
      const told = (
        success: boolean,
        status_code: number | null,
        error: string | null,
        models: string[] = [],
      ) => ({
        success,
        status_code,
        error,
        models,
        response_time_ms: Math.round(performance.now() - startedMs),
      })
      try {
        const answer = await client.send(upstream, { method: "GET", path: "/models" }, flight)
        await checkStatus(answer, flight, clock.now())
        const { value } = await readJson(answer, flight, "data", clock.now())
        const listed = (value.data as readonly unknown[]).flatMap(model => idOf(model) ?? [])
        health.forget(id)
        return told(true, answer.status, null, listed.slice(0, LISTED_MAX))
      } catch (error) {
        if (error instanceof UpstreamFailure) return told(false, error.status ?? null, error.message)
        if (error instanceof Cancelled) throw fault("request_timeout", undefined, { internal: error })
        throw error
      } finally {
        flight.end()
      }
    },
  }
}

const idOf = (model: unknown): string | undefined => {
  const id = typeof model === "object" && model !== null ? (model as { id?: unknown }).id : undefined
  return typeof id === "string" ? id : undefined
}
