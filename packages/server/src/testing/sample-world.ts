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

/** By the operation's name, why no input can be repeated, and which test has the operation. */
export type Unsampled = Readonly<Record<string, string>>

export const organizationId = async ({ platform, tenant }: SampleWorld) =>
  (await platform.tenant(tenant)).organizationId

/** One of a kind serves all worlds of a tenant; it is made anew where making it failed. */
export const shared = <Thing>(make: (world: SampleWorld) => Promise<Thing>) => {
  const made = new WeakMap<TestPlatform, Map<string, Promise<Thing>>>()
  return (world: SampleWorld): Promise<Thing> => {
    const ofPlatform = made.get(world.platform) ?? new Map<string, Promise<Thing>>()
    made.set(world.platform, ofPlatform)
    const known = ofPlatform.get(world.tenant) ?? make(world)
    ofPlatform.set(world.tenant, known)
    known.catch(() => ofPlatform.delete(world.tenant))
    return known
  }
}

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
