import {
  areas,
  type Input,
  page,
  pageOf,
  platformEvents,
  platformEventTypes,
  WEBHOOK_EVENT_TYPES_LIMIT_DEFAULT,
  WEBHOOK_SECRET_GRACE_SECONDS_DEFAULT,
  WEBHOOKS_MAX,
} from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import { implement, type JudgeRisk, withRisk } from "../../kernel/implement.ts"
import { requireRow } from "../../kernel/require-row.ts"
import type { Deliveries } from "../../services/deliveries/deliveries.ts"
import { rangeOf } from "../../services/deliveries/payload.ts"
import { createSigningSecret, readSigningSecret } from "../../services/deliveries/signature.ts"
import type { Endpoints } from "./endpoints.ts"
import { toDelivery, toWebhook } from "./payloads.ts"
import { unknownPatterns } from "./rules.ts"
import { type WebhookRow, webhookStore } from "./store.ts"
import { messageOf } from "./telling.ts"

type Specs = typeof areas.webhooks.specs
type WebhookInput = Omit<Input<Specs["register"]>, "tenant_id">

export interface WebhookHandlerNeeds {
  readonly endpoints: Endpoints
  readonly deliveries: Deliveries
  readonly urlProblem: (url: string) => string | undefined
}

const endpointOf = ({ organization_id, id }: WebhookRow) => ({ tenantId: organization_id, endpointId: id })

const target = ({ id, url }: WebhookRow) => ({ type: "webhook", id, name: new URL(url).host })

const findWebhook = (call: Call, id: string): Promise<WebhookRow> =>
  requireRow(webhookStore(call.db).find(call.tenant, id), "webhook_not_found", { id })

const lockWebhook = (call: Call, id: string): Promise<WebhookRow> =>
  requireRow(webhookStore(call.db).findForUpdate(call.tenant, id), "webhook_not_found", { id })

const checkActive = ({ active }: WebhookRow): void => {
  if (!active) throw fault("invalid_state_transition", { state: "inactive" })
}

const checkSecret = (given: string): string => {
  const read = readSigningSecret(given)
  if ("problem" in read) throw fault("invalid_parameter", { reason: read.problem })
  return read.secret
}

/** What both operations that write a webhook check and fill in. */
const fieldsOf = (
  { url, event_types, active = true, description = "" }: WebhookInput,
  urlProblem: WebhookHandlerNeeds["urlProblem"],
) => {
  const problem = urlProblem(url)
  if (problem !== undefined) throw fault("invalid_webhook_url", { reason: problem })
  const unknown = unknownPatterns(event_types)
  if (unknown.length > 0)
    throw fault("invalid_parameter", { reason: `no type of event is called ${unknown.join(", ")}` })
  return { url, event_types: [...event_types], active, description }
}

/** What was sent to a webhook, and sending it again. */
const deliveryHandlers = ({ endpoints, deliveries }: WebhookHandlerNeeds) => ({
  test: async ({ id }: Input<Specs["test"]>, call: Call) => {
    const row = await findWebhook(call, id)
    call.describe({ targets: [target(row)] })
    const message = messageOf({
      ...{ id: `evt_${newId()}`, organizationId: row.organization_id, projectId: row.project_id },
      ...{ type: "webhook.test", occurredAt: call.now },
      data: { webhook_id: row.id, message: "A test of this webhook." },
    })
    const endpoint = await endpoints.endpointOf(call.db, row)
    const delivery = toDelivery(await deliveries.deliverOnce({ ...message, endpointId: row.id }, endpoint))
    const { status_code, response_time_ms } = delivery
    const error = delivery.attempts.at(-1)?.error ?? null
    return { success: delivery.status === "delivered", status_code, response_time_ms, error, delivery }
  },

  async deliveries({ id, ...input }: Input<Specs["deliveries"]>, call: Call) {
    const row = await findWebhook(call, id)
    const filter = { status: input.status, eventType: input.event_type, ...rangeOf(input), ...pageOf(input) }
    const { rows, total } = await deliveries.list(call.db, endpointOf(row), filter)
    return page({ rows: rows.map(toDelivery), total }, input)
  },

  async retryDelivery({ id, delivery_id }: Input<Specs["retryDelivery"]>, call: Call) {
    const row = await lockWebhook(call, id)
    checkActive(row)
    const delivery = await requireRow(
      deliveries.retry(call.db, endpointOf(row), delivery_id),
      "delivery_not_found",
      { id: delivery_id },
    )
    call.describe({ targets: [target(row)], metadata: { delivery_id } })
    return toDelivery(delivery)
  },

  async replay({ id, status, ...range }: Input<Specs["replay"]>, call: Call) {
    const row = await lockWebhook(call, id)
    checkActive(row)
    const replayed = await deliveries.replay(call.db, endpointOf(row), { status, ...rangeOf(range) })
    call.describe({ targets: [target(row)], metadata: { replayed } })
    return { replayed }
  },
})

