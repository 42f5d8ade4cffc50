/** The behaviour of the area over each driver of its port: on Redis too, where this machine has one. */
import { after, before, describe, type TestContext, test } from "node:test"
import { SvcError } from "@svc/sdk"
import { createRealServer, serverProgram } from "../../../ports/kv/drivers/redis/testing/real-server.ts"
import { platform, type TestPlatform } from "../../../testing/platform.ts"

export type Open = (t: TestContext) => Promise<TestPlatform>

const onRedis = (program: string, behaviour: (open: Open) => void) => async () => {
  const server = await createRealServer(program)
  before(() => server.start())
  after(() => server[Symbol.asyncDispose]())
  behaviour(t => platform(t, { env: { SVC_KV_URL: server.url } }))
}

export const onEveryDriver = (behaviour: (open: Open) => void): void => {
  describe("on LMDB", () => behaviour(platform))
  describe("on LMDB, encrypted", () => behaviour(t => platform(t, { env: { SVC_ENCRYPT_AT_REST: "on" } })))
  if (serverProgram) describe("on Redis", onRedis(serverProgram, behaviour))
  else test("on Redis", { skip: "neither valkey-server nor redis-server is installed" })
}

export const READ_AND_WRITE = ["kv:read", "kv:write"] as const

/** What `get` answers where there is no entry. */
export const ABSENT = { value: null, version: null, ttl_seconds: null }

export const SECOND = 1000

/** Sends a body as it stands, for what the client could not send or would change on the way. */
export const post = (p: TestPlatform, secret: string, path: string, body: string): Promise<Response> =>
  p.request(path, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body,
  })

export const refusedAs =
  (code: string, status = 400) =>
  (error: unknown): boolean =>
    error instanceof SvcError && error.code === code && error.status === status
