/** A tenant whose texts are answered by the embedded engines, and with `model` by an upstream of its operator's too. */
import type { TestContext } from "node:test"
import type { PlanName } from "@svc/contract"
import { startAiUpstream } from "../../../testing/ai-upstream.ts"
import { everyScope, type PlatformOptions, platform } from "../../../testing/platform.ts"

export const embeddedWorld = async (
  t: TestContext,
  options: PlatformOptions & { readonly plan?: PlanName } = {},
) => {
  const p = await platform(t, options)
  await p.tenant("acme", options.plan)
  const { secret } = await p.key("acme", everyScope, { project_id: null })
  return { p, svc: p.as(secret), secret }
}

export const CHAT_MODEL = "gpt-test"

export const upstreamWorld = async (t: TestContext, options: { readonly plan?: PlanName } = {}) => {
  const upstream = await startAiUpstream(t)
  const env = { SVC_AI_URL: upstream.url, SVC_AI_MODEL: CHAT_MODEL, SVC_AI_UNKNOWN_PRICE: "1000000" }
  return { ...(await embeddedWorld(t, { ...options, env })), upstream }
}
