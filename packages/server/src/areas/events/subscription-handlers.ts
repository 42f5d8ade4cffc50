import {
  type areas,
  type Input,
  page,
  pageOf,
  SUBSCRIPTION_RETRIES_DEFAULT,
  SUBSCRIPTION_SECRET_GRACE_SECONDS_DEFAULT,
  SUBSCRIPTIONS_MAX,
  WEBHOOK_SECONDS_DEFAULT,
  WEBHOOK_SECONDS_MAX,
  workloadLimits,
} from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { Offer } from "../../kernel/offer.ts"
import type { Outbound } from "../../kernel/outbound/outbound.ts"
import { requireRow } from "../../kernel/require-row.ts"
import { requireScope } from "../../kernel/scopes.ts"
import type { Deliveries } from "../../services/deliveries/deliveries.ts"
import { isReservedHeader } from "../../services/deliveries/envelope.ts"
import { createSigningSecret } from "../../services/deliveries/signature.ts"
import type { FunctionCaller } from "../functions/offers.ts"
import type { Endpoints } from "./endpoints.ts"
import { toSubscription } from "./payloads.ts"
import { type SubscriptionRow, subscriptionStore, topicStore } from "./store.ts"
import { requireTopic, TOPIC_TOPIC } from "./topic-handlers.ts"

type Specs = typeof areas.events.specs
type SubscriptionInput = Omit<Input<Specs["updateSubscription"]>, "sub_id" | "status">

export interface SubscriptionHandlerNeeds {
  readonly deliveries: Deliveries
  readonly changes: Changes
  readonly endpoints: Endpoints
  readonly functions: Offer<FunctionCaller>
  readonly outbound: Pick<Outbound, "urlProblem" | "headersProblem">
}

/** Settings that only subscriptions of the other type have: refused, since they would change nothing. */
const FOREIGN_SETTINGS = { webhook: ["function_name"], function: ["url", "headers"] } as const

const refuseForeignSettings = (type: string, config: SubscriptionInput["config"]): void => {
  const foreign = FOREIGN_SETTINGS[type === "webhook" ? "webhook" : "function"]
  const given = foreign.find(name => config[name] !== undefined)
  if (given !== undefined) {
    throw fault("invalid_parameter", { reason: `config.${given} is not a setting of a ${type} subscription` })
  }
}

/** A function ends at its own limit, so one without a time here gets the longest that any function may have. */
const timeoutSecondsOf = (type: string, { timeout_seconds: given }: SubscriptionInput["config"]): number => {
  if (type === "function") return given ?? workloadLimits.function.timeout_seconds.max
  if (given !== undefined && given > WEBHOOK_SECONDS_MAX) {
    const reason = `config.timeout_seconds of a webhook subscription is at most ${WEBHOOK_SECONDS_MAX}`
    throw fault("invalid_parameter", { reason })
  }
  return given ?? WEBHOOK_SECONDS_DEFAULT
}

export const endpointOf = ({ organization_id, id }: Pick<SubscriptionRow, "organization_id" | "id">) => ({
  tenantId: organization_id,
  endpointId: id,
})

export const requireSubscription = (call: Call, id: string): Promise<SubscriptionRow> =>
  requireRow(subscriptionStore(call.db).find(call.tenant, id), "subscription_not_found", { id })

export const requireSubscriptionForUpdate = (call: Call, id: string): Promise<SubscriptionRow> =>
  requireRow(subscriptionStore(call.db).findForUpdate(call.tenant, id), "subscription_not_found", { id })

export const targetOf = ({ id, target }: SubscriptionRow) => ({
  type: "subscription",
  id,
  name: URL.canParse(target) ? new URL(target).host : target,
})

/** Where a subscription leads; what cannot be reached is refused now rather than at each delivery. */
const checkTarget = async (
  type: string,
  { url, function_name, headers = {} }: SubscriptionInput["config"],
  call: Call,
  { functions, outbound }: SubscriptionHandlerNeeds,
): Promise<string> => {
  const reserved = Object.keys(headers).find(isReservedHeader)
  if (reserved !== undefined) {
    throw fault("invalid_parameter", { reason: `the header ${reserved} is reserved` })
  }
  const problem = outbound.headersProblem(headers)
  if (problem !== undefined) throw fault("invalid_parameter", { reason: problem })
  if (type === "webhook") {
    if (url === undefined) throw fault("missing_parameter", { field: "config.url" })
    const reason = outbound.urlProblem(url)
    if (reason !== undefined) throw fault("invalid_webhook_url", { reason })
    return url
  }
  const caller = await functions.get()
  if (!caller) throw fault("not_implemented", { reason: "the functions area does not run here" })
  if (function_name === undefined) throw fault("missing_parameter", { field: "config.function_name" })
  if (!call.project) throw fault("invalid_parameter", { reason: "a function belongs to a project: name it" })
  // Whoever has events run code must be allowed to run it.
  requireScope(call, "functions:invoke")
  await caller.check({
    organizationId: call.organization.id,
    projectId: call.project.id,
    name: function_name,
  })
  return function_name
}

/** The columns that a create and a change write alike. */
const columnsOf = async (
  type: string,
  of: Pick<SubscriptionRow, "organization_id" | "id">,
  given: SubscriptionInput,
  call: Call,
  needs: SubscriptionHandlerNeeds,
) => {
  const { config, filter = {}, max_retries, retry_schedule_seconds, ordered, max_per_second } = given
  refuseForeignSettings(type, config)
  return {
    target: await checkTarget(type, config, call, needs),
    timeout_seconds: timeoutSecondsOf(type, config),
    format: config.format ?? "standard",
    event_types: [...(filter.event_types ?? [])],
    max_retries: max_retries ?? SUBSCRIPTION_RETRIES_DEFAULT,
    retry_schedule_seconds: retry_schedule_seconds ? [...retry_schedule_seconds] : null,
    ordered: ordered ?? false,
    max_per_second: max_per_second ?? null,
    updated_at: call.now,
    ...(config.headers && {
      headers: await needs.endpoints.encryptHeaders(of, config.headers),
      header_names: Object.keys(config.headers),
    }),
  }
}

