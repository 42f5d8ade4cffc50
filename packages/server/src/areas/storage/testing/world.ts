/** A platform with a bucket, and the shortest ways to put and get. */
import type { TestContext } from "node:test"
import type { PlanName } from "@svc/contract"
import type { Svc } from "@svc/sdk"
import { type PlatformOptions, platform, type TestPlatform, uniqueName } from "../../../testing/platform.ts"

export interface StorageWorld {
  readonly p: TestPlatform
  readonly svc: Svc
  readonly secret: string
  readonly bucket: string
  put(
    key: string,
    body: string | Uint8Array,
    headers?: Readonly<Record<string, string>>,
  ): ReturnType<Svc["storage"]["putObject"]>
  text(key: string): Promise<string>
  /** The reply to a GET, whatever its status. */
  fetch(key: string, init?: RequestInit): Promise<Response>
}

export const storageWorld = async (
  t: TestContext,
  options: PlatformOptions & { readonly plan?: PlanName } = {},
): Promise<StorageWorld> => {
  const p = await platform(t, options)
  if (options.plan) await p.tenant("acme", options.plan)
  const { secret } = await p.key("acme", ["storage:read", "storage:write"])
  const svc = p.as(secret)
  const bucket = uniqueName()
  await svc.storage.createBucket({ name: bucket })
  return {
    ...{ p, svc, secret, bucket },
    put: (key, body, headers = {}) => svc.storage.putObject({ bucket, key }, { body, headers }),
    text: async key => await (await svc.storage.getObject({ bucket, key })).text(),
    fetch: (key, init = {}) =>
      p.request(`/v1/storage/buckets/${bucket}/objects/${encodeURIComponent(key)}`, {
        ...init,
        headers: { authorization: `Bearer ${secret}`, ...(init.headers as Record<string, string>) },
      }),
  }
}

/** Bytes that look random and are the same for the same seed. */
export const bytesOf = (length: number, seed = 1): Uint8Array => {
  const bytes = new Uint8Array(length)
  let state = seed
  for (let at = 0; at < length; at++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    bytes[at] = state >>> 24
  }
  return bytes
}
