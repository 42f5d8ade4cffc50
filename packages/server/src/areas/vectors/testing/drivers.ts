/** The behaviour of the area over each driver of its port. */
import { after, before, describe, type TestContext } from "node:test"
import { type Svc, SvcError } from "@svc/sdk"
import {
  type FakeQdrant,
  startFakeQdrant,
} from "../../../ports/vectors/drivers/qdrant/testing/fake-qdrant.ts"
import { platform, type TestPlatform } from "../../../testing/platform.ts"

export type Open = (t: TestContext) => Promise<TestPlatform>

export const READ_AND_WRITE = ["vectors:read", "vectors:write"] as const

const QDRANT_KEY = "qdrant-key"

export const onQdrant = async (): Promise<FakeQdrant & { readonly env: Record<string, string> }> => {
  const server = await startFakeQdrant(QDRANT_KEY)
  return Object.assign(server, { env: { SVC_QDRANT_URL: server.url, SVC_QDRANT_KEY: QDRANT_KEY } })
}

export const onEveryDriver = (behaviour: (open: Open) => void): void => {
  describe("with usearch", () => behaviour(platform))
  describe("with Qdrant", () => {
    let server: Awaited<ReturnType<typeof onQdrant>>
    before(async () => {
      server = await onQdrant()
    })
    after(() => server[Symbol.asyncDispose]())
    behaviour(t => platform(t, { env: server.env }))
  })
}

export const refusedAs =
  (code: string, status = 400) =>
  (error: unknown): boolean =>
    error instanceof SvcError && error.code === code && error.status === status

export interface Vectors {
  readonly svc: Svc
  readonly tenant_id: string
  /** What every call about the collection names. */
  readonly at: { readonly tenant_id: string; readonly collection: string }
}

/** A client of the tenant, with an empty collection `c`. */
export const withCollection = async (
  p: TestPlatform,
  tenant: string,
  rest: { dimension?: number; metric?: "cosine" | "dot" | "euclidean" } = {},
): Promise<Vectors> => {
  const svc = await p.client(tenant, ...READ_AND_WRITE)
  const { organizationId: tenant_id } = await p.tenant(tenant)
  await svc.vectors.createCollection({ tenant_id, name: "c", dimension: 2, ...rest })
  return { svc, tenant_id, at: { tenant_id, collection: "c" } }
}

export const idsOf = ({ matches }: { matches: readonly { id: string }[] }): string[] =>
  matches.map(({ id }) => id)
