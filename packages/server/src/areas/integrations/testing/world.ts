/** A project with integrations, and providers that tell it of pushes. */

import assert from "node:assert/strict"
import type { TestContext } from "node:test"
import { eventually } from "../../../testing/eventually.ts"
import { everyScope, type PlatformOptions, platform } from "../../../testing/platform.ts"
import type { Hook } from "./hooks.ts"

export const worldOf = async (t: TestContext, options: PlatformOptions = {}) => {
  const p = await platform(t, { ...options, env: { SVC_OUTBOUND_ALLOW: "127.0.0.0/8", ...options.env } })
  const { organizationId, projectId } = await p.tenant("acme")
  const { secret } = await p.key("acme", everyScope)
  const svc = p.as(secret)

  const send = (id: string, { headers, body }: Hook): Promise<Response> =>
    p.request(`/hooks/vcs/${id}`, { method: "POST", headers, body })

  /** Sends what must be accepted, and gives its event once it is done with. */
  const deliver = async (id: string, hook: Hook) => {
    const response = await send(id, hook)
    assert.equal(response.status, 202, await response.clone().text())
    const { data } = (await response.json()) as { data: { event_id: string; duplicate: boolean } }
    return { ...(await settled(id, data.event_id)), duplicate: data.duplicate }
  }

  const events = async (id: string) => (await svc.integrations.events({ id })).data

  const settled = (id: string, eventId: string) =>
    eventually("an event is done with", async () =>
      (await events(id)).find(event => event.id === eventId && event.status !== "received"),
    )

  const connect = async (given: Partial<Parameters<typeof svc.integrations.create>[0]> = {}) => {
    const made = await svc.integrations.create({ provider: "github", repository: "acme/shop", ...given })
    assert.ok(made.webhook_secret)
    return { ...made, secret: made.webhook_secret }
  }

  return { p, svc, secret, organizationId, projectId, send, deliver, events, settled, connect }
}
