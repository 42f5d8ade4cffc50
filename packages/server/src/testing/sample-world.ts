import type { Svc } from "@svc/sdk"
import type { TestPlatform } from "./platform.ts"

/** What samples are made in: a tenant, its owner and a key that may do everything. */
export interface SampleWorld {
  readonly platform: TestPlatform
  /** Signed in as an owner of the tenant. */
  readonly person: Svc
  /** Holds a key of the tenant with every scope. */
  readonly key: Svc
  readonly tenant: string
}

export type Sample = (world: SampleWorld) => Promise<Record<string, unknown>>
