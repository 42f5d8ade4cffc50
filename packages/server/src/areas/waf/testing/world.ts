import type { TestContext } from "node:test"
import type { PlatformOptions } from "../../../testing/platform.ts"
import { type Received, startReceiver } from "../../../testing/receiver.ts"
import { LB_SCOPES, worldOf } from "../../lb/testing/world.ts"

export const HOST = "127.0.0.1"
export const WAF_SCOPES = ["waf:read", "waf:write"] as const

/** A load balancer whose requests are judged, before a backend that answers with the length of the body. */
export const guarded = async (t: TestContext, { env, ...options }: PlatformOptions = {}) => {
  const { p, ask } = await worldOf(t, { env: { SVC_WAF_RATE: "off", ...env }, ...options })
  const svc = await p.client("acme", ...LB_SCOPES, ...WAF_SCOPES)
  const receiver = await startReceiver(t)
  receiver.script((reply, { body }: Received) => void reply.end(String(body.length)))
  const backends = [{ address: HOST, port: receiver.port }]
  const made = await svc.lb.create({ name: "shop", backends, waf_enabled: true })
  const statusOf = async (path: string, request: Parameters<typeof ask>[1] = {}) =>
    (await ask(`${made.url}/`, { path, ...request })).status
  return { p, svc, ask, receiver, backends, id: made.id, url: made.url ?? "", statusOf }
}

export const post = (type: string, body: string | Buffer) => ({
  method: "POST",
  body,
  headers: { "content-type": type, "content-length": Buffer.byteLength(body) },
})