const createWith =
  (needs: SubscriptionHandlerNeeds) =>
  async ({ topic_id, sub_type, ...given }: Input<Specs["createSubscription"]>, call: Call) => {
    const owner = call.tenant
    if (!(await topicStore(call.db).lock(owner, topic_id))) throw fault("topic_not_found", { id: topic_id })
    const store = subscriptionStore(call.db)
    if ((await store.count(owner, topic_id)) >= SUBSCRIPTIONS_MAX) {
      throw fault("invalid_parameter", { reason: `the topic has ${SUBSCRIPTIONS_MAX} subscriptions already` })
    }
    const of = { organization_id: call.organization.id, id: newId() }
    const secret = createSigningSecret()
    const row: SubscriptionRow = {
      ...{ ...of, project_id: call.project?.id ?? null, owner_id: call.owner, topic_id, sub_type },
      ...{ headers: null, header_names: [], status: "active", disabled_reason: null },
      ...(await columnsOf(sub_type, of, given, call, needs)),
      ...(await needs.endpoints.encrypt(of, secret)),
      created_at: call.now,
    }
    await store.insert(row)
    await needs.changes.invalidate(call.db, TOPIC_TOPIC, topic_id)
    call.describe({ targets: [targetOf(row)] })
    return { ...toSubscription(row, undefined), signing_secret: secret }
  }

const updateWith =
  (needs: SubscriptionHandlerNeeds) =>
  async ({ sub_id, status = "active", ...given }: Input<Specs["updateSubscription"]>, call: Call) => {
    const { deliveries, endpoints, changes } = needs
    const before = await requireSubscriptionForUpdate(call, sub_id)
    const of = endpointOf(before)
    const row: SubscriptionRow = {
      ...before,
      ...(await columnsOf(before.sub_type, before, given, call, needs)),
      ...{ status, disabled_reason: status === "active" ? null : (before.disabled_reason ?? "owner") },
    }
    const { id, organization_id: _organization, owner_id: _owner, topic_id, ...columns } = row
    await subscriptionStore(call.db).update(call.tenant, id, columns)
    if (status === "disabled") await deliveries.cancel(call.db, of)
    else if (before.status === "disabled" || before.target !== row.target) {
      await deliveries.forgive(call.db, of)
    }
    await endpoints.invalidate(call.db, id)
    await changes.invalidate(call.db, TOPIC_TOPIC, topic_id)
    call.describe({ targets: [targetOf(row)] })
    const health = await deliveries.health(call.db, of.tenantId, [id])
    return toSubscription(row, health.get(id))
  }

const rotateWith =
  ({ endpoints, deliveries }: SubscriptionHandlerNeeds) =>
  async ({ sub_id, grace_period_seconds }: Input<Specs["rotateSecret"]>, call: Call) => {
    const row = await requireSubscriptionForUpdate(call, sub_id)
    const graceSeconds = grace_period_seconds ?? SUBSCRIPTION_SECRET_GRACE_SECONDS_DEFAULT
    const secret = createSigningSecret()
    const changed = {
      ...(await endpoints.rotate(call.db, row, { secret, graceSeconds, now: call.now })),
      updated_at: call.now,
    }
    await subscriptionStore(call.db).update(call.tenant, sub_id, changed)
    await endpoints.invalidate(call.db, sub_id)
    call.describe({ targets: [targetOf(row)] })
    const health = await deliveries.health(call.db, row.organization_id, [sub_id])
    return { ...toSubscription({ ...row, ...changed }, health.get(sub_id)), signing_secret: secret }
  }

export const subscriptionHandlers = (needs: SubscriptionHandlerNeeds) => {
  const { deliveries, endpoints, changes } = needs
  return {
    createSubscription: createWith(needs),
    updateSubscription: updateWith(needs),
    rotateSecret: rotateWith(needs),

    async listSubscriptions({ topic_id, ...input }: Input<Specs["listSubscriptions"]>, call: Call) {
      await requireTopic(call, topic_id)
      const { rows, total } = await subscriptionStore(call.db).list(call.tenant, topic_id, pageOf(input))
      const ids = rows.map(({ id }) => id)
      const health = await deliveries.health(call.db, call.organization.id, ids)
      return page({ rows: rows.map(row => toSubscription(row, health.get(row.id))), total }, input)
    },

    async getSubscription({ sub_id }: Input<Specs["getSubscription"]>, call: Call) {
      const row = await requireSubscription(call, sub_id)
      const health = await deliveries.health(call.db, row.organization_id, [sub_id])
      return toSubscription(row, health.get(sub_id))
    },

    async deleteSubscription({ sub_id }: Input<Specs["deleteSubscription"]>, call: Call) {
      const row = await requireSubscriptionForUpdate(call, sub_id)
      await deliveries.cancel(call.db, endpointOf(row))
      await subscriptionStore(call.db).delete(call.tenant, sub_id)
      await endpoints.invalidate(call.db, sub_id)
      await changes.invalidate(call.db, TOPIC_TOPIC, row.topic_id)
      call.describe({ targets: [targetOf(row)] })
    },
  }
}
