/** Valid inputs of the delivery side's operations, for the loops over the contract. */
import { randomUUID } from "node:crypto"
import type { Svc } from "@svc/sdk"

interface World {
  /** Holds a key with every scope. */
  readonly key: Svc
  /** Holds one of the whole organization. */
  readonly wide: Svc
}

const newDomain = async ({ wide }: World) =>
  (await wide.email.addDomain({ domain: `${randomUUID()}.example.com` })).id

const newSuppression = async ({ wide }: World) =>
  (await wide.email.suppress({ email: `${randomUUID()}@example.com` })).email

const newTemplate = async ({ key }: World) =>
  (await key.email.createTemplate({ name: `t-${randomUUID()}`, subject: "Hi", html: "<p>Hi</p>" })).name

export const emailDeliverySamples = {
  "email.addDomain": async () => ({ domain: `${randomUUID()}.example.com` }),
  "email.getDomain": async (world: World) => ({ id: await newDomain(world) }),
  "email.deleteDomain": async (world: World) => ({ id: await newDomain(world) }),
  "email.verifyDomain": async (world: World) => ({ id: await newDomain(world) }),
  "email.updateSettings": async () => ({ tracking: { opens: true } }),
  "email.suppress": async () => ({ email: `${randomUUID()}@example.com` }),
  "email.unsuppress": async (world: World) => ({ email: await newSuppression(world) }),
  "email.analyticsCampaign": async (world: World) => ({ template_name: await newTemplate(world) }),
}
