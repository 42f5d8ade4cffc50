import { type Operation, takesOrganization } from "@svc/contract"
import type { Svc } from "@svc/sdk"
import { everyScope, type TestPlatform } from "./platform.ts"

/** What samples are made in: a tenant, its owner and keys that may do everything. */
export interface SampleWorld {
  readonly platform: TestPlatform
  /** Signed in as an owner of the tenant. */
  readonly person: Svc
  /** Holds a key of the tenant's project with every scope. */
  readonly key: Svc
  /** Holds a key of the whole organization with every scope. */
  readonly wide: Svc
  readonly tenant: string
}

export type Sample = (world: SampleWorld) => Promise<Record<string, unknown>>

export const createSampleWorld = async (platform: TestPlatform, tenant: string): Promise<SampleWorld> => ({
  platform,
  person: await platform.person(tenant),
  key: await platform.client(tenant, ...everyScope),
  wide: await platform.wide(tenant, ...everyScope),
  tenant,
})

/** Who may call the operation in that world. */
export const callerOf = ({ person, key, wide }: SampleWorld, operation: Operation): Svc => {
  if (operation.scope === "session") return person
  return takesOrganization(operation) ? wide : key
}
