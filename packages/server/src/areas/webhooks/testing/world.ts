/** A tenant with an endpoint of its own that hears of it. */

import assert from "node:assert/strict"
import type { TestContext } from "node:test"
import { type Svc, verifyWebhook } from "@svc/sdk"
import { eventually } from "../../../testing/eventually.ts"
import { everyScope, type PlatformOptions, platform, type TestPlatform } from "../../../testing/platform.ts"
import { type Received, type Receiver, startReceiver } from "../../../testing/receiver.ts"

export const OPEN = { SVC_OUTBOUND_ALLOW: "127.0.0.0/8" }

export const worldOf = async (t: TestContext, options: PlatformOptions = {}) => {
  const p = await platform(t, { ...options, env: { ...OPEN, ...options.env } })
  const receiver = await startReceiver(t)
  const { organizationId: tenant_id, projectId } = await p.tenant("acme")
  const svc = p.as((await p.key("acme", everyScope)).secret)
  const person = await p.person("acme")

  const register = async (event_types: string[], url = receiver.url) => {
    const webhook = await svc.webhooks.register({ tenant_id, url, event_types })
    assert.ok(webhook.secret)
    return { ...webhook, secret: webhook.secret }
  }
  return { p, receiver, svc, person, tenant_id, projectId, register }
}

/** Waits while time goes on: what is due is found by the clock, and a clock that stands still finds nothing more. */
export const passing = (p: TestPlatform, what: string, holds: () => boolean | Promise<boolean>) =>
  eventually(what, async () => {
    await p.clock.advance(1_000)
    return holds()
  })

/** A key is made in no time, and tells of it. */
export const makeKey = async (person: Svc, project_id: string | null = null) =>
  person.keys.create({ name: "told", type: "secret", scopes: ["kv:read"], project_id })

/** What was received, once its signature is found right. The test's clock may be far from the present. */
export const eventOf = ({ body, headers }: Received, secret: string | readonly string[]) =>
  verifyWebhook<Record<string, unknown>>(body, headers, secret, {
    now: () => Number(headers["webhook-timestamp"]) * 1000,
  })

export const typesOf = ({ requests }: Receiver): string[] =>
  requests.map(({ body }) => (JSON.parse(body.toString()) as { type: string }).type)