/** Whoever knows the secret can speak for the platform to the endpoint. */
const newSecretIsRisk: JudgeRisk<{ secret?: string }> = ({ secret }) =>
  secret === undefined ? undefined : { detail: "gives the webhook another secret" }

export const webhookHandlers = implement(areas.webhooks, (needs: WebhookHandlerNeeds) => {
  const { endpoints, deliveries, urlProblem } = needs

  const shown = async ({ db }: Call, row: WebhookRow) =>
    toWebhook(row, (await deliveries.health(db, row.organization_id, [row.id])).get(row.id))

  return {
    ...deliveryHandlers(needs),

    async list(input, call) {
      const { rows, total } = await webhookStore(call.db).list(call.tenant, pageOf(input))
      const ids = rows.map(({ id }) => id)
      const health = await deliveries.health(call.db, call.organization.id, ids)
      return page({ rows: rows.map(row => toWebhook(row, health.get(row.id))), total }, input)
    },

    eventTypes({ limit = WEBHOOK_EVENT_TYPES_LIMIT_DEFAULT, offset = 0 }) {
      const types = platformEventTypes.slice(offset, offset + limit)
      const data = types.map(type => ({
        ...{ type, description: platformEvents[type].description },
        schema: { ...platformEvents[type].data } as Record<string, unknown>,
      }))
      return { data, total: platformEventTypes.length, limit, offset }
    },

    async register({ tenant_id: _, secret: given, ...input }, call) {
      const { organization, db, now } = call
      const fields = fieldsOf(input, urlProblem)
      const secret = given === undefined ? createSigningSecret() : checkSecret(given)
      const store = webhookStore(db)
      if ((await store.countToRegister(organization.id)) >= WEBHOOKS_MAX)
        throw fault("invalid_parameter", { reason: `there are ${WEBHOOKS_MAX} webhooks already` })
      const webhook = { id: newId(), organization_id: organization.id }
      const row: WebhookRow = {
        ...webhook,
        project_id: call.tenant.projectId,
        ...fields,
        ...(await endpoints.encrypt(webhook, secret)),
        ...{ disabled_at: null, disabled_reason: null, created_at: now, updated_at: now },
      }
      await store.insert(row)
      await endpoints.invalidate(call.db, row.id)
      call.describe({ targets: [target(row)] })
      return { ...toWebhook(row, undefined), secret }
    },

    async get({ id }, call) {
      return shown(call, await findWebhook(call, id))
    },

    update: withRisk(newSecretIsRisk, async ({ id, tenant_id: _, secret: given, ...input }, call) => {
      const before = await lockWebhook(call, id)
      const fields = fieldsOf(input, urlProblem)
      const secret = given === undefined ? undefined : checkSecret(given)
      const graceSeconds = WEBHOOK_SECRET_GRACE_SECONDS_DEFAULT
      const isNew = secret !== undefined && secret !== (await endpoints.decrypt(before))
      const row: WebhookRow = {
        ...before,
        ...fields,
        ...(isNew && (await endpoints.rotate(call.db, before, { secret, graceSeconds, now: call.now }))),
        ...(fields.active && { disabled_at: null, disabled_reason: null }),
        updated_at: call.now,
      }
      await webhookStore(call.db).update(row.organization_id, row.id, row)
      if (before.active && !row.active) await deliveries.cancel(call.db, endpointOf(row))
      if (before.url !== row.url || (!before.active && row.active))
        await deliveries.forgive(call.db, endpointOf(row))
      await endpoints.invalidate(call.db, row.id)
      call.describe({ targets: [target(row)] })
      return { ...(await shown(call, row)), ...(isNew && { secret }) }
    }),

    async unregister({ id }, call) {
      const row = await lockWebhook(call, id)
      await webhookStore(call.db).delete(row.organization_id, row.id)
      await deliveries.cancel(call.db, endpointOf(row))
      await endpoints.invalidate(call.db, row.id)
      call.describe({ targets: [target(row)] })
    },

    async rotateSecret({ id, secret: given, grace_period_seconds }, call) {
      const before = await lockWebhook(call, id)
      const secret = given === undefined ? createSigningSecret() : checkSecret(given)
      const graceSeconds = grace_period_seconds ?? WEBHOOK_SECRET_GRACE_SECONDS_DEFAULT
      const row: WebhookRow = {
        ...before,
        ...(await endpoints.rotate(call.db, before, { secret, graceSeconds, now: call.now })),
        updated_at: call.now,
      }
      await webhookStore(call.db).update(row.organization_id, row.id, row)
      await endpoints.invalidate(call.db, row.id)
      call.describe({ targets: [target(row)], metadata: { grace_period_seconds: graceSeconds } })
      return { ...(await shown(call, row)), secret }
    },
  }
})
